//! `mist bench --against-pytorch`: both sides in one run, round by round.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use burn::tensor::Device;
use mist_kernels::simd::Isa;

use super::peer::Peer;
use super::report::{Comparison, Memory, Peaks, Row};
use super::timing::median;
use super::workloads::Workload;
use crate::commands::Say;
use crate::machine::{self, Machine};

/// Runs per setting when looking for the peer's best one.
const TRIAL_RUNS: usize = 3;

/// Compares the workloads and the memory of a training step.
pub fn run(
    workloads: &[Workload],
    device: &Device,
    rounds: u16,
    python: &Path,
    say: Say,
) -> Result<Comparison> {
    let isa = Isa::selected()?;
    let peaks = Peaks {
        f32_gflops: isa.measured_peak_gflops()?,
        amx_gflops: isa.measured_tile_peak_gflops(),
    };
    say.line(format_args!(
        "{isa}: {:.0} GFLOP/s at most",
        peaks.f32_gflops
    ));
    let mut peer = Peer::start(python)?;
    let hello = peer.hello()?;
    say.line(format_args!(
        "peer: PyTorch {} on {} threads",
        hello.torch, hello.threads
    ));
    let mut rows = BTreeMap::new();
    for &workload in workloads {
        let setting = best_setting(&mut peer, workload, &hello.settings, say)?;
        let row = interleave(
            &mut peer,
            workload,
            &setting,
            device,
            rounds,
            peaks.f32_gflops,
        )?;
        say.line(format_args!(
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
        Some(setting) => Some(memory(python, &setting)?),
        None => None,
    };
    Ok(Comparison {
        machine: Machine::here(),
        commit: machine::commit(),
        torch: hello.torch,
        isa: isa.to_string(),
        rounds,
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
    say: Say,
) -> Result<String> {
    let mut best: Option<(f64, &String)> = None;
    for setting in settings {
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
                say.line(format_args!("  {workload} with {setting}: {ms:.0} ms"));
                if best.is_none_or(|(least, _)| ms < least) {
                    best = Some((ms, setting));
                }
            }
            Err(error) => say.line(format_args!("  {workload} with {setting}: {error:#}")),
        }
    }
    let (_, setting) = best.context("the peer could run none of its settings")?;
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
fn memory(python: &Path, setting: &str) -> Result<Memory> {
    let mut peer = Peer::start(python)?;
    peer.prepare(Workload::TrainStep.name(), setting)?;
    peer.run_ms()?;
    let (peer_mb, peer_base_mb) = peer.memory_mb()?;
    let ours_mb =
        machine::memory_of_child(&["bench", "train_step", "--rounds", "2", "--json", "-q"])?;
    Ok(Memory {
        ours_mb,
        peer_mb,
        peer_base_mb,
    })
}
