//! Masks over the coarse heatmap of a backbone.

use burn::tensor::{Tensor, TensorData};

use super::{Moment, Xie20Config};
use crate::Error;
use crate::geometry::Keypoint;
use crate::keypoints;
use crate::networks::InputStatistics;
use crate::sample::Source;
use crate::training::TrainedModel;

impl Xie20Config {
    /// The loss of a batch of photographs, seen through a backbone.
    pub(super) fn loss_of_photographs(
        &self,
        trained: &TrainedModel,
        source: &Source,
        mean_labels: Tensor<2>,
        moment: Moment,
    ) -> Result<Tensor<1>, Error> {
        let model = &trained.model;
        let config = model.config();
        let maps = source.maps.clone();
        let heatmaps = model.heatmap.forward(maps, InputStatistics::Batch)?;
        let (scores, places) = self.cells_of(heatmaps.narrow(1, 0, 1), source.stride_px);
        let [batch, _] = scores.dims();
        let points = keypoints::to_tensor(&vec![places; batch], &source.maps.device())?;
        let (seen, task) = source.for_network(&model.task)?;
        let patches = seen.sample(points, config.geometry)?;
        let instances = config.extractor.instances;
        let losses = self.losses(&task, instances, scores, patches, mean_labels, moment)?;
        Ok(losses.mean())
    }

    /// Mean response of each place, `[batch, places]`, and the places' centres.
    fn cells_of(&self, response: Tensor<4>, stride_px: f32) -> (Tensor<2>, Vec<Keypoint>) {
        let [batch, _, height, width] = response.dims();
        let (rows, columns) = ((height / self.cells).max(1), (width / self.cells).max(1));
        let (tall, wide) = (height / rows, width / columns);
        let cut = response
            .narrow(2, 0, rows * tall)
            .narrow(3, 0, columns * wide);
        let places = cut.reshape([batch, rows, tall, columns, wide]);
        let scores = places
            .mean_dim(4)
            .mean_dim(2)
            .reshape([batch, rows * columns]);
        let centre = |index: usize, cells: usize| (index as f32 + 0.5) * cells as f32 * stride_px;
        let keypoints = (0..rows * columns).map(|place| Keypoint {
            x_px: centre(place % columns, wide),
            y_px: centre(place / columns, tall),
            scale: 1.0,
        });
        (scores, keypoints.collect())
    }
}

/// The masks teach a response alone: offsets start at zero, and stay there.
pub(super) fn without_offsets(trained: &mut TrainedModel) -> Result<(), Error> {
    let detector = trained.model.heatmap.detector.clone();
    let device = detector.parameters.val().device();
    let mut values = detector.parameter_values()?;
    let specs = detector.network().parameters();
    for spec in specs.iter().rev().take(2) {
        let kept = spec.len() / 3;
        values[spec.offset + kept..spec.offset + spec.len()].fill(0.0);
    }
    let length = values.len();
    let values = Tensor::from_data(TensorData::new(values, [length]), &device);
    trained.model.heatmap.detector = detector.with_parameters(values)?;
    Ok(())
}
