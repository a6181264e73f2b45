//! Parameters and their gradients in the order of the kernels.

use rayon::prelude::*;

use super::program::Program;
use super::store::Pool;
use crate::buffer::Buffer;
use crate::kernels::padded;

/// Where each layer's part begins in one packed buffer.
pub(super) struct PackedLayout {
    pub forward: Vec<usize>,
    pub backward: Vec<usize>,
    pub norms: Vec<usize>,
    forward_len: usize,
    backward_len: usize,
}

impl PackedLayout {
    pub fn new(program: &Program) -> Self {
        let mut forward_len = 0;
        let mut backward_len = 0;
        let place = |next: &mut usize, length: usize| {
            let start = *next;
            *next += length.next_multiple_of(16);
            start
        };
        let forward = program.convolutions.iter();
        let forward = forward
            .map(|layer| place(&mut forward_len, layer.forward_len()))
            .collect();
        let norms = program.norms.iter();
        let norms = norms
            .map(|norm| place(&mut forward_len, 2 * padded(norm.channels)))
            .collect();
        let backward = program.convolutions.iter();
        let backward = backward
            .map(|layer| place(&mut backward_len, layer.backward_len()))
            .collect();
        Self {
            forward,
            backward,
            norms,
            forward_len,
            backward_len,
        }
    }

    /// Weights, biases and norms for the forward pass.
    pub fn pack_forward(&self, program: &Program, parameters: &[f32], pool: &Pool) -> Buffer {
        let mut packed = pool.zeros(self.forward_len);
        let parts = split(&mut packed, &self.forward);
        let layers = program.convolutions.par_iter().zip(parts);
        layers.for_each(|(layer, part)| {
            layer.pack_forward(parameters, &mut part[..layer.forward_len()]);
        });
        for (norm, &start) in program.norms.iter().zip(&self.norms) {
            let channels = norm.channels;
            let values = &parameters[norm.scale_offset..][..2 * channels];
            let (scale, shift) =
                packed[start..][..2 * padded(channels)].split_at_mut(padded(channels));
            scale[..channels].copy_from_slice(&values[..channels]);
            shift[..channels].copy_from_slice(&values[channels..]);
        }
        packed
    }

    /// Transposed weights for the backward pass.
    pub fn pack_backward(&self, program: &Program, parameters: &[f32], pool: &Pool) -> Buffer {
        let mut packed = pool.zeros(self.backward_len);
        let parts = split(&mut packed, &self.backward);
        let layers = program.convolutions.par_iter().zip(parts);
        layers.for_each(|(layer, part)| {
            layer.pack_backward(parameters, &mut part[..layer.backward_len()]);
        });
        packed
    }

    /// Length of the gradients in the order of the kernels.
    pub fn gradient_len(&self) -> usize {
        self.forward_len
    }

    /// Adds packed gradients to those of the flat parameters.
    pub fn unpack_gradients(&self, program: &Program, packed: &[f32], gradients: &mut [f32]) {
        let layers = program.convolutions.par_iter().zip(&self.forward);
        let found: Vec<Vec<f32>> = layers
            .map(|(layer, &start)| layer.unpack_gradient(&packed[start..][..layer.forward_len()]))
            .collect();
        for (layer, values) in program.convolutions.iter().zip(found) {
            gradients[layer.parameters()].copy_from_slice(&values);
        }
        for (norm, &start) in program.norms.iter().zip(&self.norms) {
            let channels = norm.channels;
            let (scale, shift) = packed[start..][..2 * padded(channels)].split_at(padded(channels));
            let to = &mut gradients[norm.scale_offset..][..2 * channels];
            let values = scale[..channels].iter().chain(&shift[..channels]);
            for (sum, value) in to.iter_mut().zip(values) {
                *sum += value;
            }
        }
    }
}

/// The parts that begin at `starts`, ascending from 0.
fn split<'a>(packed: &'a mut [f32], starts: &[usize]) -> Vec<&'a mut [f32]> {
    let mut rest = packed;
    let mut parts = Vec::with_capacity(starts.len());
    for pair in starts.windows(2) {
        let (part, after) = rest.split_at_mut(pair[1] - pair[0]);
        parts.push(part);
        rest = after;
    }
    if !starts.is_empty() {
        parts.push(rest);
    }
    parts
}
