//! What can be told of a folder's objects without knowing them: a threshold and its connected parts.

use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use super::FolderFiles;
use super::foreground::{Foreground, gray_values, percentile};
use super::otsu::otsu;
use crate::error::Result;
use crate::image::{DecodeLimits, Image, read_image};

/// Images that are looked at.
const MAX_IMAGES: usize = 32;
/// Parts below this are specks.
const MIN_AREA_PX: usize = 12;
/// Parts above this share of the image are background.
const MAX_AREA_FRAC: f64 = 0.25;
/// Room around a part that belongs to its object's box.
const BOX_MARGIN: f64 = 1.2;

/// A guess at what a folder shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// Whether objects are brighter or darker than their background.
    pub foreground: Foreground,
    /// Side of an object's box; `None` where nothing stands out.
    pub object_px: Option<f32>,
    /// So many objects or fewer stand out in nine of ten images.
    pub instances: usize,
    /// Numbers of the files that were looked at, and how many of their pixels stand out.
    pub standing_out_px: Vec<(usize, usize)>,
}

/// Looks at some images of a folder, evenly spread.
///
/// # Errors
/// When an image cannot be read.
pub fn survey(files: &FolderFiles) -> Result<Survey> {
    let count = files.len().min(MAX_IMAGES);
    let places = (0..count).map(|place| place * files.len() / count.max(1));
    let places: Vec<usize> = places.collect();
    let images: Vec<Result<Image>> = places
        .par_iter()
        .map(|&place| read_image(&files.path(place), DecodeLimits::default()))
        .collect();
    let images: Vec<Image> = images.into_iter().collect::<Result<_>>()?;
    let bright = images.iter().filter(|image| is_bright(image)).count();
    let foreground = match bright * 2 >= images.len() {
        true => Foreground::Bright,
        false => Foreground::Dark,
    };
    let looks: Vec<(usize, Vec<usize>)> = images
        .into_par_iter()
        .map(|image| parts(&foreground.normalise(image)))
        .collect();
    let (standing_out, parts): (Vec<usize>, Vec<Vec<usize>>) = looks.into_iter().unzip();
    let mut areas: Vec<usize> = parts.iter().flatten().copied().collect();
    areas.sort_unstable();
    let median = areas.get(areas.len() / 2);
    // The side of the square around a disk of that area.
    let side_px = |area: &usize| (4.0 / std::f64::consts::PI * *area as f64).sqrt() * BOX_MARGIN;
    let mut numbers: Vec<usize> = parts.iter().map(Vec::len).collect();
    numbers.sort_unstable();
    Ok(Survey {
        foreground,
        object_px: median.map(|area| side_px(area) as f32),
        instances: numbers
            .get(numbers.len() * 9 / 10)
            .copied()
            .unwrap_or(0)
            .max(1),
        standing_out_px: places.into_iter().zip(standing_out).collect(),
    })
}

/// Whether the brightest values are further from the median than the darkest.
fn is_bright(image: &Image) -> bool {
    let mut gray = gray_values(image);
    let [low, median, high] = [0.02, 0.5, 0.98].map(|share| percentile(&mut gray, share));
    high - median >= median - low
}

/// How many pixels are above Otsu's threshold, and the areas of their connected parts.
fn parts(image: &Image) -> (usize, Vec<usize>) {
    let gray = gray_values(image);
    let threshold = otsu(&gray);
    let mut above: Vec<bool> = gray.iter().map(|&value| value > threshold).collect();
    let all = above.iter().filter(|&&above| above).count();
    let most = (gray.len() as f64 * MAX_AREA_FRAC) as usize;
    let mut areas = Vec::new();
    for place in 0..above.len() {
        if !above[place] {
            continue;
        }
        let area = flood(&mut above, image.width_px, place);
        if (MIN_AREA_PX..=most).contains(&area) {
            areas.push(area);
        }
    }
    (all, areas)
}

/// Takes away the part that holds a place, and returns its area.
fn flood(above: &mut [bool], width_px: usize, place: usize) -> usize {
    let mut waiting = vec![place];
    above[place] = false;
    let mut area = 0;
    while let Some(place) = waiting.pop() {
        area += 1;
        let x = place % width_px;
        let left = (x > 0).then(|| place - 1);
        let right = (x + 1 < width_px).then_some(place + 1);
        let up = place.checked_sub(width_px);
        let down = Some(place + width_px).filter(|&down| down < above.len());
        for next in [left, right, up, down].into_iter().flatten() {
            if above[next] {
                above[next] = false;
                waiting.push(next);
            }
        }
    }
    area
}
