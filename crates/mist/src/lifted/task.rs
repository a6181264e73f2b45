//! The tasks: what the task network computes from patches, and its loss.

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use super::{ChosenSet, ClassVotes, RedrawnVotes};
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
    /// per image.
    ///
    /// # Shapes
    /// As [`Task::loss`] with all candidates in the place of K.
    ///
    /// # Errors
    /// When the shapes do not belong together.
    fn votes(
        &self,
        network: &NetworkModule,
        images: &Tensor<4>,
        patches: Tensor<5>,
        keypoints: Tensor<3>,
        instances: usize,
    ) -> Result<Vec<Box<dyn ChosenSet>>, Error>;

    /// What each keypoint counts for in the detector's target, from its patch; `None` where all count the same.
    ///
    /// # Shapes
    /// - `patches`: `[batch, K, channels, patch_px, patch_px]`
    ///
    /// # Errors
    /// When the shapes do not belong together.
    fn keypoint_weights(
        &self,
        network: &NetworkModule,
        patches: Tensor<5>,
    ) -> Result<Option<Vec<Vec<f32>>>, Error> {
        let (_, _) = (network, patches);
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
    ) -> Result<Vec<Box<dyn ChosenSet>>, Error> {
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
        Ok(votes.collect())
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
        let shape = patches.dims();
        let redrawn = each_patch(network, patches)?.reshape(shape);
        let [_, _, height, width] = images.dims();
        let image = paste(redrawn, keypoints, self.geometry, height, width)?;
        reconstruction_loss(images.clone(), image)
    }

    fn votes(
        &self,
        network: &NetworkModule,
        images: &Tensor<4>,
        patches: Tensor<5>,
        keypoints: Tensor<3>,
        instances: usize,
    ) -> Result<Vec<Box<dyn ChosenSet>>, Error> {
        let [batch, candidates, channels, side, _] = patches.dims();
        let [_, _, height, width] = images.dims();
        let pixels = channels * height * width;
        let redrawn = each_patch(network, patches)?;
        let redrawn = redrawn.reshape([batch * candidates, 1, channels, side, side]);
        let keypoints = keypoints.reshape([batch * candidates, 1, 3]);
        let alone = paste(redrawn, keypoints, self.geometry, height, width)?.inner();
        let alone = alone.reshape([batch, candidates, pixels]);
        let images = images.clone().inner().reshape([batch, pixels, 1]);
        let norms = images.clone().square().sum_dim(1);
        let with_image = alone.clone().matmul(images);
        let with_each_other = alone.clone().matmul(alone.transpose());
        let norms = norms.try_into_vec_as::<f32>()?;
        let with_image = with_image.try_into_vec_as::<f32>()?;
        let with_each_other = with_each_other.try_into_vec_as::<f32>()?;
        let candidates = candidates.max(1);
        let products = with_image
            .chunks_exact(candidates)
            .zip(with_each_other.chunks_exact(candidates * candidates));
        let votes = norms
            .into_iter()
            .zip(products)
            .map(|(norm, (image, each_other))| {
                let votes = RedrawnVotes::new(norm, image.to_vec(), each_other.to_vec(), instances);
                Box::new(votes) as Box<dyn ChosenSet>
            });
        Ok(votes.collect())
    }
}
