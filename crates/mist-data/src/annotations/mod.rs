//! True boxes of images, as people have drawn them.

mod coco;
mod table;
mod voc;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mist_geometry::{PixelBox, Truth};

use crate::error::{Error, Result, bad_input};

/// The boxes of images, by the name of each image's file without its ending.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Annotations {
    by_image: BTreeMap<String, Vec<NamedBox>>,
}

/// A box and what it holds.
#[derive(Clone, Debug, PartialEq)]
struct NamedBox {
    class: String,
    bounds: PixelBox,
}

impl Annotations {
    /// Reads a CSV table with the columns `file` (or `id`), `class`, `xmin`, `ymin`, `xmax` and `ymax`, or a folder of VOC
    /// XML files, one per image, or a JSON file of COCO.
    ///
    /// # Errors
    /// When it cannot be read, is none of them, or something in it is wrong.
    pub fn read(path: &Path) -> Result<Self> {
        let (annotations, faults) = Self::read_usable(path)?;
        match faults.into_iter().next() {
            Some(first) => Err(first),
            None => Ok(annotations),
        }
    }

    /// As [`Annotations::read`], with what is wrong beside what can be used.
    ///
    /// # Errors
    /// When it cannot be read, or nothing in it can be used.
    pub fn read_usable(path: &Path) -> Result<(Self, Vec<Error>)> {
        let is_json = path.extension().is_some_and(|ending| ending == "json");
        let (annotations, mut faults) = match path.is_dir() {
            true => voc::read(path)?,
            false if is_json => coco::read(path)?,
            false => table::read(path)?,
        };
        match annotations.by_image.is_empty() {
            true if faults.is_empty() => Err(bad_input(path, "has no boxes")),
            true => Err(faults.swap_remove(0)),
            false => Ok((annotations, faults)),
        }
    }

    /// The boxes of an image by the name of its file without its ending, with the names of their classes; `None` for images
    /// that nobody has looked at.
    pub fn boxes(&self, image: &str) -> Option<impl Iterator<Item = (&str, PixelBox)>> {
        let boxes = self.by_image.get(image)?.iter();
        Some(boxes.map(|named| (named.class.as_str(), named.bounds)))
    }

    /// The images that were looked at, by the names of their files without their endings.
    pub fn images(&self) -> impl Iterator<Item = &str> {
        self.by_image.keys().map(String::as_str)
    }

    /// Adds those of other images.
    pub(crate) fn extend(&mut self, other: Self) {
        for (image, boxes) in other.by_image {
            self.by_image.entry(image).or_default().extend(boxes);
        }
    }

    /// The names of classes, in alphabetical order.
    pub fn classes(&self) -> Vec<String> {
        let all = self.by_image.values().flatten();
        let names: BTreeSet<&String> = all.map(|named| &named.class).collect();
        names.into_iter().cloned().collect()
    }

    /// The boxes of an image, labelled by `label`, which leaves out classes that it does not know; `None` for images that
    /// nobody has looked at.
    pub fn truths(
        &self,
        image: &Path,
        label: impl Fn(&str) -> Option<usize>,
    ) -> Option<Vec<Truth>> {
        let boxes = self.by_image.get(&stem(image))?.iter();
        let truth = |named: &NamedBox| {
            let bounds = named.bounds;
            label(&named.class).map(|label| Truth { bounds, label })
        };
        Some(boxes.filter_map(truth).collect())
    }

    fn insert(&mut self, image: String, named: Option<NamedBox>) {
        self.by_image.entry(image).or_default().extend(named);
    }
}

fn stem(image: &Path) -> String {
    let stem = image.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn found(path: &Path) -> (Vec<String>, Vec<Truth>) {
        let annotations = Annotations::read(path).unwrap();
        let label = |class: &str| (class != "speck").then_some(usize::from(class == "white"));
        let truths = annotations.truths(Path::new("some/where/a1.jpg"), label);
        assert_eq!(annotations.truths(Path::new("b.png"), label), None);
        (annotations.classes(), truths.unwrap())
    }

    #[test]
    fn tables_and_voc_files_say_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let table = folder.path().join("boxes.csv");
        let text = "\u{feff}id,width,class,xmin,ymin,xmax,ymax\r\na1,9,red,1,2,5,8\r\na1,9,white,0.5,0,3,4\r\n\
                    a1,9,speck,0,0,1,1\r\n";
        fs::write(&table, text).unwrap();
        let voc = folder.path().join("xml");
        fs::create_dir(&voc).unwrap();
        let object = |name: &str, [x0, y0, x1, y1]: [f32; 4]| {
            format!(
                "<object>\n<name>{name}</name><bndbox><xmin>{x0}</xmin> <ymin>{y0}</ymin>\n\
                 <xmax>{x1}</xmax><ymax>{y1}</ymax></bndbox></object>"
            )
        };
        let objects = [
            object("red", [1.0, 2.0, 5.0, 8.0]),
            object("white", [0.5, 0.0, 3.0, 4.0]),
            object("speck", [0.0, 0.0, 1.0, 1.0]),
        ];
        let text = format!("<annotation>{}</annotation>", objects.concat());
        fs::write(voc.join("a1.xml"), text).unwrap();
        let from_table = found(&table);
        assert_eq!(from_table, found(&voc));
        assert_eq!(from_table.0, ["red", "speck", "white"]);
        assert_eq!(from_table.1.len(), 2);
        assert_eq!(from_table.1[1].label, 1);
        assert_eq!(from_table.1[1].bounds.x_min_px, 0.5);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let table = folder.path().join("boxes.csv");
        for (text, expected) in [
            ("", "empty"),
            ("file,class,xmin,ymin,xmax\n", "`ymax`"),
            ("file,class,xmin,ymin,xmax,ymax\n", "no boxes"),
            (
                "file,class,xmin,ymin,xmax,ymax\na,b,1,2,three,4\n",
                "line 2",
            ),
            ("file,class,xmin,ymin,xmax,ymax\na,b,1,2,1,4\n", "line 2"),
        ] {
            fs::write(&table, text).unwrap();
            let error = Annotations::read(&table).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        fs::remove_file(&table).unwrap();
        fs::write(
            folder.path().join("a.xml"),
            "<object><name>b</name></object>",
        )
        .unwrap();
        let error = Annotations::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("a.xml") && error.contains("xmin"), "{error}");
    }
}
