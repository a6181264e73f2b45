//! What the frozen task network says of candidate places.

use crate::loss::MeanDistance;

/// The loss of one image as a function of which candidates are its keypoints, without running the network again.
///
/// Candidates are numbered; the first K of them are chosen at first.
pub trait ChosenSet {
    /// The loss of the chosen candidates.
    fn loss(&self) -> f32;

    /// The loss if the candidate `out`, which is chosen, made way for `into`, which is not.
    fn loss_after(&self, out: usize, into: usize) -> f32;

    /// Makes that exchange.
    fn exchange(&mut self, out: usize, into: usize);
}

/// Class probabilities of every candidate of an image.
#[derive(Clone, Debug)]
pub struct ClassVotes {
    distance: MeanDistance,
    /// 1 / K.
    share: f32,
    mean_labels: Vec<f32>,
    /// `[candidates, classes]`
    probabilities: Vec<f32>,
    /// Sum of the chosen candidates' probabilities, `[classes]`.
    sum: Vec<f32>,
}

impl ClassVotes {
    /// The votes on an image's candidates, of which the first `instances` are chosen.
    ///
    /// # Shapes
    /// - `mean_labels`: `[classes]`
    /// - `probabilities`: `[candidates, classes]`, at least `instances` candidates
    pub fn new(
        distance: MeanDistance,
        mean_labels: Vec<f32>,
        probabilities: Vec<f32>,
        instances: usize,
    ) -> Self {
        let classes = mean_labels.len();
        let mut sum = vec![0.0; classes];
        for votes in probabilities.chunks_exact(classes.max(1)).take(instances) {
            for (sum, vote) in sum.iter_mut().zip(votes) {
                *sum += vote;
            }
        }
        Self {
            distance,
            share: 1.0 / instances.max(1) as f32,
            mean_labels,
            probabilities,
            sum,
        }
    }

    fn of(&self, candidate: usize) -> &[f32] {
        let classes = self.mean_labels.len();
        &self.probabilities[candidate * classes..(candidate + 1) * classes]
    }
}

impl ChosenSet for ClassVotes {
    fn loss(&self) -> f32 {
        let means = self.sum.iter().map(|sum| sum * self.share);
        self.distance.of_means(&self.mean_labels, means)
    }

    fn loss_after(&self, out: usize, into: usize) -> f32 {
        let votes = self.of(out).iter().zip(self.of(into));
        let means = self.sum.iter().zip(votes);
        let means = means.map(|(sum, (out, into))| (sum - out + into) * self.share);
        self.distance.of_means(&self.mean_labels, means)
    }

    fn exchange(&mut self, out: usize, into: usize) {
        let classes = self.mean_labels.len();
        for class in 0..classes {
            let vote = |candidate: usize| self.probabilities[candidate * classes + class];
            self.sum[class] += vote(into) - vote(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_predicted_loss_is_the_loss_after_the_exchange() {
        let labels = vec![0.5, 0.25, 0.25];
        #[rustfmt::skip]
        let probabilities = vec![
            0.8, 0.1, 0.1,
            0.7, 0.2, 0.1,
            0.1, 0.1, 0.8,
        ];
        for distance in [MeanDistance::Squared, MeanDistance::RelativeEntropy] {
            let mut votes = ClassVotes::new(distance, labels.clone(), probabilities.clone(), 2);
            let (before, predicted) = (votes.loss(), votes.loss_after(1, 2));
            votes.exchange(1, 2);
            assert!(predicted < before);
            assert!((votes.loss() - predicted).abs() < 1e-6);
            assert!((votes.loss_after(2, 1) - before).abs() < 1e-6);
        }
    }
}
