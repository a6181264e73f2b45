//! Ranks: processes that train one model together, each on its part of every batch.
//!
//! A batch has a fixed number of shards, and every rank holds equally many of them. What a step needs of all images (gradients,
//! statistics of a batch norm, means of losses) is computed shard by shard and added up pairwise: shard 0 to shard 1, 2 to 3, the
//! sum of these two to each other. A rank's own shards are neighbours in that tree, so that any number of ranks, one among them,
//! gives the same sums to the bit.

mod communicator;
mod pairwise;
mod threads;

pub use communicator::{Alone, Communicator};
pub use pairwise::Number;
pub(crate) use pairwise::sum_rows;
pub use threads::ThreadCommunicator;

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use burn::tensor::Tensor;

use crate::Error;
use pairwise::{from_bytes, to_bytes};

/// Values that are sent to everyone whole: cutting them up would cost more.
const SMALL: usize = 4096;

/// What ends a message: it holds what was asked for.
const DATA: u8 = 0;
/// What ends a message: its sender stops, and the message says why.
const STOP: u8 = 1;

/// The ranks of a training, as one of them sees it. Everything that talks to the others must be called by all of them, in the
/// same order.
#[derive(Clone, Debug)]
pub struct Ranks {
    communicator: Arc<dyn Communicator>,
    shards: usize,
    traffic: Arc<Mutex<Traffic>>,
}

/// What talking to the other ranks has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes that this rank has sent to others.
    pub bytes: u64,
    /// Time in which it did nothing else, waiting for slower ranks included.
    pub time: Duration,
}

impl Default for Ranks {
    fn default() -> Self {
        Self {
            communicator: Arc::new(Alone),
            shards: Self::SHARDS,
            traffic: Arc::default(),
        }
    }
}

impl Ranks {
    /// Shards of a batch unless a recipe says otherwise, and so the most ranks.
    pub const SHARDS: usize = 4;

    /// Ranks that share `shards` shards of each batch.
    ///
    /// # Errors
    /// When the shards are not a power of two or cannot be dealt out evenly.
    pub fn new(communicator: Arc<dyn Communicator>, shards: usize) -> Result<Self, Error> {
        let size = communicator.size();
        if !shards.is_power_of_two() || !shards.is_multiple_of(size) {
            let requirement = format!(
                "a power of two and a multiple of the number of ranks ({size}); it is {shards}"
            );
            return Err(Error::Setting {
                name: "shards",
                requirement: requirement.into(),
            });
        }
        Ok(Self {
            communicator,
            shards,
            traffic: Arc::default(),
        })
    }

    /// Number of this one, from 0.
    pub fn rank(&self) -> usize {
        self.communicator.rank()
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        self.communicator.size()
    }

    /// Shards of this rank.
    pub fn own_shards(&self) -> usize {
        self.shards / self.size()
    }

    /// The images of a batch that are this rank's.
    ///
    /// # Errors
    /// When they cannot be dealt out evenly.
    pub fn own_images(&self, batch: usize) -> Result<Range<usize>, Error> {
        if !batch.is_multiple_of(self.size()) {
            let requirement = format!("a multiple of the number of ranks ({})", self.size());
            return Err(Error::Setting {
                name: "batch",
                requirement: requirement.into(),
            });
        }
        let own = batch / self.size();
        Ok(self.rank() * own..(self.rank() + 1) * own)
    }

    /// Sums over all shards of all ranks, to the bit the same on each.
    ///
    /// # Shapes
    /// - `rows`: `[shards of this rank, length]`; one row is the sum of this rank's shards
    /// - output: `[length]`
    ///
    /// # Errors
    /// When a rank stops or is lost.
    pub fn sum<N: Number>(&self, rows: Vec<N>, length: usize) -> Result<Vec<N>, Error> {
        let own = sum_rows(rows, length);
        let size = self.size();
        if size == 1 {
            return Ok(own);
        }
        if length < SMALL {
            let rows = self.gather(to_bytes(&own))?;
            return Ok(sum_rows(from_bytes(&rows, size * length)?, length));
        }
        // Each rank adds up one slice, and shows it to the others.
        let start = |rank: usize| rank * length / size;
        let messages = (0..size).map(|rank| to_bytes(&own[start(rank)..start(rank + 1)]));
        let rows = self.exchange(messages.collect())?;
        let slice = start(self.rank() + 1) - start(self.rank());
        let slice = sum_rows(from_bytes::<N>(&rows, size * slice)?, slice);
        let slices = self.gather(to_bytes(&slice))?;
        from_bytes(&slices, length)
    }

