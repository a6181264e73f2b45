//! Boxes in VOC XML files: of all that XML can say, the few tags that are needed here.

use std::fs;
use std::path::Path;

use super::{Annotations, NamedBox, stem, table};
use crate::error::{AtPath, Error, Result, bad_input};

pub(super) fn read(folder: &Path) -> Result<(Annotations, Vec<Error>)> {
    let entries = fs::read_dir(folder).at("list", folder)?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.at("list", folder)?.path();
        if path.extension().is_some_and(|ending| ending == "xml") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut annotations = Annotations::default();
    let mut faults = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).at("read", &path)?;
        annotations.insert(stem(&path), None);
        for named in objects(&text) {
            match named {
                Some(_) => annotations.insert(stem(&path), named),
                None => {
                    let reason = "an object lacks a name, or xmin, ymin, xmax and ymax that are the edges of a box";
                    faults.push(bad_input(&path, reason));
                }
            }
        }
    }
    Ok((annotations, faults))
}

fn objects(text: &str) -> impl Iterator<Item = Option<NamedBox>> {
    let objects = text.split("<object>").skip(1);
    objects.map(|rest| {
        let object = rest.split("</object>").next()?;
        let edge = |name: &str| inside(object, name)?.parse().ok();
        let edges = ["xmin", "ymin", "xmax", "ymax"].map(edge);
        Some(NamedBox {
            class: inside(object, "name")?.to_owned(),
            bounds: table::bounds(edges)?,
        })
    })
}

/// The text of the first element of a name.
fn inside<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (value, _) = rest.split_once(&format!("</{name}>"))?;
    Some(value.trim())
}
