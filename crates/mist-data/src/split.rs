//! Training, validation and test data.

use std::fmt;

/// Which share of the data a scene is drawn from; shares never mix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Split {
    /// The first 55,000 MNIST training digits.
    Train,
    /// The last 5,000 MNIST training digits.
    Valid,
    /// The 10,000 MNIST test digits.
    Test,
}

impl Split {
    /// Every split.
    pub const ALL: [Split; 3] = [Split::Train, Split::Valid, Split::Test];

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Split::Train => "train",
            Split::Valid => "valid",
            Split::Test => "test",
        }
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
