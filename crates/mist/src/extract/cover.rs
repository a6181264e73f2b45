//! Keypoints without a heatmap: boxes that stand out of their surroundings, greedily.
//!
//! A detector that knows nothing yet proposes places at random, and lifted training has to find the objects from
//! there. Objects that stand out from the background can be proposed from the image alone.

use std::ops::RangeInclusive;

use burn::tensor::{DType, Tensor};

use crate::Error;
use crate::geometry::Keypoint;

use super::window_sums::{WindowSums, window};

/// Side of the inner window, which prefers objects at the box's centre, as a share of the box.
const INNER: f32 = 0.5;
/// Side of the outer window, whose rim should be empty, as a multiple of the box.
const OUTER: f32 = 1.4;

/// `instances` boxes per image: each time the one that holds most contrast, less what surrounds it; what it holds does
/// not count again.
///
/// Contrast is the squared difference to the image's median.
///
/// # Shapes
/// - `images`: `[batch, channels, height, width]`
///
/// # Errors
/// When the device cannot be read.
pub fn cover(
    images: Tensor<4>,
    instances: usize,
    box_px: f32,
) -> Result<Vec<Vec<Keypoint>>, Error> {
    let [batch, channels, height, width] = images.dims();
    let area = height * width;
    let values = images.cast(DType::F32).try_into_vec_as::<f32>()?;
    let sample = channels * area;
    Ok((0..batch)
        .map(|image| {
            let planes = &values[image * sample..(image + 1) * sample];
            let mut contrast = vec![0.0; area];
            for plane in planes.chunks_exact(area) {
                let median = median(plane);
                for (sum, value) in contrast.iter_mut().zip(plane) {
                    *sum += (value - median) * (value - median);
                }
            }
            greedy(contrast, width, instances, box_px)
        })
        .collect())
}

fn median(values: &[f32]) -> f32 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f32::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

fn greedy(mut contrast: Vec<f32>, width: usize, instances: usize, box_px: f32) -> Vec<Keypoint> {
    let side = |share: f32| (box_px * share).round().max(1.0) as usize;
    let (inner, whole, outer) = (side(INNER), side(1.0), side(OUTER));
    (0..instances)
        .map(|_| {
            let sums = WindowSums::new(&contrast, width);
            let score = |x: usize, y: usize| {
                sums.around(x, y, inner) + 2.0 * sums.around(x, y, whole) - sums.around(x, y, outer)
            };
            let mut best = (f64::NEG_INFINITY, 0, 0);
            for y in inside(sums.height, whole) {
                for x in inside(width, whole) {
                    let score = score(x, y);
                    if score > best.0 {
                        best = (score, x, y);
                    }
                }
            }
            let (_, x, y) = best;
            let [columns, rows] =
                [(x, width), (y, sums.height)].map(|(at, end)| window(at, whole, end));
            for row in rows.0..rows.1 {
                contrast[row * width..][columns.0..columns.1].fill(0.0);
            }
            Keypoint {
                x_px: x as f32 + 0.5,
                y_px: y as f32 + 0.5,
                scale: 1.0,
            }
        })
        .collect()
}

/// Places where a box lies wholly in the image, or the middle if none does.
fn inside(end: usize, side: usize) -> RangeInclusive<usize> {
    let (first, last) = (side / 2, (end + side / 2).saturating_sub(side));
    if first <= last {
        first..=last
    } else {
        end / 2..=end / 2
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};

    use super::*;

    #[test]
    fn squares_on_gray_are_found_largest_contrast_first() {
        let (width, height) = (40, 30);
        let mut pixels = vec![0.4; width * height];
        for (value, left, top) in [(0.9, 5, 6), (0.0, 25, 15)] {
            for y in top..top + 6 {
                pixels[y * width + left..][..6].fill(value);
            }
        }
        let data = TensorData::new(pixels, [1, 1, height, width]);
        let found = cover(Tensor::from_data(data, &Device::flex()), 2, 8.0).unwrap();
        let places: Vec<_> = found[0].iter().map(|p| (p.x_px, p.y_px)).collect();
        for (place, centre) in places.iter().zip([(8.0, 9.0), (28.0, 18.0)]) {
            assert!(
                (place.0 - centre.0).abs() <= 1.0 && (place.1 - centre.1).abs() <= 1.0,
                "{places:?}"
            );
        }
    }

    #[test]
    fn an_empty_image_gives_as_many_as_asked_for() {
        let images = Tensor::<4>::zeros([2, 3, 9, 7], &Device::flex());
        let found = cover(images, 4, 20.0).unwrap();
        assert!(found.iter().all(|image| image.len() == 4));
    }
}
