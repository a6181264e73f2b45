//! Checkpoints: the training's state behind a checksum, newest and one before.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::whole_file;
use crate::error::{AtPath, Error, Result};

const MAGIC: &[u8; 8] = b"MISTCKP1";
const DIGEST_LEN: usize = 32;
const LAST: &str = "last.ckpt";
const PREVIOUS: &str = "previous.ckpt";
/// Where the next one is written before it becomes the last.
const NEXT: &str = "next.ckpt";
/// The newest first: a kill between the renames of [`Checkpoints::save`] leaves it under its first name.
const NAMES: [&str; 3] = [NEXT, LAST, PREVIOUS];

/// The checkpoints of one run.
#[derive(Clone, Debug)]
pub struct Checkpoints {
    directory: PathBuf,
}

impl Checkpoints {
    /// Those in a directory, which must exist.
    pub fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    /// Saves a state; the one before stays until this one is safe.
    ///
    /// # Errors
    /// When the disk is full or not writable.
    pub fn save(&self, state: &[u8]) -> Result<()> {
        let aside = self.directory.join(NEXT);
        whole_file::write(&aside, &sealed(state))?;
        let last = self.directory.join(LAST);
        let rename = |from: &Path, to: &Path| fs::rename(from, to).at("write", to);
        if last.try_exists().at("read", &last)? {
            rename(&last, &self.directory.join(PREVIOUS))?;
        }
        rename(&aside, &last)?;
        whole_file::sync_directory(&self.directory).at("write", &last)
    }

    /// Whether there are any, damaged ones too.
    pub fn exist(&self) -> bool {
        NAMES.iter().any(|name| self.directory.join(name).exists())
    }

    /// The newest whole state and where it was; damaged ones are passed over, and `warn` hears of each.
    ///
    /// # Errors
    /// When checkpoints are there and none is whole.
    pub fn load(&self, mut warn: impl FnMut(String)) -> Result<Option<(Vec<u8>, PathBuf)>> {
        let mut damaged = Vec::new();
        for name in NAMES {
            let path = self.directory.join(name);
            let bytes = match fs::read(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                bytes => bytes.at("read", &path)?,
            };
            match opened(&bytes) {
                Some(state) => return Ok(Some((state.to_vec(), path))),
                None => {
                    warn(format!(
                        "{} is damaged, trying an older one",
                        path.display()
                    ));
                    damaged.push(name);
                }
            }
        }
        if damaged.is_empty() {
            return Ok(None);
        }
        Err(Error::DamagedCheckpoint(format!(
            "no checkpoint in {} is whole ({} damaged); start the training anew",
            self.directory.display(),
            damaged.join(", ")
        )))
    }
}

fn sealed(state: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MAGIC.len() + DIGEST_LEN + state.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&Sha256::digest(state));
    bytes.extend_from_slice(state);
    bytes
}

fn opened(bytes: &[u8]) -> Option<&[u8]> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (digest, state) = rest.split_at_checked(DIGEST_LEN)?;
    (Sha256::digest(state).as_slice() == digest).then_some(state)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Fault;

    fn checkpoints() -> (tempfile::TempDir, Checkpoints) {
        let directory = tempfile::tempdir().unwrap();
        let checkpoints = Checkpoints::new(directory.path().to_owned());
        (directory, checkpoints)
    }

    fn newest(checkpoints: &Checkpoints) -> Vec<u8> {
        checkpoints.load(|_| ()).unwrap().unwrap().0
    }

    #[test]
    fn the_newest_is_loaded() {
        let (_directory, checkpoints) = checkpoints();
        assert!(checkpoints.load(|_| ()).unwrap().is_none());
        for state in [b"one".as_slice(), b"two", b"three"] {
            checkpoints.save(state).unwrap();
            assert_eq!(newest(&checkpoints), state);
        }
    }

    #[test]
    fn any_flipped_byte_is_noticed_and_the_one_before_is_used() {
        let (directory, checkpoints) = checkpoints();
        checkpoints.save(b"one").unwrap();
        checkpoints.save(b"two").unwrap();
        let path = directory.path().join(LAST);
        let whole = fs::read(&path).unwrap();
        for index in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[index] ^= 0x10;
            fs::write(&path, &bytes).unwrap();
            let mut warnings = 0;
            let (state, from) = checkpoints.load(|_| warnings += 1).unwrap().unwrap();
            assert_eq!((state.as_slice(), warnings), (b"one".as_slice(), 1));
            assert!(from.ends_with(PREVIOUS));
        }
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert_eq!(newest(&checkpoints), b"one");
    }

    proptest! {
        #[test]
        fn whatever_a_checkpoint_holds_is_a_state_or_damaged(
            begins_right in any::<bool>(),
            rest in prop::collection::vec(any::<u8>(), 0..100),
        ) {
            let (directory, checkpoints) = checkpoints();
            let begin: &[u8] = if begins_right { MAGIC } else { b"" };
            fs::write(directory.path().join(LAST), [begin, &rest].concat()).unwrap();
            let error = checkpoints.load(|_| ()).unwrap_err();
            prop_assert_eq!(error.fault(), Fault::DamagedCheckpoint);
            fs::write(directory.path().join(LAST), sealed(&rest)).unwrap();
            prop_assert_eq!(newest(&checkpoints), rest);
        }
    }

    #[test]
    fn when_all_are_damaged_it_says_so() {
        let (directory, checkpoints) = checkpoints();
        checkpoints.save(b"one").unwrap();
        fs::write(directory.path().join(LAST), b"MISTCKP1").unwrap();
        let error = checkpoints.load(|_| ()).unwrap_err();
        assert_eq!(error.fault(), Fault::DamagedCheckpoint);
    }

    #[test]
    fn a_kill_between_the_renames_loses_nothing() {
        let (directory, checkpoints) = checkpoints();
        checkpoints.save(b"one").unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("next.ckpt"), sealed(b"two")).unwrap();
        assert_eq!(newest(&checkpoints), b"two");
        fs::rename(at(LAST), at(PREVIOUS)).unwrap();
        assert_eq!(newest(&checkpoints), b"two");
    }
}
