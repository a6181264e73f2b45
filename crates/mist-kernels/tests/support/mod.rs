//! What the tests of bf16 share.

use mist_kernels::executor::{Executor, InputStatistics, Wanted};
use mist_kernels::network::{Layer, Network, Padding, Shape};

/// Numbers in -1..1, a pure function of the seed.
pub fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// A layer between maps of one size.
pub struct Case {
    pub layer: Layer,
    pub batch: usize,
    pub channels: usize,
    pub height: usize,
    pub width: usize,
}

impl Case {
    pub fn network(&self) -> Network {
        Network::new(self.channels, vec![self.layer.clone()]).unwrap()
    }

    pub fn shape(&self) -> Shape {
        Shape::new(self.channels, self.height, self.width)
    }

    pub fn run(&self, executor: &Executor) -> Outcome {
        let parameters = numbers(1, self.network().parameter_count());
        let images = numbers(2, self.batch * self.shape().len());
        let output = self.batch * executor.output_shape().len();
        run(executor, &parameters, &images, &numbers(3, output))
    }
}

/// Output, gradient of the input and gradient of the parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub output: Vec<f32>,
    pub input: Vec<f32>,
    pub parameters: Vec<f32>,
}

pub fn run(executor: &Executor, parameters: &[f32], images: &[f32], cotangent: &[f32]) -> Outcome {
    let (output, tape) = executor
        .forward_with_tape(parameters, images, InputStatistics::Batch)
        .unwrap();
    let wanted = Wanted {
        input: true,
        parameters: true,
    };
    let gradients = executor
        .backward(parameters, tape, cotangent, wanted)
        .unwrap();
    Outcome {
        output,
        input: gradients.input.unwrap(),
        parameters: gradients.parameters.unwrap(),
    }
}

pub fn conv1(out_channels: usize) -> Layer {
    Layer::Conv1x1 { out_channels }
}

pub fn conv3(out_channels: usize, padding: Padding) -> Layer {
    Layer::Conv3x3 {
        out_channels,
        padding,
    }
}

pub fn up(out_channels: usize) -> Layer {
    Layer::UpConv2 { out_channels }
}
