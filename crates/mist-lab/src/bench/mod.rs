//! What this machine does, alone or beside PyTorch.

mod compare;
mod peer;
pub mod ranks;
mod report;
pub mod scaling;
mod scenes;
mod time_to_accuracy;
mod timing;
mod workloads;

use std::path::PathBuf;

use burn::tensor::Device;
use mist_kernels::simd::Isa;

pub use compare::{CompareOptions, compare};
pub use report::{Comparison, Figure, Figures, Memory, Peaks, Row};
pub use time_to_accuracy::{
    Attempt, Reached, Side, TimeToAccuracyOptions, TimesToAccuracy, time_to_accuracy,
};
pub use workloads::{Task, Workload};

use crate::error::Result;
use crate::machine::{self, Machine};
use crate::observer::Observer;

/// What to measure.
#[derive(Clone, Debug)]
pub struct MeasureOptions {
    /// In this order.
    pub workloads: Vec<Workload>,
    /// Whether to measure the drawing of scenes.
    pub scenes: bool,
    /// Rounds behind each median.
    pub rounds: u16,
    /// Where to compute.
    pub device: Device,
    /// Where MNIST is, instead of the usual places.
    pub data: Option<PathBuf>,
}

/// Measures workloads on this machine.
///
/// # Errors
/// When `data` holds no MNIST, or the device fails.
pub fn measure(options: &MeasureOptions, observer: &mut dyn Observer) -> Result<Figures> {
    let mut figures = Vec::new();
    if options.scenes {
        let data = options.data.as_deref();
        figures.extend(scenes::measure(data, options.rounds, observer)?);
    }
    for workload in &options.workloads {
        observer.message(&format!("measuring {workload}"));
        let secs = timing::median_secs(options.rounds, workload.build(&options.device)?)?;
        figures.push(Figure {
            name: workload.name(),
            value: secs * 1e3,
            unit: "ms",
        });
    }
    Ok(Figures {
        machine: Machine::here(),
        commit: machine::commit(),
        isa: Isa::selected()?.to_string(),
        figures,
        peak_memory_mb: machine::peak_memory_mb(),
    })
}
