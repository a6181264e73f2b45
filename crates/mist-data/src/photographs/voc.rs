//! Annotations of PASCAL VOC: one XML file per image.

use mist_geometry::PixelBox;

use super::prepare::{AnnotatedObject, AnnotatedPhoto};

/// Reads the annotation of one image. Only what boxes need is looked at: XML of any other content is ignored.
///
/// # Errors
/// When the size or a box is missing.
pub(super) fn read(text: &str) -> Result<AnnotatedPhoto, String> {
    let size = element(text, "size").ok_or("has no `size`")?;
    let file = element(text, "filename").ok_or("has no `filename`")?;
    let mut objects = Vec::new();
    let mut rest = text;
    while let Some((object, after)) = next_element(rest, "object") {
        // Parts of people have names and boxes of their own.
        let object = without(object, "part");
        let name = element(&object, "name").ok_or("has an object without `name`")?;
        let bounds = element(&object, "bndbox").ok_or("has an object without `bndbox`")?;
        objects.push(AnnotatedObject {
            class: name.trim().to_owned(),
            bounds: PixelBox {
                // Pixels are counted from 1, and the last one belongs to the box.
                x_min_px: number(bounds, "xmin")? - 1.0,
                y_min_px: number(bounds, "ymin")? - 1.0,
                x_max_px: number(bounds, "xmax")?,
                y_max_px: number(bounds, "ymax")?,
            },
        });
        rest = after;
    }
    Ok(AnnotatedPhoto {
        file: file.trim().to_owned(),
        width_px: number(size, "width")?,
        height_px: number(size, "height")?,
        objects,
    })
}

/// What stands between the first pair of tags of a name, and what follows.
fn next_element<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let start = text.find(&open)? + open.len();
    let end = start + text[start..].find(&close)?;
    Some((&text[start..end], &text[end + close.len()..]))
}

fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    next_element(text, name).map(|(inside, _)| inside)
}

fn without(text: &str, name: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((inside, after)) = next_element(rest, name) {
        let begin = rest.len() - after.len() - inside.len() - 2 * name.len() - 5;
        kept.push_str(&rest[..begin]);
        rest = after;
    }
    kept + rest
}

fn number(text: &str, name: &str) -> Result<f32, String> {
    let value = element(text, name).ok_or_else(|| format!("has no `{name}`"))?;
    let parsed = value.trim().parse::<f32>().ok();
    parsed
        .filter(|value| value.is_finite())
        .ok_or_else(|| format!("`{name}` is `{value}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const XML: &str = "<annotation><filename>000007.jpg</filename><size><width>500</width><height>333</height>
        <depth>3</depth></size><object><name>person</name><part><name>head</name><bndbox><xmin>1</xmin><ymin>1</ymin>
        <xmax>2</xmax><ymax>2</ymax></bndbox></part><bndbox><xmin>141</xmin><ymin>50</ymin><xmax>500</xmax>
        <ymax>330</ymax></bndbox></object><object><name>car</name><bndbox><xmax>30</xmax><xmin>5</xmin><ymin>6</ymin>
        <ymax>40</ymax></bndbox></object></annotation>";

    #[test]
    fn objects_are_read_without_their_parts() {
        let photo = read(XML).unwrap();
        assert_eq!((photo.file.as_str(), photo.width_px), ("000007.jpg", 500.0));
        let classes: Vec<&str> = photo.objects.iter().map(|o| o.class.as_str()).collect();
        assert_eq!(classes, ["person", "car"]);
        assert_eq!(photo.objects[0].bounds.x_min_px, 140.0);
        assert_eq!(photo.objects[1].bounds.x_max_px, 30.0);
    }

    #[test]
    fn what_is_missing_is_named() {
        for (gone, word) in [("<xmin>5</xmin>", "xmin"), ("<width>500</width>", "width")] {
            let error = read(&XML.replace(gone, "")).unwrap_err();
            assert!(error.contains(word), "{error}");
        }
        assert!(read("<annotation>").is_err() && read("").is_err());
    }
}
