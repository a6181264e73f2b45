//! Whether the other ranks live: all of them and rank 0 tell each other, twice a second.

use std::time::{Duration, Instant};

use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Source};

use crate::BEAT as TAG;
use crate::flight::Flight;

/// Heartbeats of this rank and those that it listens to.
pub struct Watch {
    timeout: Duration,
    last_beat: Option<Instant>,
    /// When each rank was heard last; of ranks that this one does not listen to, never.
    heard: Vec<Option<Instant>>,
    hosts: Vec<String>,
    /// When this rank looked last: what it slept through is nobody's silence.
    looked: Instant,
}

impl Watch {
    pub fn new(world: &SimpleCommunicator, timeout: Duration, host: &str) -> Self {
        let (own, size) = (world.rank(), world.size());
        let listens = |rank| rank != own && (own == 0 || rank == 0);
        let now = Instant::now();
        Self {
            timeout,
            last_beat: None,
            heard: (0..size).map(|rank| listens(rank).then_some(now)).collect(),
            hosts: hosts(world, host),
            looked: now,
        }
    }

    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Shows that this rank lives and looks who else does; ranks that have said goodbye may be silent.
    pub fn beat(&mut self, world: &SimpleCommunicator, goodbyes: &[bool]) -> Result<(), String> {
        let now = Instant::now();
        if now.duration_since(self.looked) > self.timeout / 2 {
            // This process was stopped or starved: others get the time again to be heard.
            self.heard
                .iter_mut()
                .flatten()
                .for_each(|heard| *heard = now);
        }
        self.looked = now;
        let due = |last: Instant| now.duration_since(last) >= mist_mpi::BEAT;
        if self.last_beat.is_none_or(due) {
            self.last_beat = Some(now);
            for rank in (0..)
                .zip(&self.heard)
                .filter_map(|(rank, heard)| heard.map(|_| rank))
            {
                Flight::to(&world.process_at_rank(rank), Vec::new(), TAG).forget();
            }
        }
        for (rank, heard) in self.heard.iter_mut().enumerate() {
            let Some(heard) = heard else { continue };
            let from = world.process_at_rank(rank as i32);
            while let Some(message) = from.immediate_matched_probe_with_tag(TAG) {
                Flight::of(message).forget();
                *heard = now;
            }
            let silence = now.duration_since(*heard);
            if silence > self.timeout && !goodbyes[rank] {
                let (host, seconds) = (&self.hosts[rank], silence.as_secs_f32());
                return Err(format!(
                    "rank {rank} on {host} has been silent for {seconds:.0} s: it was killed, hangs or is cut off"
                ));
            }
        }
        Ok(())
    }
}

/// Where each rank runs.
fn hosts(world: &SimpleCommunicator, own: &str) -> Vec<String> {
    use mpi::traits::CommunicatorCollectives;
    const LEN: usize = 64;
    let mut name = [0u8; LEN];
    let length = own.len().min(LEN);
    name[..length].copy_from_slice(&own.as_bytes()[..length]);
    let mut all = vec![0u8; LEN * world.size() as usize];
    world.all_gather_into(&name[..], &mut all[..]);
    all.chunks_exact(LEN)
        .map(|name| {
            let text = String::from_utf8_lossy(name);
            text.trim_end_matches('\0').to_owned()
        })
        .collect()
}
