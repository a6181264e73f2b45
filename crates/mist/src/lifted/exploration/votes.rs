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

/// What every candidate of an image redraws, as far as the squared error of the sum depends on it.
#[derive(Clone, Debug)]
pub struct RedrawnVotes {
    /// Squared norm of the image.
    image_norm: f32,
    /// Products of each candidate's pixels with the image's, `[candidates]`.
    with_image: Vec<f32>,
    /// Products of the candidates' pixels with each other's, `[candidates, candidates]`.
    with_each_other: Vec<f32>,
    chosen: Vec<usize>,
}

impl RedrawnVotes {
    /// The votes on an image's candidates, of which the first `instances` are chosen.
    ///
    /// # Shapes
    /// - `with_image`: `[candidates]`, at least `instances` of them
    /// - `with_each_other`: `[candidates, candidates]`
    pub fn new(
        image_norm: f32,
        with_image: Vec<f32>,
        with_each_other: Vec<f32>,
        instances: usize,
    ) -> Self {
        Self {
            image_norm,
            with_image,
            with_each_other,
            chosen: (0..instances).collect(),
        }
    }

    fn product(&self, a: usize, b: usize) -> f32 {
        self.with_each_other[a * self.with_image.len() + b]
    }

    /// Sum of a candidate's products with the chosen ones.
    fn with_chosen(&self, candidate: usize) -> f32 {
        let products = self.chosen.iter().map(|&b| self.product(candidate, b));
        products.sum()
    }
}

impl ChosenSet for RedrawnVotes {
    fn loss(&self) -> f32 {
        let chosen = self.chosen.iter();
        let losses = chosen.map(|&a| self.with_chosen(a) - 2.0 * self.with_image[a]);
        self.image_norm + losses.sum::<f32>()
    }

    fn loss_after(&self, out: usize, into: usize) -> f32 {
        let without = self.product(out, out) - 2.0 * (self.with_chosen(out) - self.with_image[out]);
        let others = self.with_chosen(into) - self.product(into, out);
        let added = self.product(into, into) + 2.0 * (others - self.with_image[into]);
        self.loss() + without + added
    }

    fn exchange(&mut self, out: usize, into: usize) {
        for chosen in &mut self.chosen {
            if *chosen == out {
                *chosen = into;
            }
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

    #[test]
    fn redrawn_votes_are_the_squared_error_of_the_sum() {
        let image = [1.0, 2.0, 0.0, 1.0];
        let candidates = [
            [1.0, 1.0, 0.0, 0.0],
            [0.0, 1.0, 1.0, 0.0],
            [0.0, 0.5, 0.0, 1.0],
        ];
        let product = |a: &[f32; 4], b: &[f32; 4]| a.iter().zip(b).map(|(a, b)| a * b).sum();
        let with_image = candidates.iter().map(|c| product(c, &image)).collect();
        let pairs = candidates
            .iter()
            .flat_map(|a| candidates.iter().map(move |b| product(a, b)));
        let squared = |chosen: [usize; 2]| -> f32 {
            let pixels = (0..4).map(|pixel| {
                let sum: f32 = chosen.iter().map(|&c| candidates[c][pixel]).sum();
                (image[pixel] - sum).powi(2)
            });
            pixels.sum()
        };
        let norm = product(&image, &image);
        let mut votes = RedrawnVotes::new(norm, with_image, pairs.collect(), 2);
        assert!((votes.loss() - squared([0, 1])).abs() < 1e-6);
        assert!((votes.loss_after(1, 2) - squared([0, 2])).abs() < 1e-6);
        votes.exchange(1, 2);
        assert!((votes.loss() - squared([0, 2])).abs() < 1e-6);
        assert!((votes.loss_after(0, 1) - squared([1, 2])).abs() < 1e-6);
    }
}
