//! The four files of MNIST.

use super::idx::Contents;

/// One of the four files, with the SHA-256 of its *unpacked* contents.
///
/// The gzip files in circulation differ, because they were packed by different programs; what is in
/// them does not. Pinning the contents accepts every honest copy and no other.
#[derive(Debug)]
pub(crate) struct MnistFile {
    /// Name of the unpacked file.
    pub name: &'static str,
    pub contents: Contents,
    pub count: usize,
    pub sha256: &'static str,
}

impl MnistFile {
    /// Name of the file on disk.
    pub fn packed_name(&self) -> String {
        format!("{}.gz", self.name)
    }

    /// Length of the unpacked file.
    pub fn unpacked_len(&self) -> usize {
        self.contents.header_len() + self.count * self.contents.item_len()
    }
}

pub(crate) const TRAIN_IMAGES: MnistFile = MnistFile {
    name: "train-images-idx3-ubyte",
    contents: Contents::Frames,
    count: 60_000,
    sha256: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
};

pub(crate) const TRAIN_LABELS: MnistFile = MnistFile {
    name: "train-labels-idx1-ubyte",
    contents: Contents::Labels,
    count: 60_000,
    sha256: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
};

pub(crate) const TEST_IMAGES: MnistFile = MnistFile {
    name: "t10k-images-idx3-ubyte",
    contents: Contents::Frames,
    count: 10_000,
    sha256: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
};

pub(crate) const TEST_LABELS: MnistFile = MnistFile {
    name: "t10k-labels-idx1-ubyte",
    contents: Contents::Labels,
    count: 10_000,
    sha256: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
};

pub(crate) const ALL: [&MnistFile; 4] = [&TRAIN_IMAGES, &TRAIN_LABELS, &TEST_IMAGES, &TEST_LABELS];
