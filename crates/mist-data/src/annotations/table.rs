//! Boxes in a CSV table.

use std::fs;
use std::path::Path;

use mist_geometry::PixelBox;

use super::{Annotations, NamedBox, stem};
use crate::error::{AtPath, Error, Result, bad_input};
use crate::folder::records;

const IMAGE: [&str; 3] = ["file", "id", "image"];
const EDGES: [&str; 4] = ["xmin", "ymin", "xmax", "ymax"];

pub(super) fn read(path: &Path) -> Result<(Annotations, Vec<Error>)> {
    let text = fs::read_to_string(path).at("read", path)?;
    let fault = |reason: String| bad_input(path, reason);
    let (annotations, faults) = parse(&text).map_err(fault)?;
    Ok((annotations, faults.into_iter().map(fault).collect()))
}

/// The boxes, and what is wrong with other lines.
fn parse(text: &str) -> Result<(Annotations, Vec<String>), String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = records(text)
        .map_err(|error| error.to_string())?
        .into_iter();
    let (_, header) = lines.next().ok_or("is empty")?;
    let column = |name: &str| header.iter().position(|column| column.trim() == name);
    let needed = |name: &str| column(name).ok_or(format!("has no column `{name}`"));
    let image = IMAGE.iter().find_map(|name| column(name));
    let image = image.ok_or("has no column `file`")?;
    let class = needed("class")?;
    let mut edges = [0; 4];
    for (place, name) in edges.iter_mut().zip(EDGES) {
        *place = needed(name)?;
    }
    let mut annotations = Annotations::default();
    let mut faults = Vec::new();
    for (line, fields) in lines {
        let field = |place: usize| fields.get(place).map_or("", |field| field.trim());
        let numbers = edges.map(|place| field(place).parse::<f32>().ok());
        let name = stem(Path::new(field(image)));
        if field(class).is_empty() && edges.iter().all(|&place| field(place).is_empty()) {
            // An image without objects.
            annotations.insert(name, None);
            continue;
        }
        let Some(bounds) = bounds(numbers) else {
            annotations.insert(name, None);
            faults.push(format!(
                "line {line}: xmin, ymin, xmax and ymax must be the edges of a box"
            ));
            continue;
        };
        let class = field(class).to_owned();
        annotations.insert(name, Some(NamedBox { class, bounds }));
    }
    Ok((annotations, faults))
}

/// A box of four edges, unless one is missing or it has no extent.
pub(super) fn bounds(edges: [Option<f32>; 4]) -> Option<PixelBox> {
    let [
        Some(x_min_px),
        Some(y_min_px),
        Some(x_max_px),
        Some(y_max_px),
    ] = edges
    else {
        return None;
    };
    let finite = [x_min_px, y_min_px, x_max_px, y_max_px]
        .iter()
        .all(|edge| edge.is_finite());
    (finite && x_min_px < x_max_px && y_min_px < y_max_px).then_some(PixelBox {
        x_min_px,
        y_min_px,
        x_max_px,
        y_max_px,
    })
}
