//! The paper's figures, from the result files.

use crate::dictionary::DictionaryResult;
use crate::plot::{Chart, Series, figure, smoothed};
use crate::results::ResultFile;
use crate::run::metrics_log::Line;

/// Log lines behind one point of a smoothed curve.
const WINDOW: usize = 9;

/// Metrics that curves and progress show, with their names in words.
pub const HEADLINE_METRICS: &[(&str, &str)] = &[
    ("iou50", "IoU 50 %"),
    ("classif", "Classif."),
    ("both", "Both"),
    ("rmse", "RMSE"),
    ("impulse_f1", "impulses, F1"),
];

/// Losses and accuracy over the steps of one training.
pub fn convergence(lines: &[Line]) -> String {
    let curve = |value: &dyn Fn(&Line) -> Option<f64>| -> Vec<(f64, f64)> {
        let point = |line: &Line| Some((line.step as f64, value(line)?));
        lines.iter().filter_map(point).collect()
    };
    let measured = |name: &str| {
        let points = curve(&|line| line.measurements.get(name));
        let title = name.replace('_', " ");
        let series = |points, faint| Series {
            name: title.clone(),
            points,
            faint,
        };
        Chart {
            title: title.clone(),
            x_label: "step".to_owned(),
            y_label: "loss".to_owned(),
            log_x: false,
            log_y: true,
            series: vec![
                series(points.clone(), true),
                series(smoothed(&points, WINDOW), false),
            ],
        }
    };
    let metric = |name: &str, title: &str| Series {
        name: title.to_owned(),
        points: curve(&|line| line.validation.as_ref()?.get(name)),
        faint: false,
    };
    let mut series: Vec<Series> = HEADLINE_METRICS
        .iter()
        .map(|(name, title)| metric(name, title))
        .collect();
    series.retain(|series| !series.points.is_empty());
    let accuracy = Chart {
        title: "held-out images".to_owned(),
        x_label: "step".to_owned(),
        y_label: String::new(),
        log_x: false,
        log_y: false,
        series,
    };
    let mut charts: Vec<Chart> = measured_names(lines).into_iter().map(measured).collect();
    charts.push(accuracy);
    figure(&charts, charts.len())
}

/// Everything that a training measured, in order of first appearance.
fn measured_names(lines: &[Line]) -> Vec<&str> {
    let mut names = Vec::new();
    for (name, _) in lines.iter().flat_map(|line| line.measurements.iter()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Quality, time and memory over the number of impulses per image, ours and dictionary learning's; `None` without ours.
pub fn growing_counts(results: &[ResultFile], peers: &[DictionaryResult]) -> Option<String> {
    let ours: Vec<&ResultFile> = results
        .iter()
        .filter(|result| result.experiment.starts_with("gabor"))
        .collect();
    if ours.is_empty() {
        return None;
    }
    let chart = |title: &str,
                 log_y: bool,
                 of_ours: &dyn Fn(&ResultFile) -> Option<f64>,
                 of_peer: &dyn Fn(&DictionaryResult) -> f64| {
        let points = ours
            .iter()
            .filter_map(|result| Some((result.instances()? as f64, of_ours(result)?)));
        let mut points: Vec<(f64, f64)> = points.collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let series = |name: &str, points| Series {
            name: name.to_owned(),
            points,
            faint: false,
        };
        let peer = peers
            .iter()
            .map(|peer| (peer.instances as f64, of_peer(peer)));
        Chart {
            title: title.to_owned(),
            x_label: "impulses per image".to_owned(),
            y_label: String::new(),
            log_x: true,
            log_y,
            series: vec![
                series("MIST", points),
                series("dictionary learning", peer.collect()),
            ],
        }
    };
    let charts = [
        chart("RMSE", false, &|ours| ours.metrics.get("rmse"), &|peer| {
            peer.rmse
        }),
        chart(
            "recall of impulses",
            false,
            &|ours| ours.metrics.get("impulse_recall"),
            &|peer| peer.impulse_recall,
        ),
        chart(
            "seconds per image",
            true,
            &|ours| ours.secs_per_image,
            &|peer| peer.secs_per_image,
        ),
        chart(
            "peak memory, MB",
            true,
            &|ours| ours.peak_memory_mb,
            &|peer| peer.peak_memory_mb,
        ),
    ];
    Some(figure(&charts, 2))
}
