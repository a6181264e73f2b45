//! Pictures of what was found in an image.

use std::path::{Path, PathBuf};

use mist_data::{Image, write_png};

use super::DetectedImage;
use super::stream::Search;
use crate::batches;
use crate::draw::{Canvas, DrawError, Plane, choose_zoom, overlay};
use crate::error::{Error, Result};
use crate::run::memory;
use crate::sheets::{Scores, marks};

const MEGABYTE: f64 = 1024.0 * 1024.0;
/// Per pixel, a picture in colour as numbers, as bytes and as a file.
const DRAWN_BYTES: f64 = 20.0;
/// Per value, an image, what is taken out of it and put back, and the file.
const REDRAWN_BYTES: f64 = 28.0;

/// Directories for pictures; those that are named get pictures.
#[derive(Clone, Debug, Default)]
pub(super) struct Pictures {
    /// Boxes, names and scores on each image.
    pub overlay: Option<PathBuf>,
    /// Each image as the model redraws it.
    pub redrawn: Option<PathBuf>,
    /// Each box cut out.
    pub crops: Option<PathBuf>,
    /// Each image's heatmap.
    pub heatmap: Option<PathBuf>,
}

impl Pictures {
    pub fn directories(&self) -> impl Iterator<Item = &Path> {
        let all = [&self.overlay, &self.redrawn, &self.crops, &self.heatmap];
        all.into_iter().flatten().map(PathBuf::as_path)
    }

    /// Draws and writes all pictures of an image.
    ///
    /// # Errors
    /// When one cannot be drawn or written, or the model has nothing to draw.
    pub fn write(&self, search: &Search, image: &Image, found: &DetectedImage) -> Result<()> {
        self.check_memory(image, memory::available_mb())?;
        let file = |directory: &Path| directory.join(format!("{}.png", found.stem));
        let detections = &found.detections;
        let tensor = || search.tensor([image].into_iter());
        if let Some(directory) = &self.redrawn {
            let redrawn = search
                .finder
                .redraw(tensor()?, std::slice::from_ref(detections))?;
            let Some(redrawn) = redrawn else {
                let reason = "only a model that was trained by reconstruction redraws images";
                return Err(Error::Usage(reason.to_owned()));
            };
            for redrawn in batches::to_images(redrawn)? {
                write_png(&file(directory), &redrawn)?;
            }
        }
        if let Some(directory) = &self.heatmap {
            let large = match search.is_large(image) {
                true => search.heatmap_large(image)?,
                false => None,
            };
            let heatmaps = match large {
                Some(heatmap) => Some(vec![heatmap]),
                None => match search.finder.heatmap(tensor()?)? {
                    Some(heatmaps) => Some(batches::to_images(heatmaps)?),
                    None => None,
                },
            };
            let Some(heatmaps) = heatmaps else {
                let reason = "this model has no heatmap; only models of the lifted and the \
                              supervised method do";
                return Err(Error::Usage(reason.to_owned()));
            };
            for heatmap in heatmaps {
                write_png(&file(directory), &heat(&heatmap)?)?;
            }
        }
        if let Some(directory) = &self.overlay {
            let names = match search.finder.classes() {
                Some(_) => search.class_names,
                None => &[],
            };
            let marks = marks(detections, names, Scores::Shown);
            write_png(&file(directory), &overlay(image, &marks)?)?;
        }
        if let Some(directory) = &self.crops {
            for (number, detection) in (1..).zip(detections) {
                let file = directory.join(format!("{}-{number}.png", found.stem));
                if let Some(crop) = crop(image, detection.bounds) {
                    write_png(&file, &crop)?;
                }
            }
        }
        Ok(())
    }
}

