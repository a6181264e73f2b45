//! The paper's figures, from the result files.

use crate::dictionary::DictionaryResult;
use crate::plot::{Chart, Series, figure, smoothed};
use crate::results::ResultFile;
use crate::run::metrics_log::Line;

/// Log lines behind one point of a smoothed curve.
const WINDOW: usize = 9;

/// Task loss, heatmap loss and accuracy over the steps of one training.
pub fn convergence(lines: &[Line]) -> String {
    let curve = |value: &dyn Fn(&Line) -> Option<f64>| -> Vec<(f64, f64)> {
        let point = |line: &Line| Some((line.step as f64, value(line)?));
        lines.iter().filter_map(point).collect()
    };
    let loss = |title: &str, value: &dyn Fn(&Line) -> Option<f64>| {
        let points = curve(value);
        let series = |points, faint| Series {
            name: title.to_owned(),
            points,
            faint,
        };
        Chart {
            title: title.to_owned(),
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
    let metric = |name: &str, value: &dyn Fn(&Line) -> Option<f64>| Series {
        name: name.to_owned(),
        points: curve(value),
        faint: false,
    };
    let mut series = vec![
        metric("IoU 50 %", &|line| line.validation?.iou50),
        metric("Classif.", &|line| line.validation?.classif),
        metric("Both", &|line| line.validation?.both),
        metric("RMSE", &|line| line.validation?.rmse),
        metric("impulses, F1", &|line| line.validation?.impulse_f1),
    ];
    series.retain(|series| !series.points.is_empty());
    let accuracy = Chart {
        title: "held-out scenes".to_owned(),
        x_label: "step".to_owned(),
        y_label: String::new(),
        log_x: false,
        log_y: false,
        series,
    };
    let charts = [
        loss("task loss", &|line| Some(line.task_loss)),
        loss("heatmap loss", &|line| Some(line.heatmap_loss)),
        accuracy,
    ];
    figure(&charts, charts.len())
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
        chart("RMSE", false, &|ours| ours.metrics.rmse, &|peer| peer.rmse),
        chart(
            "recall of impulses",
            false,
            &|ours| ours.metrics.impulse_recall,
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
