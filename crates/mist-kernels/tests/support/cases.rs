//! Single convolutions of one size.

use mist_kernels::executor::Executor;
use mist_kernels::network::{Layer, Network, Padding, Shape};

use super::support::{Outcome, numbers, run};

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
