//! What sharing a training among ranks costs.

use std::sync::Arc;
use std::time::Instant;

use burn::tensor::Device;
use mist::ranks::{Communicator, Ranks};
use serde::Serialize;

use super::timing::median;
use super::workloads::shared_step;
use crate::error::Result;
use crate::machine::Machine;

/// Values of the sums that are timed, in f32.
const LENGTHS: [usize; 6] = [16, 1 << 10, 1 << 13, 1 << 16, 1 << 19, 1 << 21];
/// Sums behind each median.
const SUMS: usize = 15;

/// The official training step shared by ranks, and sums of vectors over them.
#[derive(Debug, Serialize)]
pub struct RankFigures {
    machine: Machine,
    ranks: usize,
    /// Threads of each.
    threads: usize,
    /// Median milliseconds of a step on 32 images.
    step_ms: f64,
    /// Of them, waiting for messages and for slower ranks.
    comm_ms: f64,
    /// Bytes that rank 0 sends in a step.
    comm_bytes: u64,
    sums: Vec<SumFigure>,
}

#[derive(Debug, Serialize)]
struct SumFigure {
    values: usize,
    ms: f64,
}

/// Measures as one of the ranks of a communicator; all must call it.
///
/// # Errors
/// When a rank is lost.
pub fn measure(
    device: &Device,
    communicator: Arc<dyn Communicator>,
    rounds: u16,
) -> Result<RankFigures> {
    let ranks = Ranks::new(communicator, Ranks::SHARDS)?;
    let mut step = shared_step(&device.clone().autodiff(), &ranks)?;
    step()?;
    let (mut times, mut waits, mut bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..rounds {
        ranks.gather(Vec::new())?;
        ranks.take_traffic();
        let begun = Instant::now();
        step()?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        let traffic = ranks.take_traffic();
        waits.push(traffic.time.as_secs_f64() * 1e3);
        bytes = traffic.bytes;
    }
    let lengths = LENGTHS.iter().filter(|_| ranks.size() > 1);
    let sums = lengths.map(|&values| -> Result<SumFigure> {
        let mut times = Vec::with_capacity(SUMS);
        for _ in 0..SUMS {
            let row = vec![1.0f32; values];
            ranks.gather(Vec::new())?;
            let begun = Instant::now();
            std::hint::black_box(ranks.sum(row, values)?);
            times.push(begun.elapsed().as_secs_f64() * 1e3);
        }
        let ms = median(&mut times);
        Ok(SumFigure { values, ms })
    });
    Ok(RankFigures {
        machine: Machine::here(),
        ranks: ranks.size(),
        threads: rayon::current_num_threads(),
        step_ms: median(&mut times),
        comm_ms: median(&mut waits),
        comm_bytes: bytes,
        sums: sums.collect::<Result<_>>()?,
    })
}

impl RankFigures {
    /// For people.
    pub fn to_lines(&self) -> String {
        let mut text = format!(
            "{} ranks of {} threads: {:.0} ms a step, {:.1} ms of it communication, {:.2} MB sent\n",
            self.ranks,
            self.threads,
            self.step_ms,
            self.comm_ms,
            self.comm_bytes as f64 / 1e6
        );
        for sum in &self.sums {
            text += &format!("sum of {:>8} values {:>9.3} ms\n", sum.values, sum.ms);
        }
        text
    }
}
