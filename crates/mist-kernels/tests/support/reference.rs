//! Convolutions and their gradients as plain sums in f64 of rounded factors.

use mist_kernels::network::{Layer, Padding, Shape};

use super::cases::Case;
use super::support::numbers;

/// The nearest bf16, found without looking at bits: the 8 leading binary digits.
fn rounded(value: f32) -> f64 {
    let value = f64::from(value);
    if value == 0.0 {
        return 0.0;
    }
    let unit = 2f64.powi(value.abs().log2().floor() as i32 - 7);
    (value / unit).round_ties_even() * unit
}

/// A number rounded, and what that leaves over, rounded too.
fn split(value: f32) -> [f64; 2] {
    let first = rounded(value);
    [first, rounded((f64::from(value) - first) as f32)]
}

/// Tap geometry: kernel side, frame, and whether it is an up-convolution.
fn geometry(layer: &Layer) -> (usize, usize, bool) {
    match *layer {
        Layer::Conv1x1 { .. } | Layer::Dense { .. } => (1, 0, false),
        Layer::Conv3x3 { padding, .. } => (3, usize::from(padding == Padding::Same), false),
        Layer::UpConv2 { .. } => (2, 0, true),
        _ => panic!("{layer} is no convolution"),
    }
}

/// Sums and, per value, the sum of absolute products: rounding errors are relative to it.
pub struct Reference {
    pub sums: [Vec<f64>; 3],
    pub sizes: [Vec<f64>; 3],
}

impl Reference {
    fn add(&mut self, which: usize, at: usize, product: f64) {
        self.sums[which][at] += product;
        self.sizes[which][at] += product.abs();
    }
}

/// Output, gradient of the input and gradient of the parameters of [`Case::run`].
pub fn reference(case: &Case, out: Shape) -> Reference {
    let parameters = numbers(1, case.network().parameter_count());
    let images = numbers(2, case.batch * case.shape().len());
    let cotangent = numbers(3, case.batch * out.len());
    let lengths = [cotangent.len(), images.len(), parameters.len()];
    let mut found = Reference {
        sums: lengths.map(|length| vec![0.0; length]),
        sizes: lengths.map(|length| vec![0.0; length]),
    };
    let (kernel, frame, is_up) = geometry(&case.layer);
    let (inputs, outputs) = (case.channels, out.channels);
    let bias = parameters.len() - outputs;
    let parts = |values: &[f32]| values.iter().map(|&v| split(v)).collect::<Vec<_>>();
    let [images, gradient, weights] = [&images, &cotangent, &parameters].map(|v| parts(v));
    for sample in 0..case.batch {
        for output in 0..outputs {
            for y in 0..out.height_px {
                for x in 0..out.width_px {
                    let to = ((sample * outputs + output) * out.height_px + y) * out.width_px + x;
                    // The bias and its gradient are f32.
                    found.add(0, to, f64::from(parameters[bias + output]));
                    found.add(2, bias + output, f64::from(cotangent[to]));
                    for tap in 0..kernel * kernel {
                        let (ky, kx) = (tap / kernel, tap % kernel);
                        let (sy, sx) = if is_up {
                            if (y % 2, x % 2) != (ky, kx) {
                                continue;
                            }
                            (y / 2, x / 2)
                        } else {
                            ((y + ky).wrapping_sub(frame), (x + kx).wrapping_sub(frame))
                        };
                        if sy >= case.height || sx >= case.width {
                            continue;
                        }
                        for input in 0..inputs {
                            let from =
                                ((sample * inputs + input) * case.height + sy) * case.width + sx;
                            let pair = if is_up {
                                input * outputs + output
                            } else {
                                output * inputs + input
                            };
                            let weight = pair * kernel * kernel + tap;
                            let ([x, x_rest], [w, w_rest]) = (images[from], weights[weight]);
                            found.add(0, to, x * w + x_rest * w + x * w_rest);
                            found.add(1, from, gradient[to][0] * w);
                            found.add(2, weight, gradient[to][0] * x);
                        }
                    }
                }
            }
        }
    }
    found
}
