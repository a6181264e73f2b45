//! The official networks at the sizes of one training step.

use anyhow::Result;
use burn::tensor::{Device, Distribution, Tensor};
use mist::device::Compute;
use mist::networks::{DetectorConfig, EncoderConfig, InputStatistics, NetworkModule, classifier};
use mist_kernels::network::Network;

use super::{Measurement, timing};
use crate::commands::Say;

/// Batch 32 of 80 x 80 px images, and their 288 patches of 32 x 32 px.
pub fn measure(compute: Compute, rounds: u16, say: Say) -> Result<Vec<Measurement>> {
    let device = compute.device()?;
    let detector = DetectorConfig::official().network()?;
    let classifier = classifier(&EncoderConfig::official(), 10)?;
    let mut figures = Vec::new();
    for (names, network, shape) in [
        (
            ["detector_fwd", "detector_fwdbwd"],
            detector,
            [32, 3, 80, 80],
        ),
        (
            ["classifier_fwd", "classifier_fwdbwd"],
            classifier,
            [288, 3, 32, 32],
        ),
    ] {
        say.line(format_args!("measuring {} on {compute}", names[1]));
        figures.extend(measure_network(names, network, shape, &device, rounds)?);
    }
    Ok(figures)
}

fn measure_network(
    names: [&'static str; 2],
    network: Network,
    shape: [usize; 4],
    device: &Device,
    rounds: u16,
) -> Result<[Measurement; 2]> {
    let run = |device: &Device, with_gradients: bool| -> Result<f64> {
        let module = NetworkModule::init(network.clone(), 0, device)?;
        let batch = Tensor::<4>::random(shape, Distribution::Default, device);
        timing::median_secs(rounds, || {
            let output = module.forward(batch.clone(), InputStatistics::Batch)?;
            let total = output.sum();
            if with_gradients {
                std::hint::black_box(total.backward());
            } else {
                std::hint::black_box(total);
            }
            Ok(device.sync()?)
        })
    };
    let figure = |name, secs: f64| Measurement {
        name,
        value: secs * 1e3,
        unit: "ms",
    };
    let forward = run(device, false)?;
    let both = run(&device.clone().autodiff(), true)?;
    Ok([figure(names[0], forward), figure(names[1], both)])
}
