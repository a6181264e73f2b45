//! Data sets by name.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::Dataset;
use crate::error::{RequestError, Result};
use crate::kind::SceneKind;
use crate::mnist::{Digits, locate};
use crate::photographs::{self, PhotoDataset};
use crate::set::SceneSet;
use crate::split::Split;

/// Opens data sets by name; MNIST is looked for when a set needs it, and read once.
#[derive(Debug, Default)]
pub struct Catalog {
    data: Option<PathBuf>,
    digits: Mutex<Option<Arc<Digits>>>,
}

impl Catalog {
    /// Looks for files in a directory alone if one is given, else where [`locate`] says.
    pub fn new(data: Option<&Path>) -> Self {
        Self {
            data: data.map(Path::to_owned),
            digits: Mutex::default(),
        }
    }

    /// The data set of a name: [`crate::VOC_CROPS`], [`crate::VOC_COCO`], or that of a scene kind, such as `hard`.
    pub fn open(&self, name: &str, seed: u64, split: Split) -> Result<Arc<dyn Dataset>> {
        if let Some(names) = photographs::file_of(name) {
            let data = self.data.as_deref();
            return Ok(Arc::new(PhotoDataset::open(names, data, seed, split)?));
        }
        let kind: SceneKind = name.parse().map_err(RequestError::from)?;
        Ok(Arc::new(self.scenes(kind, seed, split)?))
    }

    /// What the classes of the data set of a name are called, by label; its files are not needed for that.
    pub fn class_names(name: &str) -> Result<Vec<String>> {
        if photographs::file_of(name).is_some() {
            return Ok(photographs::class_names());
        }
        let kind: SceneKind = name.parse().map_err(RequestError::from)?;
        let names = kind.class_names().iter();
        Ok(names.map(|&name| name.to_owned()).collect())
    }

    /// The scenes of a kind.
    pub fn scenes(&self, kind: SceneKind, seed: u64, split: Split) -> Result<SceneSet> {
        let digits = match kind.needs_digits() {
            true => Some(self.digits()?),
            false => None,
        };
        SceneSet::new(kind, seed, split, digits)
    }

    /// The MNIST digits.
    pub fn digits(&self) -> Result<Arc<Digits>> {
        // Digits are put there whole, so that a panic elsewhere leaves nothing half done.
        let mut digits = self.digits.lock().unwrap_or_else(PoisonError::into_inner);
        match &*digits {
            Some(read) => Ok(read.clone()),
            None => {
                let directory = locate(self.data.as_deref())?;
                let read = Arc::new(Digits::open(&directory)?);
                *digits = Some(read.clone());
                Ok(read)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn names_lead_to_sets_and_mnist_is_looked_for_where_it_is_needed() {
        let empty = tempfile::tempdir().unwrap();
        let catalog = Catalog::new(Some(empty.path()));
        let glyphs = catalog.open("glyphs", 1, Split::Valid).unwrap();
        assert_eq!(glyphs.name(), "glyphs valid");
        assert!(matches!(
            catalog.open("hard", 1, Split::Valid).unwrap_err(),
            Error::Request(RequestError::MnistNotFound { .. })
        ));
        let error = catalog.open("glyhps", 1, Split::Valid).unwrap_err();
        assert!(error.to_string().contains("did you mean `glyphs`"));
    }
}
