//! Errors of network descriptions and their inputs.

use std::fmt::Display;

use super::Shape;

/// A description that cannot be run, or an input that it cannot read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// An input or a layer without channels.
    #[error("layer {layer} has no channels")]
    NoChannels {
        /// Index of the layer.
        layer: usize,
    },
    /// A size above its limit.
    #[error("{what}: {actual} is more than the limit of {limit}")]
    TooLarge {
        /// What is too large.
        what: String,
        /// Its size.
        actual: u64,
        /// The largest size allowed.
        limit: u64,
    },
    /// Batch norm is defined on the network's input only.
    #[error("layer {layer} is a batch norm, which may only normalise the network's input")]
    BatchNormInside {
        /// Index of the layer.
        layer: usize,
    },
    /// A join without a branch, or a branch without a join.
    #[error("layer {layer} is a branch or a join that has no counterpart")]
    Unpaired {
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
    /// An input without pixels.
    #[error("the network cannot read an empty input, {input}")]
    EmptyInput {
        /// The input.
        input: Shape,
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

impl NetworkError {
    /// [`NetworkError::TooLarge`] if `actual` is above `limit`; `what` names it in the message.
    ///
    /// # Errors
    /// As said.
    pub fn at_most(what: impl Display, actual: usize, limit: usize) -> Result<(), Self> {
        if actual <= limit {
            return Ok(());
        }
        Err(Self::TooLarge {
            what: what.to_string(),
            actual: actual as u64,
            limit: limit as u64,
        })
    }
}
