//! Boxes of photographs, as a table: `split,file,width,height,class,xmin,ymin,xmax,ymax`.

use mist_geometry::{PixelBox, Truth};

/// A photograph of the table.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Photo {
    pub split: String,
    pub file: String,
    pub width_px: f32,
    pub height_px: f32,
    pub truths: Vec<Truth>,
}

/// What the table leaves out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Skipped {
    /// Boxes outside of their image, or without an area.
    pub boxes: usize,
}

/// Reads the table; photographs are in the order of their first line.
pub(super) fn read(text: &str, classes: &[&str]) -> Result<(Vec<Photo>, Skipped), String> {
    let mut photos: Vec<Photo> = Vec::new();
    let mut skipped = Skipped::default();
    for (index, line) in text.lines().enumerate().skip(1) {
        let line_number = index + 1;
        let fields: Vec<&str> = line.split(',').collect();
        let [split, file, width, height, class, corners @ ..] = fields.as_slice() else {
            return Err(format!("line {line_number} has fewer than 9 fields"));
        };
        let number = |text: &str| {
            let value = text.trim().parse::<f32>().ok();
            value
                .filter(|value| value.is_finite())
                .ok_or_else(|| format!("line {line_number}: `{text}` is not a number"))
        };
        let corners = corners.iter().take(4).map(|text| number(text));
        let corners = corners.collect::<Result<Vec<f32>, String>>()?;
        let [x_min_px, y_min_px, x_max_px, y_max_px] = corners[..] else {
            return Err(format!("line {line_number} has fewer than 9 fields"));
        };
        let label = classes.iter().position(|known| known == class);
        let label = label.ok_or_else(|| format!("line {line_number}: unknown class `{class}`"))?;
        let (width_px, height_px) = (number(width)?, number(height)?);
        if photos.last().is_none_or(|last| last.file != *file) {
            photos.push(Photo {
                split: (*split).to_owned(),
                file: (*file).to_owned(),
                width_px,
                height_px,
                truths: Vec::new(),
            });
        }
        let outside =
            x_max_px <= 0.0 || y_max_px <= 0.0 || x_min_px >= width_px || y_min_px >= height_px;
        if outside || x_max_px <= x_min_px || y_max_px <= y_min_px {
            skipped.boxes += 1;
            continue;
        }
        let bounds = PixelBox {
            x_min_px,
            y_min_px,
            x_max_px,
            y_max_px,
        };
        if let Some(photo) = photos.last_mut() {
            photo.truths.push(Truth { bounds, label });
        }
    }
    Ok((photos, skipped))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "split,file,width,height,class,xmin,ymin,xmax,ymax\n";

    #[test]
    fn lines_of_one_file_are_one_photograph_and_useless_boxes_are_counted() {
        let text = format!(
            "{HEADER}train,a.jpg,100,80,cat,1,2,30,40\ntrain,a.jpg,100,80,dog,5,5,5,9\n\
             test,b.jpg,50,50,dog,0,0,10,10\ntest,b.jpg,50,50,dog,60,0,70,10\n"
        );
        let (photos, skipped) = read(&text, &["cat", "dog"]).unwrap();
        assert_eq!(photos.len(), 2);
        assert_eq!(skipped.boxes, 2);
        assert_eq!(
            (photos[1].split.as_str(), photos[1].truths[0].label),
            ("test", 1)
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (line, word) in [
            ("train,a.jpg,100,80,cow,1,2,3,4", "cow"),
            ("train,a.jpg,100,80,cat,1,2,x,4", "`x`"),
            ("train,a.jpg,100", "fewer"),
            ("train,a.jpg,100,80,cat,1,2,3", "fewer"),
        ] {
            let error = read(&format!("{HEADER}{line}\n"), &["cat"]).unwrap_err();
            assert!(error.contains("line 2") && error.contains(word), "{error}");
        }
    }
}
