//! Classification with a label for every patch.

use burn::tensor::activation::{log_softmax, softmax};
use burn::tensor::{Int, Tensor, TensorData};

use super::{ChosenSet, ClassVotes, Task};
use crate::Error;
use crate::loss::MeanDistance;
use crate::networks::{InputStatistics, NetworkModule};

/// Cross-entropy of each patch under the best assignment of the image's labels to its patches.
///
/// The paper compares means, which leaves open which patch holds what; an assignment decides it, and patches that are
/// sure teach the others less.
#[derive(Clone, Debug)]
pub struct AssignedClassification {
    /// K labels of each image, filled up with the background.
    pub labels: Vec<Vec<usize>>,
}

/// The assignment of labels to patches with the least total cost, as the label of each patch; the first of equals.
fn assign(costs: &[f32], classes: usize, labels: &[usize]) -> Vec<usize> {
    let mut best = (f32::INFINITY, labels.to_vec());
    let mut order = labels.to_vec();
    permute(&mut order, 0, &mut |order| {
        let chosen = order.iter().enumerate();
        let cost: f32 = chosen.map(|(k, label)| costs[k * classes + label]).sum();
        if cost < best.0 {
            best = (cost, order.to_vec());
        }
    });
    best.1
}

/// Visits every order of the values from `first` on.
fn permute(values: &mut [usize], first: usize, visit: &mut impl FnMut(&[usize])) {
    if first + 1 >= values.len() {
        visit(values);
        return;
    }
    for other in first..values.len() {
        values.swap(first, other);
        permute(values, first + 1, visit);
        values.swap(first, other);
    }
}

impl AssignedClassification {
    /// Most patches per image: all orders of their labels are tried.
    pub const MOST_INSTANCES: usize = 6;

    /// Logits of every patch, `[batch * K, classes]`.
    fn logits(network: &NetworkModule, patches: Tensor<5>) -> Result<Tensor<2>, Error> {
        let [batch, instances, channels, height, width] = patches.dims();
        let flat = patches.reshape([batch * instances, channels, height, width]);
        let logits = network.forward(flat, InputStatistics::Running)?;
        let classes = logits.dims()[1];
        Ok(logits.reshape([batch * instances, classes]))
    }

    /// The label of every patch, image after image.
    fn assigned(&self, log_probabilities: &Tensor<2>) -> Result<Vec<i64>, Error> {
        let [patches, classes] = log_probabilities.dims();
        let instances = patches / self.labels.len().max(1);
        let costs = (-log_probabilities.clone())
            .inner()
            .try_into_vec_as::<f32>()?;
        let images = costs.chunks_exact((instances * classes).max(1));
        let labels = images.zip(&self.labels).flat_map(|(costs, labels)| {
            let labels = assign(costs, classes, labels);
            labels.into_iter().map(|label| label as i64)
        });
        Ok(labels.collect())
    }
}

impl Task for AssignedClassification {
    fn loss(
        &self,
        network: &NetworkModule,
        _images: &Tensor<4>,
        patches: Tensor<5>,
        _keypoints: Tensor<3>,
    ) -> Result<Tensor<1>, Error> {
        let [batch, instances, ..] = patches.dims();
        let log_probabilities = log_softmax(Self::logits(network, patches)?, 1);
        let labels = self.assigned(&log_probabilities)?;
        let labels = TensorData::new(labels, [batch * instances, 1]);
        let labels = Tensor::<2, Int>::from_data(labels, &log_probabilities.device());
        let losses = log_probabilities.gather(1, labels).neg();
        Ok(losses
            .reshape([batch, instances])
            .mean_dim(1)
            .reshape([batch]))
    }

    fn votes(
        &self,
        network: &NetworkModule,
        _images: &Tensor<4>,
        patches: Tensor<5>,
        _keypoints: Tensor<3>,
        instances: usize,
    ) -> Result<Vec<Box<dyn ChosenSet>>, Error> {
        let probabilities = softmax(Self::logits(network, patches)?, 1);
        let [patches, classes] = probabilities.dims();
        let per_image = patches / self.labels.len().max(1) * classes;
        let probabilities = probabilities.inner().try_into_vec_as::<f32>()?;
        let images = probabilities.chunks_exact(per_image.max(1));
        let votes = images.zip(&self.labels).map(|(votes, labels)| {
            let mut means = vec![0.0; classes];
            for &label in labels {
                means[label] += 1.0 / labels.len() as f32;
            }
            let distance = MeanDistance::RelativeEntropy;
            Box::new(ClassVotes::new(distance, means, votes.to_vec(), instances))
                as Box<dyn ChosenSet>
        });
        Ok(votes.collect())
    }

    /// The probability of the labels of the image's objects, whichever patch they are assigned to.
    fn keypoint_weights(
        &self,
        network: &NetworkModule,
        patches: Tensor<5>,
    ) -> Result<Option<Vec<Vec<f32>>>, Error> {
        let [_, instances, ..] = patches.dims();
        let probabilities = softmax(Self::logits(network, patches)?, 1);
        let classes = probabilities.dims()[1];
        let probabilities = probabilities.inner().try_into_vec_as::<f32>()?;
        let images = probabilities.chunks_exact((instances * classes).max(1));
        let weights = images.zip(&self.labels).map(|(image, labels)| {
            let is_own = |label: &usize| *label + 1 < classes && labels.contains(label);
            let own: Vec<usize> = (0..classes).filter(is_own).collect();
            let patches = image.chunks_exact(classes);
            patches
                .map(|patch| own.iter().map(|&label| patch[label]).sum())
                .collect()
        });
        Ok(Some(weights.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_go_where_they_cost_least() {
        // Two patches of three classes; the last is the background.
        let costs = [0.1, 3.0, 2.0, 0.2, 3.0, 0.3];
        assert_eq!(assign(&costs, 3, &[0, 2]), [0, 2]);
        let costs = [0.2, 3.0, 0.3, 0.1, 3.0, 2.0];
        assert_eq!(assign(&costs, 3, &[0, 2]), [2, 0]);
        assert_eq!(assign(&costs, 3, &[0, 0]), [0, 0]);
        assert_eq!(assign(&costs[..3], 3, &[1]), [1]);
    }

    #[test]
    fn every_order_is_visited() {
        let mut seen = Vec::new();
        permute(&mut [1, 2, 3], 0, &mut |order| seen.push(order.to_vec()));
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 6);
    }
}
