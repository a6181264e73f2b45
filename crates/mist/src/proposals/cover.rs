//! Boxes that stand out of their surroundings, chosen greedily.

use std::ops::RangeInclusive;

use burn::tensor::Tensor;

use crate::Error;
use crate::geometry::Keypoint;
use crate::heatmap::ScaleLevels;

use super::contrast::contrast_maps;
use crate::extract::{WindowSums, window};

/// Side of the inner window, which prefers objects at the box's centre, as a share of the box, and its weight.
const INNER: f32 = 0.5;
const INNER_WEIGHT: f64 = 0.25;
/// Side of the outer window, whose rim should be empty, as a multiple of the box.
const OUTER: f32 = 1.4;
/// Large boxes hold more than small ones: scores are divided by the scale to this power.
const SCALE_POWER: f32 = 0.6;

/// `instances` boxes per image: each time the one that holds the most contrast, less what surrounds it. What a box holds
/// does not count again.
///
/// Contrast is the squared difference to the image's median. Boxes have a side of `box_px` times one of the levels.
///
/// # Shapes
/// - `images`: `[batch, channels, height, width]`
///
/// # Errors
/// When the device cannot be read.
///
/// # Example
/// ```
/// use burn::tensor::{Device, Tensor};
/// use mist::heatmap::ScaleLevels;
/// use mist::proposals::cover;
///
/// let image = Tensor::<4>::zeros([1, 1, 20, 20], &Device::flex());
/// let image = image.slice_assign([0..1, 0..1, 4..9, 10..15], Tensor::ones([1, 1, 5, 5], &Device::flex()));
/// let boxes = cover(image, 1, 5.0, &ScaleLevels::single())?;
/// assert_eq!((boxes[0][0].x_px, boxes[0][0].y_px), (12.5, 6.5));
/// # Ok::<(), mist::Error>(())
/// ```
pub fn cover(
    images: Tensor<4>,
    instances: usize,
    box_px: f32,
    levels: &ScaleLevels,
) -> Result<Vec<Vec<Keypoint>>, Error> {
    let width = images.dims()[3];
    let levels = levels.values().iter();
    let boxes: Vec<CoverBox> = levels.map(|&scale| CoverBox::new(box_px, scale)).collect();
    let chosen = |contrast| greedy(contrast, width, instances, &boxes);
    Ok(contrast_maps(images)?.into_iter().map(chosen).collect())
}

/// The windows of one scale.
struct CoverBox {
    scale: f32,
    inner_px: usize,
    whole_px: usize,
    outer_px: usize,
}

/// A box and its score.
#[derive(Clone, Copy)]
struct Candidate {
    score: f64,
    x: usize,
    y: usize,
    whole_px: usize,
    scale: f32,
}

impl CoverBox {
    fn new(box_px: f32, scale: f32) -> Self {
        // Odd, so that a window has a pixel at its centre and proposals are not off by half a pixel.
        let side = |share: f32| ((box_px * scale * share + 1.0) / 2.0).max(1.0) as usize * 2 - 1;
        Self {
            scale,
            inner_px: side(INNER),
            whole_px: side(1.0),
            outer_px: side(OUTER),
        }
    }

    fn candidates(&self, sums: &WindowSums) -> impl Iterator<Item = Candidate> {
        let columns = inside(sums.width, self.whole_px);
        let places = inside(sums.height, self.whole_px)
            .flat_map(move |y| columns.clone().map(move |x| (x, y)));
        let share = f64::from(self.scale.powf(-SCALE_POWER));
        places.map(move |(x, y)| {
            let around = |side_px| sums.around(x, y, side_px);
            let contrast = INNER_WEIGHT * around(self.inner_px) + 2.0 * around(self.whole_px)
                - around(self.outer_px);
            Candidate {
                score: contrast * share,
                x,
                y,
                whole_px: self.whole_px,
                scale: self.scale,
            }
        })
    }
}

fn greedy(
    mut contrast: Vec<f32>,
    width: usize,
    instances: usize,
    boxes: &[CoverBox],
) -> Vec<Keypoint> {
    let mut chosen = Vec::with_capacity(instances);
    for _ in 0..instances {
        let sums = WindowSums::new(&contrast, width);
        let candidates = boxes
            .iter()
            .flat_map(|cover_box| cover_box.candidates(&sums));
        let better =
            |best: Candidate, next: Candidate| if next.score > best.score { next } else { best };
        let Some(best) = candidates.reduce(better) else {
            break;
        };
        let [columns, rows] = [(best.x, width), (best.y, sums.height)]
            .map(|(at, end)| window(at, best.whole_px, end));
        for row in rows.0..rows.1 {
            contrast[row * width..][columns.0..columns.1].fill(0.0);
        }
        chosen.push(Keypoint {
            x_px: best.x as f32 + 0.5,
            y_px: best.y as f32 + 0.5,
            scale: best.scale,
        });
    }
    chosen
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
        let found = cover(
            Tensor::from_data(data, &Device::flex()),
            2,
            8.0,
            &ScaleLevels::single(),
        )
        .unwrap();
        let places: Vec<_> = found[0].iter().map(|p| (p.x_px, p.y_px)).collect();
        for (place, centre) in places.iter().zip([(8.0, 9.0), (28.0, 18.0)]) {
            assert!(
                (place.0 - centre.0).abs() <= 1.0 && (place.1 - centre.1).abs() <= 1.0,
                "{places:?}"
            );
        }
    }

    #[test]
    fn a_proposal_sits_on_the_centre_of_what_it_holds() {
        let side = 21;
        let blob = |index: usize| {
            let (x, y) = ((index % side) as f32 - 10.0, (index / side) as f32 - 10.0);
            (-(x * x + y * y) / 8.0).exp()
        };
        let data = TensorData::new((0..side * side).map(blob).collect(), [1, 1, side, side]);
        let images = Tensor::from_data(data, &Device::flex());
        let found = cover(images, 1, 8.0, &ScaleLevels::single()).unwrap();
        assert_eq!((found[0][0].x_px, found[0][0].y_px), (10.5, 10.5));
    }

    #[test]
    fn boxes_are_as_large_as_what_they_hold() {
        let side = 48;
        let mut pixels = vec![0.0; side * side];
        for (size, left, top) in [(11, 4, 5), (5, 30, 30)] {
            for y in top..top + size {
                pixels[y * side + left..][..size].fill(1.0);
            }
        }
        let images =
            Tensor::from_data(TensorData::new(pixels, [1, 1, side, side]), &Device::flex());
        let levels = ScaleLevels::new(vec![0.75, 1.0, 1.5]).unwrap();
        let found = cover(images, 2, 8.0, &levels).unwrap();
        let scales: Vec<_> = found[0].iter().map(|p| p.scale).collect();
        assert_eq!(scales, [1.5, 0.75]);
    }

    #[test]
    fn an_empty_image_gives_as_many_as_asked_for() {
        let images = Tensor::<4>::zeros([2, 3, 9, 7], &Device::flex());
        let found = cover(images, 4, 20.0, &ScaleLevels::lf_net()).unwrap();
        assert!(found.iter().all(|image| image.len() == 4));
    }
}
