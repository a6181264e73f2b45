//! What S samples from.

use burn::tensor::Tensor;

use super::{PatchGeometry, sample};
use crate::Error;
use crate::networks::NetworkModule;

/// An image, or a feature map of one: keypoints are in pixels of the image either way.
#[derive(Clone, Debug)]
pub struct Source {
    /// `[batch, channels, height, width]`
    pub maps: Tensor<4>,
    /// Pixels of the image per cell of the maps.
    pub stride_px: f32,
}

impl Source {
    /// Images themselves.
    pub fn image(images: Tensor<4>) -> Self {
        Self {
            maps: images,
            stride_px: 1.0,
        }
    }

    /// What patches for a network are sampled from, and the network that reads them: where its first layer is linear and reads
    /// single cells, features pass it before they are sampled. The result is the same up to rounding.
    ///
    /// # Errors
    /// As [`NetworkModule::forward`].
    pub fn for_network(&self, network: &NetworkModule) -> Result<(Self, NetworkModule), Error> {
        if self.stride_px == 1.0 {
            return Ok((self.clone(), network.clone()));
        }
        Ok(match network.behind_first_layer(&self.maps)? {
            Some((maps, rest)) => (Self { maps, ..*self }, rest),
            None => (self.clone(), network.clone()),
        })
    }

    /// `{P_k} = S(maps, {x_k})`; see [`sample`].
    ///
    /// # Shapes
    /// - `keypoints`: `[batch, K, 3]`: x and y in pixels of the image, scale
    /// - output: `[batch, K, channels, patch_px, patch_px]`
    ///
    /// # Errors
    /// When the shapes do not belong together.
    ///
    /// # Example
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use mist::sample::{PatchGeometry, Source};
    ///
    /// let device = Device::flex();
    /// let maps = Tensor::<4>::from_data([[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]]], &device);
    /// let source = Source { maps, stride_px: 16.0 };
    /// // A box of 2 x 2 cells of 16 px around the corner that four cells share.
    /// let geometry = PatchGeometry { base_box_px: 32.0, patch_px: 2, context_px: 0.0 };
    /// let keypoints = Tensor::<3>::from_data([[[32.0, 32.0, 1.0]]], &device);
    /// assert_eq!(source.sample(keypoints, geometry)?.try_into_vec_as::<f32>()?, [5.0, 6.0, 8.0, 9.0]);
    /// # Ok::<(), mist::Error>(())
    /// ```
    pub fn sample(
        &self,
        keypoints: Tensor<3>,
        geometry: PatchGeometry,
    ) -> Result<Tensor<5>, Error> {
        if self.stride_px == 1.0 {
            return sample(self.maps.clone(), keypoints, geometry);
        }
        let share = 1.0 / self.stride_px;
        let places = keypoints.clone().narrow(2, 0, 2) * share;
        let keypoints = Tensor::cat(vec![places, keypoints.narrow(2, 2, 1)], 2);
        let geometry = PatchGeometry {
            base_box_px: geometry.base_box_px * share,
            context_px: geometry.context_px * share,
            ..geometry
        };
        sample(self.maps.clone(), keypoints, geometry)
    }
}
