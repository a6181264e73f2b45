//! `mist bench --scaling`: how the time of a detection grows with K, the image's side and the batch.

use burn::tensor::{Device, Distribution, Tensor};
use serde::Serialize;

use super::timing::median_secs;
use mist::finder::Finder;

use super::workloads::official_model;
use crate::error::{Error, Result};
use crate::observer::Observer;
use crate::plot::{Chart, Series, figure};

/// Milliseconds per image along one axis.
#[derive(Debug, Serialize)]
pub struct Curve {
    /// What grows.
    pub axis: &'static str,
    /// From small to large.
    pub points: Vec<Point>,
}

/// One measurement.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Point {
    /// Along the axis.
    pub value: usize,
    /// The quantity behind `value`: pixels for a side, else the value itself.
    pub amount: f64,
    /// Median time.
    pub ms_per_image: f64,
}

/// Detection time per image over K, side and batch.
///
/// # Errors
/// When the device fails.
pub fn measure(device: &Device, rounds: u16, observer: &mut dyn Observer) -> Result<Vec<Curve>> {
    let mut time = |side: usize, instances: usize, batch: usize| -> Result<f64> {
        let model = official_model(device)?;
        let images = Tensor::<4>::random([batch, 3, side, side], Distribution::Default, device);
        let secs = median_secs(rounds, || {
            std::hint::black_box(model.find(images.clone(), &vec![instances; batch])?);
            Ok(())
        })?;
        observer.message(&format!(
            "side {side}, K {instances}, batch {batch}: {:.2} ms per image",
            secs * 1e3 / batch as f64
        ));
        Ok(secs * 1e3 / batch as f64)
    };
    let mut curve = |axis,
                     values: &[usize],
                     amount: fn(usize) -> f64,
                     size: fn(usize) -> (usize, usize, usize)| {
        let point = |&value: &usize| {
            let (side, instances, batch) = size(value);
            Ok(Point {
                value,
                amount: amount(value),
                ms_per_image: time(side, instances, batch)?,
            })
        };
        let points = values.iter().map(point).collect::<Result<Vec<_>>>()?;
        Ok::<_, Error>(Curve { axis, points })
    };
    let same = |value: usize| value as f64;
    let area = |side: usize| (side * side) as f64;
    let counts = [1, 2, 4, 8, 16, 32, 64, 128];
    let sides = [40, 80, 160, 320, 640];
    Ok(vec![
        curve("K", &counts, same, |k| (160, k, 4))?,
        curve("image side", &sides, area, |side| (side, 9, 2))?,
        curve("batch", &counts[..7], same, |batch| (80, 9, batch))?,
    ])
}

/// A tab-separated line per measurement.
pub fn to_lines(curves: &[Curve]) -> String {
    let mut lines = String::new();
    for curve in curves {
        for point in &curve.points {
            lines += &format!(
                "{}\t{}\t{:.2} ms/image\n",
                curve.axis, point.value, point.ms_per_image
            );
        }
    }
    lines
}

/// One chart per curve, both axes logarithmic, beside what would be proportional.
pub fn to_svg(curves: &[Curve]) -> String {
    let chart = |curve: &Curve| {
        let points = curve.points.iter();
        let measured: Vec<_> = points
            .map(|point| (point.amount, point.ms_per_image))
            .collect();
        let first = measured.first().copied().unwrap_or((1.0, 1.0));
        let line = |&(amount, _): &(f64, f64)| (amount, first.1 * amount / first.0);
        let proportional = measured.iter().map(line).collect();
        let series = |name: &str, points, faint| Series {
            name: name.to_owned(),
            points,
            faint,
        };
        Chart {
            title: curve.axis.to_owned(),
            x_label: match curve.axis {
                "image side" => "pixels".to_owned(),
                axis => axis.to_owned(),
            },
            y_label: "ms per image".to_owned(),
            log_x: true,
            log_y: true,
            series: vec![
                series("measured", measured, false),
                series("proportional", proportional, true),
            ],
        }
    };
    let charts: Vec<Chart> = curves.iter().map(chart).collect();
    figure(&charts, charts.len())
}
