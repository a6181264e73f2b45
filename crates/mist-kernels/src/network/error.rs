//! What can be wrong with a description or its input.

use super::Shape;

/// A description that cannot be run, or an input it cannot read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// A width of zero.
    #[error("layer {layer} has no channels")]
    NoChannels {
        /// Index of the layer.
        layer: usize,
    },
    /// Batch norm is defined on the network's input only.
    #[error("layer {layer} is a batch norm, which may only normalise the network's input")]
    BatchNormInside {
        /// Index of the layer.
        layer: usize,
    },
    /// The input's channels differ from the description's.
    #[error("the network reads {expected} channels, the input has {actual}")]
    InputChannels {
        /// Channels declared.
        expected: usize,
        /// Channels given.
        actual: usize,
    },
    /// The map that reaches a layer has the wrong size for it.
    #[error("layer {layer} ({description}) cannot read a map of {input}; change the input's size")]
    InputTooSmall {
        /// Index of the layer.
        layer: usize,
        /// The layer in words.
        description: String,
        /// What reached it.
        input: Shape,
    },
}
