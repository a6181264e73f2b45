//! What the method finds: boxes in the order of its steps, until it says that there is none left.

use burn::tensor::{Tensor, TensorData};

use super::Esl16Config;
use super::attend::{Attention, geometry};
use super::networks::{Networks, Part};
use crate::Error;
use crate::baselines::noise::Noise;
use crate::finder::Finder;
use crate::geometry::{Detection, Keypoint};
use crate::keypoints;
use crate::model::ModelConfig;
use crate::sample::paste;

/// A trained network that counts, places and redraws objects.
#[derive(Clone, Debug)]
pub struct Esl16Finder {
    config: Esl16Config,
    model: ModelConfig,
    networks: Networks,
}

impl Esl16Finder {
    pub(super) fn new(config: Esl16Config, model: &ModelConfig, networks: Networks) -> Self {
        Self {
            config,
            model: model.clone(),
            networks,
        }
    }

    fn attention(&self) -> Attention<'_> {
        Attention {
            config: &self.config,
            networks: &self.networks,
            geometry: geometry(&self.config, self.model.geometry.patch_px),
            steps: self.model.extractor.instances,
            prior_log_odds: 0.0,
        }
    }

    fn keypoint(&self, detection: &Detection) -> Keypoint {
        let (x_px, y_px) = detection.bounds.centre_px();
        let side_px = detection.bounds.x_max_px - detection.bounds.x_min_px;
        Keypoint {
            x_px,
            y_px,
            scale: side_px / self.config.canvas_px as f32,
        }
    }
}

impl Finder for Esl16Finder {
    fn channels(&self) -> usize {
        self.model.image_channels()
    }

    fn instances(&self) -> usize {
        self.model.extractor.instances
    }

    fn classes(&self) -> Option<usize> {
        None
    }

    fn find(&self, images: Tensor<4>, k: &[usize]) -> Result<Vec<Vec<Detection>>, Error> {
        let attended = self.attention().run(images, &mut Noise::Silent)?;
        let mut found = vec![Vec::new(); k.len()];
        for glimpse in attended.glimpses {
            let present = glimpse.presence.try_into_vec_as::<f32>()?;
            let values = glimpse.keypoints.clone().try_into_vec_as::<f32>()?;
            let shift = Part::Shift as usize;
            self.networks.0.refuse_non_finite(shift, &values, k.len())?;
            let places = keypoints::from_tensor(glimpse.keypoints)?;
            let images = found.iter_mut().zip(k).zip(places).zip(present);
            for (((found, &most), places), present) in images {
                for keypoint in places.into_iter().filter(|_| present > 0.5) {
                    if found.len() < most {
                        found.push(Detection {
                            bounds: keypoint.to_box(self.config.canvas_px as f32),
                            label: 0,
                            // Later objects are less sure.
                            score: 1.0 / (1.0 + found.len() as f32),
                        });
                    }
                }
            }
        }
        Ok(found)
    }

    fn redraw(
        &self,
        images: Tensor<4>,
        found: &[Vec<Detection>],
    ) -> Result<Option<Tensor<4>>, Error> {
        let [batch, _, height, width] = images.dims();
        let instances = found.iter().map(Vec::len).max().unwrap_or(0);
        if instances == 0 {
            return Ok(Some(images.zeros_like()));
        }
        let centre = Keypoint {
            x_px: width as f32 / 2.0,
            y_px: height as f32 / 2.0,
            scale: 1.0,
        };
        let mut shown = Vec::with_capacity(batch * instances);
        let filled = found.iter().map(|found| {
            let count = found.len();
            shown.extend((0..instances).map(|place| if place < count { 1.0 } else { 0.0 }));
            let mut keypoints: Vec<_> = found.iter().map(|found| self.keypoint(found)).collect();
            keypoints.resize(instances, centre);
            keypoints
        });
        let filled: Vec<Vec<Keypoint>> = filled.collect();
        let device = images.device();
        let points = keypoints::to_tensor(&filled, &device)?;
        let attention = self.attention();
        let (windows, _) = attention.redraw(images, points.clone(), &mut Noise::Silent)?;
        let shown: Tensor<5> = Tensor::from_data(
            TensorData::new::<f32, _>(shown, [batch, instances, 1, 1, 1]),
            &device,
        );
        let redrawn = paste(windows * shown, points, attention.geometry, height, width)?;
        Ok(Some(redrawn.clamp(0.0, 1.0)))
    }

    fn to_safetensors(&self) -> Result<Vec<u8>, Error> {
        self.networks.0.to_safetensors()
    }
}
