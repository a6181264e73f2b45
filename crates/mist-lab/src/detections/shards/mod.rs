//! Parts of a detection that several machines do.

mod environment;
mod file;
mod merge;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub(super) use file::{ShardFile, ShardHeader};
pub use merge::{MergeRequest, merge};

/// Part `i` of `n`, written `i/n` with `i` from 1 to `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// From 0.
    index: u64,
    count: u64,
}

impl Shard {
    /// Part `index`, from 0, of `count`; `None` if there is no such part.
    pub fn new(index: u64, count: u64) -> Option<Self> {
        (index < count).then_some(Self { index, count })
    }

    /// Whether a file belongs to this part: by a hash of its path as it was given, whatever else there is.
    pub fn holds(self, path: &Path) -> bool {
        let digest = Sha256::digest(path.as_os_str().as_encoded_bytes());
        let number = digest
            .iter()
            .take(8)
            .fold(0, |number, &byte| (number << 8) | u64::from(byte));
        number % self.count == self.index
    }

    /// Whether it is part 1.
    pub fn is_first(self) -> bool {
        self.index == 0
    }

    /// Where its results go: beside the file or directory that all parts will make.
    pub fn file(self, out: &Path) -> PathBuf {
        let mut name = out.as_os_str().to_owned();
        name.push(format!(".shard-{}-of-{}", self.index + 1, self.count));
        name.into()
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.index + 1, self.count)
    }
}

/// Which part a command line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardChoice {
    /// `i/n`.
    Part(Shard),
    /// `auto/n`: of `n` parts the one that the environment says.
    AutoOf(u64),
}

impl FromStr for ShardChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || {
            format!(
                "`{text}` is no part such as `1/4` (to `4/4`), or `auto/4` for the environment's"
            )
        };
        let (part, count) = text.split_once('/').ok_or_else(expected)?;
        let count: u64 = count.parse().map_err(|_| expected())?;
        if part == "auto" && count > 0 {
            return Ok(Self::AutoOf(count));
        }
        let part: u64 = part.parse().map_err(|_| expected())?;
        let shard = part
            .checked_sub(1)
            .and_then(|index| Shard::new(index, count));
        shard.map(Self::Part).ok_or_else(expected)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_belongs_to_one_part_for_ever() {
        let shards: Vec<Shard> = (0..3).map(|index| Shard::new(index, 3).unwrap()).collect();
        let mut sizes = [0; 3];
        for number in 0..300 {
            let path = PathBuf::from(format!("images/{number}.png"));
            let owners: Vec<usize> = (0..3).filter(|&part| shards[part].holds(&path)).collect();
            assert_eq!(owners.len(), 1);
            sizes[owners[0]] += 1;
        }
        assert!(sizes.iter().all(|&size| size > 60), "{sizes:?}");
        // Other parts may have been done by another build.
        for (number, owner) in [1, 2, 0, 1, 2].into_iter().enumerate() {
            let path = PathBuf::from(format!("images/{number}.png"));
            assert!(shards[owner].holds(&path), "{number}");
        }
    }

    #[test]
    fn parts_count_from_one() {
        let parse = |text: &str| text.parse::<ShardChoice>();
        assert_eq!(
            parse("4/4"),
            Ok(ShardChoice::Part(Shard::new(3, 4).unwrap()))
        );
        assert_eq!(parse("auto/4"), Ok(ShardChoice::AutoOf(4)));
        for wrong in ["0/4", "5/4", "1", "1/0", "auto/0", "a/b", "-1/2", ""] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
        let shard = Shard::new(0, 4).unwrap();
        assert_eq!(shard.to_string(), "1/4");
        assert_eq!(
            shard.file(Path::new("a/x.csv")),
            Path::new("a/x.csv.shard-1-of-4")
        );
    }
}
