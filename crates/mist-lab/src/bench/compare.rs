//! `mist bench --against-pytorch`: both sides in one run, round by round.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use burn::tensor::Device;
use mist_kernels::simd::Isa;

use super::peer::Peer;
use super::report::{Comparison, Memory, Peaks, Row};
use super::timing::median;
use super::workloads::Workload;
use crate::error::{Error, Result};
use crate::machine::{self, Machine};
use crate::observer::Observer;

/// Runs per setting when looking for the peer's best one.
const TRIAL_RUNS: usize = 3;

/// How to compare.
pub struct CompareOptions<'a> {
    /// What to run on both sides.
    pub workloads: &'a [Workload],
    /// Where ours is computed.
    pub device: Device,
    /// Rounds behind each median.
    pub rounds: u16,
    /// The Python that has PyTorch.
    pub python: PathBuf,
    /// Peak memory in MB of a process of ours that takes [`Workload::TrainStep`] and nothing else.
    pub train_step_memory_mb: &'a dyn Fn() -> Result<f64>,
}

/// Compares the workloads and the memory of a training step with PyTorch's, round by round.
///
/// # Errors
/// When PyTorch cannot be run, or the device fails.
pub fn compare(options: &CompareOptions, observer: &mut dyn Observer) -> Result<Comparison> {
    let isa = Isa::selected()?;
    let peaks = Peaks {
        f32_gflops: isa.measured_peak_gflops()?,
        amx_gflops: isa.measured_tile_peak_gflops(),
    };
    observer.message(&format!("{isa}: {:.0} GFLOP/s at most", peaks.f32_gflops));
    let mut peer = Peer::start(&options.python)?;
    let hello = peer.hello()?;
    observer.message(&format!(
        "peer: PyTorch {} on {} threads",
        hello.torch, hello.threads
    ));
    let mut rows = BTreeMap::new();
    for &workload in options.workloads {
        let setting = best_setting(&mut peer, workload, &hello.settings, observer)?;
        let row = interleave(
            &mut peer,
            workload,
            &setting,
            &options.device,
            options.rounds,
            peaks.f32_gflops,
        )?;
        observer.message(&format!(
            "{workload}: {:.0} ms, peer {:.0} ms with {setting}: {:.2} times as fast",
            row.ours_ms, row.peer_ms, row.ratio
        ));
        rows.insert(workload.name(), row);
    }
    drop(peer);
    let setting = rows
        .get(Workload::TrainStep.name())
        .map(|row| row.peer_setting.clone());
    let memory = match setting {
        Some(setting) => Some(memory(options, &setting)?),
        None => None,
    };
    Ok(Comparison {
        machine: Machine::here(),
        commit: machine::commit(),
        torch: hello.torch,
        isa: isa.to_string(),
        rounds: options.rounds,
        peaks,
        workloads: rows,
        memory,
    })
}

/// The setting with the lowest time of a few runs.
fn best_setting(
    peer: &mut Peer,
    workload: Workload,
    settings: &[String],
    observer: &mut dyn Observer,
) -> Result<String> {
    let mut best: Option<(f64, &String)> = None;
    for setting in settings.iter().filter(|setting| workload.allows(setting)) {
        let trial = peer.prepare(workload.name(), setting).and_then(|()| {
            let mut runs = vec![peer.run_ms()?];
            // A hopeless setting is not worth more runs.
            let hopeless = best.is_some_and(|(least, _)| runs[0] > 2.0 * least);
            while !hopeless && runs.len() < TRIAL_RUNS {
                runs.push(peer.run_ms()?);
            }
            Ok(median(&mut runs))
        });
        match trial {
            Ok(ms) => {
                observer.message(&format!("  {workload} with {setting}: {ms:.0} ms"));
                if best.is_none_or(|(least, _)| ms < least) {
                    best = Some((ms, setting));
                }
            }
            Err(error) => observer.message(&format!("  {workload} with {setting}: {error}")),
        }
    }
    let (_, setting) =
        best.ok_or_else(|| Error::Failed("the peer could run none of its settings".to_owned()))?;
    Ok(setting.clone())
}

fn interleave(
    peer: &mut Peer,
    workload: Workload,
    setting: &str,
    device: &Device,
    rounds: u16,
    peak_gflops: f64,
) -> Result<Row> {
    peer.prepare(workload.name(), setting)?;
    let mut ours = workload.build(device)?;
    for _ in 0..2 {
        ours()?;
    }
    let (mut our_ms, mut peer_ms) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let start = Instant::now();
        ours()?;
        our_ms.push(start.elapsed().as_secs_f64() * 1e3);
        peer_ms.push(peer.run_ms()?);
    }
    let (ours_ms, peer_ms) = (median(&mut our_ms), median(&mut peer_ms));
    let gflops = workload
        .operations()?
        .map(|operations| operations / ours_ms / 1e6);
    Ok(Row {
        ours_ms,
        ours_f32_ms: ours_ms,
        peer_ms,
        peer_setting: setting.to_owned(),
        ratio: peer_ms / ours_ms,
        ratio_f32: peer_ms / ours_ms,
        share_of_peak: gflops.map(|gflops| gflops / peak_gflops),
    })
}

/// Peak memory of a training step, each side in a process of its own.
fn memory(options: &CompareOptions, setting: &str) -> Result<Memory> {
    let mut peer = Peer::start(&options.python)?;
    peer.prepare(Workload::TrainStep.name(), setting)?;
    peer.run_ms()?;
    let (peer_mb, peer_base_mb) = peer.memory_mb()?;
    let ours_mb = (options.train_step_memory_mb)()?;
    Ok(Memory {
        ours_mb,
        peer_mb,
        peer_base_mb,
    })
}
