//! Landmarks as tensors; lengths are shares of the canvas's side.

use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor, TensorData};

/// Keeps quotients finite where no pixel belongs to a landmark.
const LEAST_MASS: f32 = 1e-6;

/// The landmarks of a batch.
#[derive(Clone, Debug)]
pub struct Landmarks {
    /// Mean x and y, `[batch, K, 2]`.
    pub places: Tensor<3>,
    /// Mean variance along both axes, `[batch, K]`.
    pub variances: Tensor<2>,
    /// Share of each pixel in each landmark; sums to 1 over pixels: `[batch, K, height * width]`.
    pub shares: Tensor<3>,
    /// Pixels of each landmark, `[batch, K]`.
    pub masses: Tensor<2>,
}

impl Landmarks {
    /// Reads landmarks from responses, the last of which is the background's: softmax over channels, then moments.
    ///
    /// # Shapes
    /// - `responses`: `[batch, K + 1, height, width]`
    pub fn of(responses: Tensor<4>) -> Self {
        let [batch, channels, height, width] = responses.dims();
        let pixels = height * width;
        let shares =
            softmax(responses, 1)
                .narrow(1, 0, channels - 1)
                .reshape([batch, channels - 1, pixels]);
        let masses = shares.clone().sum_dim(2);
        let shares = shares / (masses.clone() + LEAST_MASS);
        let centres = pixel_centres(height, width, &shares.device());
        let places = shares
            .clone()
            .matmul(centres.clone().unsqueeze::<3>().repeat_dim(0, batch));
        let squares = centres.square().sum_dim(1).unsqueeze::<3>();
        let mean_square = shares.clone().matmul(squares.repeat_dim(0, batch));
        let square_mean = places.clone().square().sum_dim(2);
        let variances = (mean_square - square_mean).clamp_min(0.0) * 0.5;
        let landmarks = [batch, channels - 1];
        Self {
            places,
            variances: variances.reshape(landmarks),
            shares,
            masses: masses.reshape(landmarks),
        }
    }
}

/// Centres of the pixels of a canvas of side 1, `[height * width, 2]`.
fn pixel_centres(height: usize, width: usize, device: &Device) -> Tensor<2> {
    let centre = |index: usize, count: usize| (index as f32 + 0.5) / count as f32;
    let values: Vec<f32> = (0..height * width)
        .flat_map(|pixel| [centre(pixel % width, width), centre(pixel / width, height)])
        .collect();
    Tensor::from_data(TensorData::new(values, [height * width, 2]), device)
}

/// Squared distances between two sets of points, `[batch, n, 2]` and `[batch, m, 2]` to `[batch, n, m]`.
pub(super) fn squared_distances(from: Tensor<3>, to: Tensor<3>) -> Tensor<3> {
    let [batch, count, _] = from.dims();
    let others = to.dims()[1];
    let from = from.reshape([batch, count, 1, 2]);
    let to = to.reshape([batch, 1, others, 2]);
    (from - to)
        .square()
        .sum_dim(3)
        .reshape([batch, count, others])
}

/// `sum over pairs exp(-d^2 / (2 deviation^2))` of each image, `[batch, 1]`; both orders of a pair count.
///
/// # Shapes
/// - `places`: `[batch, K, 2]`
pub fn separation_loss(places: Tensor<3>, deviation: f32) -> Tensor<2> {
    let [batch, count, _] = places.dims();
    let near = squared_distances(places.clone(), places) / (-2.0 * deviation * deviation);
    // What a landmark has with itself is 1 and has no gradient.
    near.exp().reshape([batch, count * count]).sum_dim(1) - count as f64
}

/// Every pixel's share in Gaussians around landmarks and, last, in an even background; the shares of a pixel sum to 1.
///
/// # Shapes
/// - `places`: `[batch, K, 2]`
/// - output: `[batch, K + 1, height * width]`
pub fn gaussian_maps(places: Tensor<3>, deviation: f32, height: usize, width: usize) -> Tensor<3> {
    let [batch, _, _] = places.dims();
    let device = places.device();
    let variance = deviation * deviation;
    let pixels = pixel_centres(height, width, &device).unsqueeze::<3>();
    let squares = squared_distances(places, pixels.repeat_dim(0, batch));
    // Densities per pixel: each sums to 1 over a large enough canvas, as the background does.
    let height_of_peak = 1.0 / (std::f32::consts::TAU * variance);
    let gaussians = (squares / (-2.0 * variance)).exp() * height_of_peak;
    let background = Tensor::ones([batch, 1, height * width], &device);
    let all = Tensor::cat(vec![gaussians, background], 1);
    let sum = all.clone().sum_dim(1);
    all / sum
}