impl Pictures {
    /// Refuses pictures that need more memory than is free: what is found is not to be lost to a picture of it.
    fn check_memory(&self, image: &Image, free_mb: Option<f64>) -> Result<()> {
        let pixels = (image.width_px * image.height_px) as f64;
        let drawn = pixels * (choose_zoom(image) as f64).powi(2);
        let bytes = [
            (&self.overlay, drawn * DRAWN_BYTES),
            (&self.heatmap, pixels * (DRAWN_BYTES + 4.0)),
            (
                &self.redrawn,
                pixels * REDRAWN_BYTES * image.channels as f64,
            ),
        ];
        let asked = bytes.iter().filter(|(directory, _)| directory.is_some());
        let needed_mb = asked.map(|(_, bytes)| bytes / MEGABYTE).fold(0.0, f64::max);
        match free_mb {
            Some(free_mb) if needed_mb > free_mb => Err(DrawError::Memory {
                needed_mb: needed_mb.ceil() as u64,
                free_mb: free_mb as u64,
            }
            .into()),
            _ => Ok(()),
        }
    }
}

fn heat(heatmap: &Image) -> Result<Image> {
    let plane = Plane {
        values: &heatmap.pixels,
        width_px: heatmap.width_px,
        height_px: heatmap.height_px,
    };
    let mut canvas = Canvas::enlarged(heatmap, 1)?;
    canvas.draw_heat(plane, (0, 0), 1);
    Ok(canvas.into_image())
}

/// The pixels that a box touches; `None` for a box beside the image.
pub(super) fn crop(image: &Image, bounds: mist::geometry::PixelBox) -> Option<Image> {
    // Casts saturate, which clips at the left and at the top.
    let left_px = bounds.x_min_px.floor() as usize;
    let top_px = bounds.y_min_px.floor() as usize;
    let right_px = (bounds.x_max_px.ceil() as usize).min(image.width_px);
    let bottom_px = (bounds.y_max_px.ceil() as usize).min(image.height_px);
    if left_px >= right_px || top_px >= bottom_px {
        return None;
    }
    let (width_px, height_px) = (right_px - left_px, bottom_px - top_px);
    let mut pixels = Vec::with_capacity(image.channels * width_px * height_px);
    for channel in 0..image.channels {
        for y_px in top_px..bottom_px {
            let start = image.offset(left_px, y_px, channel);
            pixels.extend_from_slice(&image.pixels[start..start + width_px]);
        }
    }
    Some(Image {
        width_px,
        height_px,
        channels: image.channels,
        pixels,
    })
}

#[cfg(test)]
mod tests {
    use mist::geometry::PixelBox;

    use super::*;

    #[test]
    fn pictures_wait_for_their_memory() {
        let image = Image::filled(1024, 1024, 1, 0.0);
        let of = |overlay: Option<&str>| Pictures {
            overlay: overlay.map(PathBuf::from),
            ..Pictures::default()
        };
        assert!(of(None).check_memory(&image, Some(0.0)).is_ok());
        assert!(of(Some("out")).check_memory(&image, Some(20.0)).is_ok());
        assert!(of(Some("out")).check_memory(&image, None).is_ok());
        let refused = of(Some("out")).check_memory(&image, Some(19.0));
        assert!(matches!(
            refused,
            Err(Error::Draw(DrawError::Memory { needed_mb: 20, .. }))
        ));
    }

    #[test]
    fn crops_are_what_the_box_shows_of_the_image() {
        let mut image = Image::filled(6, 5, 3, 0.0);
        let place = image.offset(5, 1, 2);
        image.pixels[place] = 1.0;
        let corner = crop(&image, PixelBox::from_centre(5.5, 0.5, 3.0, 3.0)).unwrap();
        assert_eq!(
            (corner.width_px, corner.height_px, corner.channels),
            (2, 2, 3)
        );
        assert_eq!(corner.pixels[corner.offset(1, 1, 2)], 1.0);
        assert_eq!(corner.pixels.iter().sum::<f32>(), 1.0);
        for beside in [(-9.0, 2.0), (2.0, 99.0), (f32::NAN, 2.0)] {
            assert!(crop(&image, PixelBox::from_centre(beside.0, beside.1, 4.0, 4.0)).is_none());
        }
    }
}
