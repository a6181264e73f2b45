//! `mist bench --scaling`: how the time of a detection grows with K, the image's side and the batch.

use anyhow::Result;
use burn::tensor::{Device, Distribution, Tensor};
use serde::Serialize;

use super::timing::median_secs;
use super::workloads::official_model;
use crate::commands::Say;

/// Milliseconds per image along one axis.
#[derive(Debug, Serialize)]
pub struct Curve {
    pub axis: &'static str,
    pub points: Vec<Point>,
}

/// One measurement.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Point {
    pub value: usize,
    /// The quantity behind `value`: pixels for a side, else the value itself.
    pub amount: f64,
    pub ms_per_image: f64,
}

/// Detection time per image over K, side and batch.
pub fn measure(device: &Device, rounds: u16, say: Say) -> Result<Vec<Curve>> {
    let time = |side: usize, instances: usize, batch: usize| -> Result<f64> {
        let model = official_model(device)?.with_instances(instances);
        let images = Tensor::<4>::random([batch, 3, side, side], Distribution::Default, device);
        let secs = median_secs(rounds, || {
            std::hint::black_box(model.detect(images.clone())?);
            Ok(())
        })?;
        say.line(format_args!(
            "side {side}, K {instances}, batch {batch}: {:.2} ms per image",
            secs * 1e3 / batch as f64
        ));
        Ok(secs * 1e3 / batch as f64)
    };
    let curve = |axis,
                 values: &[usize],
                 amount: &dyn Fn(usize) -> f64,
                 ms: &dyn Fn(usize) -> Result<f64>| {
        let point = |&value: &usize| {
            Ok(Point {
                value,
                amount: amount(value),
                ms_per_image: ms(value)?,
            })
        };
        let points = values.iter().map(point).collect::<Result<Vec<_>>>()?;
        Ok::<_, anyhow::Error>(Curve { axis, points })
    };
    let same = |value: usize| value as f64;
    Ok(vec![
        curve("K", &[1, 2, 4, 8, 16, 32, 64, 128], &same, &|k| {
            time(160, k, 4)
        })?,
        curve(
            "image side",
            &[40, 80, 160, 320, 640],
            &|side| (side * side) as f64,
            &|side| time(side, 9, 2),
        )?,
        curve("batch", &[1, 2, 4, 8, 16, 32, 64], &same, &|batch| {
            time(80, 9, batch)
        })?,
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

const PANEL_PX: f64 = 300.0;
const MARGIN_PX: f64 = 50.0;

/// One panel per curve, both axes logarithmic: what is linear has slope one.
pub fn to_svg(curves: &[Curve]) -> String {
    let width = (PANEL_PX + MARGIN_PX) * curves.len() as f64 + MARGIN_PX;
    let height = PANEL_PX + 2.0 * MARGIN_PX;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
    );
    for (index, curve) in curves.iter().enumerate() {
        let left = MARGIN_PX + index as f64 * (PANEL_PX + MARGIN_PX);
        svg += &panel(curve, left);
    }
    svg + "</svg>\n"
}

fn panel(curve: &Curve, left: f64) -> String {
    let range = |value: &dyn Fn(&Point) -> f64| {
        let logs = curve.points.iter().map(|point| value(point).log10());
        let (low, high) = logs.fold((f64::MAX, f64::MIN), |(low, high), log| {
            (low.min(log), high.max(log))
        });
        (low - 0.1, high + 0.1)
    };
    let (x_low, x_high) = range(&|point| point.amount);
    let (y_low, y_high) = range(&|point| point.ms_per_image);
    // The same scale on both axes makes slopes visible.
    let span = (x_high - x_low).max(y_high - y_low).max(1.0);
    let x = |amount: f64| left + (amount.log10() - x_low) / span * PANEL_PX;
    let y = |ms: f64| MARGIN_PX + PANEL_PX - (ms.log10() - y_low) / span * PANEL_PX;
    let bottom = MARGIN_PX + PANEL_PX;
    let mut svg = format!(
        "<rect x=\"{left}\" y=\"{MARGIN_PX}\" width=\"{PANEL_PX}\" height=\"{PANEL_PX}\" fill=\"none\" stroke=\"#999\"/>\n\
         <text x=\"{left}\" y=\"{}\">{}: ms per image, both axes logarithmic</text>\n",
        MARGIN_PX - 10.0,
        curve.axis
    );
    let coordinates: Vec<String> = curve
        .points
        .iter()
        .map(|point| format!("{:.1},{:.1}", x(point.amount), y(point.ms_per_image)))
        .collect();
    svg += &format!(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#1f6fb4\" stroke-width=\"2\"/>\n",
        coordinates.join(" ")
    );
    for point in &curve.points {
        let (cx, cy) = (x(point.amount), y(point.ms_per_image));
        svg += &format!(
            "<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"3\" fill=\"#1f6fb4\"/>\n<text x=\"{cx:.1}\" y=\"{:.1}\" \
             text-anchor=\"middle\">{}</text>\n<text x=\"{cx:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555\">{:.1}</text>\n",
            bottom + 16.0,
            point.value,
            cy - 8.0,
            point.ms_per_image
        );
    }
    svg
}
