//! Ranks as threads of one process.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::Communicator;
use crate::Error;

type Line = (Sender<Vec<u8>>, Mutex<Receiver<Vec<u8>>>);

/// A rank that is a thread.
#[derive(Debug)]
pub struct ThreadCommunicator {
    rank: usize,
    /// To and from each rank.
    lines: Vec<Line>,
}

impl ThreadCommunicator {
    /// So many ranks that know each other, in order.
    pub fn group(size: usize) -> Vec<Self> {
        let mut ranks: Vec<Self> = (0..size)
            .map(|rank| Self {
                rank,
                lines: Vec::new(),
            })
            .collect();
        for rank in 0..size {
            for other in 0..=rank {
                let ((to_other, from_rank), (to_rank, from_other)) = (channel(), channel());
                match other == rank {
                    true => ranks[rank].lines.push((to_other, Mutex::new(from_rank))),
                    false => {
                        ranks[rank].lines.push((to_other, Mutex::new(from_other)));
                        ranks[other].lines.push((to_rank, Mutex::new(from_rank)));
                    }
                }
            }
        }
        ranks
    }
}

impl Communicator for ThreadCommunicator {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.lines.len()
    }

    fn exchange(&self, messages: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error> {
        let lost = |rank: usize| Error::LostRank(format!("rank {rank} is gone"));
        for (rank, (message, (to, _))) in messages.into_iter().zip(&self.lines).enumerate() {
            to.send(message).map_err(|_| lost(rank))?;
        }
        let lines = self.lines.iter().enumerate();
        let received = lines.map(|(rank, (_, from))| {
            let from = from.lock().map_err(|_| lost(rank))?;
            from.recv().map_err(|_| lost(rank))
        });
        received.collect()
    }
}