    /// What rank 0 has.
    ///
    /// # Errors
    /// When a rank stops or is lost.
    pub fn broadcast(&self, bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
        let bytes = if self.rank() == 0 { bytes } else { Vec::new() };
        let mut all = self.gather(bytes)?;
        Ok(std::mem::take(&mut all[0]))
    }

    /// What each rank has.
    ///
    /// # Errors
    /// When a rank stops or is lost.
    pub fn gather(&self, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>, Error> {
        self.exchange(vec![bytes; self.size()])
    }

    /// Tells the others, who wait for this rank or will, that it stops, and why; `code` is what its process ends with.
    pub fn stop(&self, code: u8, message: &str) {
        let mut last = message.as_bytes().to_vec();
        last.extend([code, STOP]);
        // Whoever does not hear it any more has stopped already.
        let _ = self.communicator.exchange(vec![last; self.size()]);
    }

    /// This rank's share of the mean over the images of all ranks: the sum over its own, divided by the number of all.
    ///
    /// # Shapes
    /// - `losses`: `[images of this rank]`
    /// - output: `[1]`
    pub fn mean(&self, losses: Tensor<1>) -> Tensor<1> {
        let images = losses.dims()[0] * self.size();
        losses.sum() / images.max(1) as f64
    }

    /// The mean of `[values of this rank]` over all ranks.
    ///
    /// # Errors
    /// When the device cannot be read, or a rank stops or is lost.
    pub fn mean_value(&self, values: Tensor<1>) -> Result<f32, Error> {
        let values = values.detach().try_into_vec_as::<f32>()?;
        let count = values.len() * self.size();
        Ok((self.total(&values)? / count.max(1) as f64) as f32)
    }

    /// The sum of all ranks' values.
    ///
    /// # Errors
    /// When a rank stops or is lost.
    pub fn total(&self, values: &[f32]) -> Result<f64, Error> {
        let shards = self.own_shards();
        let bound = |shard: usize| shard * values.len() / shards;
        let rows = (0..shards).map(|shard| {
            let own = &values[bound(shard)..bound(shard + 1)];
            own.iter().map(|&value| f64::from(value)).sum()
        });
        Ok(self.sum(rows.collect(), 1)?[0])
    }

    /// The largest of all ranks' numbers.
    ///
    /// # Errors
    /// When a rank stops or is lost.
    pub fn largest(&self, own: usize) -> Result<usize, Error> {
        let all = self.gather((own as u64).to_le_bytes().to_vec())?;
        let numbers = all
            .iter()
            .filter_map(|bytes| bytes.as_slice().try_into().ok());
        let largest = numbers.map(u64::from_le_bytes).max().unwrap_or(0);
        Ok(usize::try_from(largest).unwrap_or(usize::MAX))
    }

    /// What talking has cost since the last time that this was asked.
    pub fn take_traffic(&self) -> Traffic {
        std::mem::take(&mut *self.traffic.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn exchange(&self, mut messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error> {
        if self.size() == 1 {
            return Ok(messages);
        }
        let others = (0..)
            .zip(&messages)
            .filter(|(rank, _)| *rank != self.rank());
        let bytes: usize = others.map(|(_, message)| message.len()).sum();
        messages.iter_mut().for_each(|message| message.push(DATA));
        let begun = Instant::now();
        let received = self.communicator.exchange(messages)?;
        let mut traffic = self.traffic.lock().unwrap_or_else(PoisonError::into_inner);
        traffic.bytes += bytes as u64;
        traffic.time += begun.elapsed();
        (0..)
            .zip(received)
            .map(|(rank, message)| opened(rank, message))
            .collect()
    }
}

/// The content of a message, or why its sender stopped.
fn opened(rank: usize, mut message: Vec<u8>) -> Result<Vec<u8>, Error> {
    match message.pop() {
        Some(DATA) => Ok(message),
        Some(STOP) => {
            let code = message.pop().unwrap_or(1);
            let message = String::from_utf8_lossy(&message).into_owned();
            Err(Error::RankStopped {
                rank,
                code,
                message,
            })
        }
        _ => Err(Error::LostRank(format!(
            "rank {rank} sent no message that can be read"
        ))),
    }
}

#[cfg(test)]
mod tests;
