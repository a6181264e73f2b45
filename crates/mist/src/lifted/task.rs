//! What the patches are for: the task network's input and its loss.

use burn::tensor::Tensor;

use crate::Error;
use crate::loss::{multi_instance_loss, reconstruction_loss};
use crate::networks::{InputStatistics, NetworkModule};
use crate::sample::{PatchGeometry, paste};

/// A task on patches, with its loss per image.
pub trait Task {
    /// The loss of each image, `[batch]`.
    ///
    /// # Shapes
    /// - `patches`: `[batch, K, channels, patch_px, patch_px]`
    /// - `keypoints`: `[batch, K, 3]`
    ///
    /// # Errors
    /// When the shapes do not belong together.
    fn loss(
        &self,
        network: &NetworkModule,
        patches: Tensor<5>,
        keypoints: Tensor<3>,
    ) -> Result<Tensor<1>, Error>;

    /// Whether the loss depends on the network.
    fn trains_network(&self) -> bool {
        true
    }
}

/// Multiple-instance classification (section 4.2).
#[derive(Clone, Debug)]
pub struct Classification {
    /// Mean one-hot label of each image, `[batch, classes]`.
    pub mean_labels: Tensor<2>,
}

/// Auto-encoding (section 4.2).
#[derive(Clone, Debug)]
pub struct Reconstruction {
    /// The images to redraw, `[batch, channels, height, width]`.
    pub images: Tensor<4>,
    /// Size of boxes and patches.
    pub geometry: PatchGeometry,
}

/// Covering the image: each patch redrawn as it is, so that ink outside all boxes and ink in two of them both cost.
///
/// It needs no network, no label and hardly any time, and brings the keypoints onto the objects before a task network
/// could tell where they are.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// The images to cover, `[batch, channels, height, width]`.
    pub images: Tensor<4>,
    /// Size of boxes and patches.
    pub geometry: PatchGeometry,
}

/// Runs the task network on every patch: `[batch, K, ...]` to `[batch * K, ...]`.
fn each_patch(network: &NetworkModule, patches: Tensor<5>) -> Result<Tensor<4>, Error> {
    let [batch, instances, channels, height, width] = patches.dims();
    let flat = patches.reshape([batch * instances, channels, height, width]);
    network.forward(flat, InputStatistics::Running)
}

impl Task for Classification {
    fn loss(
        &self,
        network: &NetworkModule,
        patches: Tensor<5>,
        _keypoints: Tensor<3>,
    ) -> Result<Tensor<1>, Error> {
        let [batch, instances, ..] = patches.dims();
        let logits = each_patch(network, patches)?;
        let classes = logits.dims()[1];
        let logits = logits.reshape([batch, instances, classes]);
        multi_instance_loss(self.mean_labels.clone(), logits)
    }
}

impl Task for Coverage {
    fn loss(
        &self,
        _network: &NetworkModule,
        patches: Tensor<5>,
        keypoints: Tensor<3>,
    ) -> Result<Tensor<1>, Error> {
        redrawing_loss(&self.images, patches, keypoints, self.geometry)
    }

    fn trains_network(&self) -> bool {
        false
    }
}

impl Task for Reconstruction {
    fn loss(
        &self,
        network: &NetworkModule,
        patches: Tensor<5>,
        keypoints: Tensor<3>,
    ) -> Result<Tensor<1>, Error> {
        let [batch, instances, channels, ..] = patches.dims();
        let redrawn = each_patch(network, patches)?;
        let side = self.geometry.patch_px;
        let redrawn = redrawn.reshape([batch, instances, channels, side, side]);
        redrawing_loss(&self.images, redrawn, keypoints, self.geometry)
    }
}

/// Distance of the images to the sum of their pasted patches.
fn redrawing_loss(
    images: &Tensor<4>,
    patches: Tensor<5>,
    keypoints: Tensor<3>,
    geometry: PatchGeometry,
) -> Result<Tensor<1>, Error> {
    let [_, _, height, width] = images.dims();
    let image = paste(patches, keypoints, geometry, height, width)?;
    reconstruction_loss(images.clone(), image)
}
