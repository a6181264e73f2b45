//! The tasks: what the task network computes from patches, and its loss.

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use super::{ChosenSet, ClassVotes};
use crate::Error;
use crate::loss::{MeanDistance, multi_instance_loss, reconstruction_loss};
use crate::networks::{InputStatistics, NetworkModule};
use crate::sample::{PatchGeometry, paste};

/// A task on patches, with its loss per image.
pub trait Task {
    /// The loss of each image, `[batch]`.
    ///
    /// # Shapes
    /// - `images`: `[batch, channels, height, width]`, without their background
    /// - `patches`: `[batch, K, channels, patch_px, patch_px]`
    /// - `keypoints`: `[batch, K, 3]`
    ///
    /// # Errors
    /// When the shapes do not belong together.
    fn loss(
        &self,
        network: &NetworkModule,
        images: &Tensor<4>,
        patches: Tensor<5>,
        keypoints: Tensor<3>,
    ) -> Result<Tensor<1>, Error>;

    /// What the network says of `candidates` places per image, of which the first `instances` are the keypoints; one value
    /// per image. `None` for a task whose loss cannot be predicted from single places.
    ///
    /// # Shapes
    /// As [`Task::loss`] with all candidates in the place of K.
    ///
    /// # Errors
    /// When the shapes do not belong together.
    fn votes(
        &self,
        _network: &NetworkModule,
        _images: &Tensor<4>,
        _patches: Tensor<5>,
        _keypoints: Tensor<3>,
        _instances: usize,
    ) -> Result<Option<Vec<Box<dyn ChosenSet>>>, Error> {
        Ok(None)
    }
}

/// Multiple-instance classification (section 4.2).
#[derive(Clone, Debug)]
pub struct Classification {
    /// Mean one-hot label of each image, `[batch, classes]`.
    pub mean_labels: Tensor<2>,
    /// How predictions are compared with it.
    pub distance: MeanDistance,
}

/// Auto-encoding (section 4.2).
#[derive(Clone, Copy, Debug)]
pub struct Reconstruction {
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
        _images: &Tensor<4>,
        patches: Tensor<5>,
        _keypoints: Tensor<3>,
    ) -> Result<Tensor<1>, Error> {
        let [batch, instances, ..] = patches.dims();
        let logits = each_patch(network, patches)?;
        let classes = logits.dims()[1];
        let logits = logits.reshape([batch, instances, classes]);
        multi_instance_loss(self.distance, self.mean_labels.clone(), logits)
    }

    fn votes(
        &self,
        network: &NetworkModule,
        _images: &Tensor<4>,
        patches: Tensor<5>,
        _keypoints: Tensor<3>,
        instances: usize,
    ) -> Result<Option<Vec<Box<dyn ChosenSet>>>, Error> {
        let [batch, candidates, ..] = patches.dims();
        let logits = each_patch(network, patches)?;
        let classes = logits.dims()[1];
        let logits = logits.reshape([batch * candidates, classes]);
        let probabilities = softmax(logits, 1).inner().try_into_vec_as::<f32>()?;
        let labels = self.mean_labels.clone().inner().try_into_vec_as::<f32>()?;
        let images = labels.chunks_exact(classes.max(1));
        let images = images.zip(probabilities.chunks_exact((candidates * classes).max(1)));
        let votes = images.map(|(labels, votes)| {
            let votes = ClassVotes::new(self.distance, labels.to_vec(), votes.to_vec(), instances);
            Box::new(votes) as Box<dyn ChosenSet>
        });
        Ok(Some(votes.collect()))
    }
}

impl Task for Reconstruction {
    fn loss(
        &self,
        network: &NetworkModule,
        images: &Tensor<4>,
        patches: Tensor<5>,
        keypoints: Tensor<3>,
    ) -> Result<Tensor<1>, Error> {
        let [batch, instances, channels, ..] = patches.dims();
        let redrawn = each_patch(network, patches)?;
        let side = self.geometry.patch_px;
        let redrawn = redrawn.reshape([batch, instances, channels, side, side]);
        let [_, _, height, width] = images.dims();
        let image = paste(redrawn, keypoints, self.geometry, height, width)?;
        reconstruction_loss(images.clone(), image)
    }
}
