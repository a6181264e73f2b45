//! What the ranks of a training must have in common before it starts.

use std::sync::Arc;

use mist::networks::Precision;
use mist::ranks::Ranks;
use mist_data::Dataset;
use mist_kernels::simd::Isa;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::TrainOptions;
use crate::error::{Error, Result};
use crate::recipe::Recipe;

/// Items of a data set that are compared where it has no fingerprint.
const COMPARED: u64 = 2;

/// What is to be trained, the same on every rank.
pub(super) struct Plan {
    pub recipe: Recipe,
    /// The checkpoint to go on from; empty without one.
    pub state: Vec<u8>,
    pub ranks: Ranks,
}

/// What rank 0 says first.
#[derive(Debug, Serialize, Deserialize)]
struct Terms {
    version: String,
    /// Checksum of the program.
    program: String,
    /// What numbers are computed with: others round in another way.
    arithmetic: String,
    recipe: String,
}

impl Terms {
    fn here(recipe: &Recipe) -> Result<Self> {
        let (isa, precision) = (Isa::selected()?, Precision::selected());
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            program: program_checksum(),
            arithmetic: format!("{isa} {precision:?}"),
            recipe: recipe.to_toml()?,
        })
    }

    /// The first thing in which another rank differs.
    fn difference(&self, other: &Self) -> Option<String> {
        let pairs = [
            ("version", &self.version, &other.version),
            ("program's checksum", &self.program, &other.program),
            ("instruction set", &self.arithmetic, &other.arithmetic),
        ];
        for (what, here, there) in pairs {
            if here != there {
                return Some(format!("its {what} is `{here}`, rank 0 has `{there}`"));
            }
        }
        let lines = self.recipe.lines().zip(other.recipe.lines());
        let mut different = lines.filter(|(here, there)| here != there);
        match different.next() {
            Some((here, there)) => Some(format!(
                "its recipe says `{here}`, that of rank 0 `{there}`"
            )),
            None if self.recipe != other.recipe => {
                Some("its recipe is not that of rank 0".to_owned())
            }
            None => None,
        }
    }
}

impl Plan {
    /// Rank 0 says what is to be trained.
    pub fn share(recipe: &Recipe, state: Vec<u8>, options: &TrainOptions) -> Result<Self> {
        let ranks = Ranks::new(Arc::clone(&options.communicator), recipe.shards)?;
        ranks.broadcast(serde_json::to_vec(&Terms::here(recipe)?)?)?;
        Ok(Self {
            recipe: recipe.clone(),
            state: ranks.broadcast(state)?,
            ranks,
        })
    }

    /// The others hear it, and compare it with what they were told.
    pub fn hear(own: Option<&Recipe>, options: &TrainOptions) -> Result<Self> {
        // Until the recipe is known: as many shards as there are ranks, or the next power of two.
        let shards = options.communicator.size().next_power_of_two();
        let ranks = Ranks::new(Arc::clone(&options.communicator), shards)?;
        let terms = ranks.broadcast(Vec::new())?;
        let terms: Terms = serde_json::from_slice(&terms)?;
        let recipe = Recipe::from_resolved(&terms.recipe)?;
        let here = Terms::here(own.unwrap_or(&recipe))?;
        if let Some(difference) = here.difference(&terms) {
            return Err(Error::Usage(format!(
                "rank {} cannot take part: {difference}",
                ranks.rank()
            )));
        }
        let ranks = Ranks::new(Arc::clone(&options.communicator), recipe.shards)?;
        Ok(Self {
            recipe,
            state: ranks.broadcast(Vec::new())?,
            ranks,
        })
    }
}

/// Of the file that this process runs; empty where the system does not show it.
fn program_checksum() -> String {
    let bytes = std::env::current_exe().and_then(std::fs::read);
    let digest = bytes.map(|bytes| Sha256::digest(bytes)[..8].to_vec());
    let hex = digest.unwrap_or_default().into_iter();
    hex.map(|byte| format!("{byte:02x}")).collect()
}

/// Refuses ranks that see different data.
pub(super) fn same_data(ranks: &Ranks, datasets: [&dyn Dataset; 2]) -> Result<()> {
    if ranks.size() == 1 {
        return Ok(());
    }
    let mut hash = Sha256::new();
    for dataset in datasets {
        hash.update(format!("{} {:?}", dataset.name(), dataset.len()));
        match dataset.fingerprint() {
            Some(fingerprint) => hash.update(fingerprint),
            None => {
                for index in 0..dataset.len().unwrap_or(COMPARED).min(COMPARED) {
                    let item = dataset.item(index)?;
                    let pixels = item.image.pixels.iter();
                    hash.update(
                        pixels
                            .flat_map(|pixel| pixel.to_le_bytes())
                            .collect::<Vec<u8>>(),
                    );
                }
            }
        }
    }
    let seen = ranks.gather(hash.finalize().to_vec())?;
    match seen.iter().position(|one| *one != seen[0]) {
        None => Ok(()),
        Some(rank) => Err(Error::Usage(format!(
            "rank {rank} sees other data than rank 0: give all ranks the same files (`--data`, `--images`)"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use mist::ranks::{Communicator, ThreadCommunicator};
    use mist_data::{Catalog, Split};

    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let terms = |version: &str, program: &str, recipe: &str| Terms {
            version: version.to_owned(),
            program: program.to_owned(),
            arithmetic: "avx2 Auto".to_owned(),
            recipe: recipe.to_owned(),
        };
        let first = terms("1", "a", "seed = 1\nsteps = 2\n");
        let difference = |other: Terms| other.difference(&first).unwrap_or_default();
        assert_eq!(difference(terms("1", "a", "seed = 1\nsteps = 2\n")), "");
        assert!(difference(terms("2", "a", "")).contains("version is `2`"));
        assert!(difference(terms("1", "b", "")).contains("checksum"));
        let steps = difference(terms("1", "a", "seed = 1\nsteps = 3\n"));
        assert!(
            steps.contains("`steps = 3`") && steps.contains("`steps = 2`"),
            "{steps}"
        );
        assert!(!difference(terms("1", "a", "seed = 1\n")).is_empty());
    }

    #[test]
    fn a_rank_that_sees_other_data_is_named() {
        let group = ThreadCommunicator::group(4);
        let seen = |rank: ThreadCommunicator| {
            let seed = if rank.rank() == 2 { 8 } else { 7 };
            let open = |seed| {
                Catalog::new(None)
                    .open("glyphs", seed, Split::Train)
                    .unwrap()
            };
            let ranks = Ranks::new(Arc::new(rank), Ranks::SHARDS).unwrap();
            same_data(&ranks, [open(seed).as_ref(), open(0).as_ref()])
        };
        let seen = &seen;
        thread::scope(|scope| {
            let ranks: Vec<_> = group
                .into_iter()
                .map(|rank| scope.spawn(move || seen(rank)))
                .collect();
            for rank in ranks {
                let message = rank.join().unwrap().unwrap_err().to_string();
                assert!(message.contains("rank 2 sees other data"), "{message}");
            }
        });
    }
}
