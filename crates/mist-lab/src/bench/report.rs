//! Figures as files and tables.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::machine::Machine;

/// Our own figures.
#[derive(Debug, Serialize)]
pub struct Figures {
    /// Where it was measured.
    pub machine: Machine,
    /// The code that was measured, where it is known.
    pub commit: Option<String>,
    /// Instruction set of the kernels.
    pub isa: String,
    /// One per workload.
    pub figures: Vec<Figure>,
    /// Of this process, where the system tells.
    pub peak_memory_mb: Option<f64>,
}

/// One figure.
#[derive(Debug, Serialize)]
pub struct Figure {
    /// What was measured.
    pub name: &'static str,
    /// The median.
    pub value: f64,
    /// Unit of `value`.
    pub unit: &'static str,
}

/// A comparison with PyTorch, as `results/bench-<name>.json` holds it.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// Where it was measured.
    pub machine: Machine,
    /// The code that was measured, where it is known.
    pub commit: Option<String>,
    /// Version of PyTorch.
    pub torch: String,
    /// Instruction set of the kernels.
    pub isa: String,
    /// Rounds behind each median.
    pub rounds: u16,
    /// What the machine can do at most.
    pub peaks: Peaks,
    /// By name.
    pub workloads: BTreeMap<&'static str, Row>,
    /// Of a training step, if that was measured.
    pub memory: Option<Memory>,
}

/// Measured limits.
#[derive(Debug, Serialize)]
pub struct Peaks {
    /// Multiplications and additions in single precision.
    pub f32_gflops: f64,
    /// Nothing where the machine has no AMX.
    pub amx_gflops: Option<f64>,
}

/// One workload on both sides; medians.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Our time.
    pub ours_ms: f64,
    /// Our time in single precision.
    pub ours_f32_ms: f64,
    /// PyTorch's time.
    pub peer_ms: f64,
    /// The setting in which PyTorch is fastest.
    pub peer_setting: String,
    /// How many times as fast we are.
    pub ratio: f64,
    /// The same in single precision.
    pub ratio_f32: f64,
    /// Of the f32 peak, counting operations as direct convolution does them; transformed convolutions may exceed 1.
    pub share_of_peak: Option<f64>,
}

/// Peak memory of a training step.
#[derive(Debug, Serialize)]
pub struct Memory {
    /// Ours.
    pub ours_mb: f64,
    /// PyTorch's.
    pub peer_mb: f64,
    /// Of the peer's, what its libraries took before any work.
    pub peer_base_mb: f64,
}

impl Figures {
    /// A line per figure.
    pub fn to_lines(&self) -> String {
        let line =
            |figure: &Figure| format!("{}\t{:.1}\t{}\n", figure.name, figure.value, figure.unit);
        self.figures.iter().map(line).collect()
    }
}

impl Comparison {
    /// A line per workload.
    pub fn to_lines(&self) -> String {
        let line = |(name, row): (&&str, &Row)| {
            let Row {
                ours_ms,
                peer_ms,
                ratio,
                peer_setting,
                ..
            } = row;
            format!("{name}\t{ours_ms:.1} ms\t{peer_ms:.1} ms\t{ratio:.2}x\t{peer_setting}\n")
        };
        let mut lines: String = self.workloads.iter().map(line).collect();
        if let Some(memory) = &self.memory {
            let Memory {
                ours_mb, peer_mb, ..
            } = memory;
            lines += &format!(
                "memory\t{ours_mb:.0} MB\t{peer_mb:.0} MB\t{:.2}x\n",
                peer_mb / ours_mb
            );
        }
        lines
    }
}
