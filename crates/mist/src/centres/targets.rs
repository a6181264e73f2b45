//! G for detectors that tell sizes: a bump on each object, and the logarithm of its side.

use burn::tensor::{Device, Tensor, TensorData};

use crate::geometry::Keypoint;

/// Pixels of a bump above this learn the size.
const SIZED: f32 = 0.6;
/// Weight of a pixel that is on no bump.
const ELSEWHERE: f32 = 0.3;
/// The narrowest bump.
const MIN_SPREAD_PX: f32 = 1.2;

/// What the detector's two outputs should be, `[batch, 1, height, width]` each.
pub(super) struct Targets {
    /// Bumps of height 1.
    pub heat: Tensor<4>,
    /// How much each pixel's heat matters: the pixels of a bump as much in all as those of any other.
    pub weights: Tensor<4>,
    /// How many bumps there are.
    pub objects: usize,
    /// How many pixels have a size to learn.
    pub sized_px: usize,
    /// Binary logarithm of the scale.
    pub sizes: Tensor<4>,
    /// 1 where there is a size to learn.
    pub sized: Tensor<4>,
}

impl Targets {
    pub fn new(
        keypoints: &[Vec<Keypoint>],
        [height, width]: [usize; 2],
        spread_px: impl Fn(f32) -> f32,
        device: &Device,
    ) -> Self {
        let area = height * width;
        let map = |value: f32| vec![value; keypoints.len() * area];
        let (mut heat, mut weights) = (map(0.0), map(ELSEWHERE));
        let (mut sizes, mut sized) = (map(0.0), map(0.0));
        let mut objects = 0;
        for (image, keypoints) in keypoints.iter().enumerate() {
            let first = image * area;
            for keypoint in keypoints {
                let (x, y) = (keypoint.x_px as usize, keypoint.y_px as usize);
                if x >= width || y >= height {
                    continue;
                }
                objects += 1;
                let spread = spread_px(keypoint.scale).max(MIN_SPREAD_PX);
                let reach = (3.0 * spread).ceil() as usize;
                for row in y.saturating_sub(reach)..(y + reach + 1).min(height) {
                    for column in x.saturating_sub(reach)..(x + reach + 1).min(width) {
                        let away = (row.abs_diff(y).pow(2) + column.abs_diff(x).pow(2)) as f32;
                        let bump = (-0.5 * away / (spread * spread)).exp();
                        let place = first + row * width + column;
                        if bump > heat[place] {
                            heat[place] = bump;
                            weights[place] = (spread * spread).recip();
                            sizes[place] = keypoint.scale.log2();
                            sized[place] = f32::from(bump > SIZED);
                        }
                    }
                }
            }
        }
        let shape = [keypoints.len(), 1, height, width];
        let sized_px = sized.iter().filter(|&&sized| sized > 0.0).count();
        let tensor = |map: Vec<f32>| Tensor::from_data(TensorData::new(map, shape), device);
        Self {
            heat: tensor(heat),
            weights: tensor(weights),
            sizes: tensor(sizes),
            sized: tensor(sized),
            objects,
            sized_px,
        }
    }
}
