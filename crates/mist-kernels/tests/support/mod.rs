//! What the tests of the executor share.

use mist_kernels::executor::{Executor, InputStatistics, Wanted};

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

/// Output, gradient of the input and gradient of the parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub output: Vec<f32>,
    pub input: Vec<f32>,
    pub parameters: Vec<f32>,
}

pub fn run(executor: &Executor, parameters: &[f32], images: &[f32], cotangent: &[f32]) -> Outcome {
    let (output, tape) = executor
        .forward_with_tape(parameters, images, InputStatistics::Batch, 1)
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
