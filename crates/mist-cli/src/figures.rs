//! The paper's figures, from the result files.

use crate::plot::{Chart, Series, figure, smoothed};
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
    let mut series = vec![metric("IoU 50 %", &|line| line.validation?.iou50)];
    let redraws = lines
        .iter()
        .any(|line| line.validation.is_some_and(|found| found.rmse.is_some()));
    if redraws {
        series.push(metric("RMSE", &|line| line.validation?.rmse));
    } else {
        series.push(metric("Classif.", &|line| line.validation?.classif));
        series.push(metric("Both", &|line| line.validation?.both));
    }
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
