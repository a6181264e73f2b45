//! What a model of photographs mistakes: precision and recall over the score, and a confusion matrix.

use mist::measurements::Measurements;
use mist::metrics::{ImageResult, LabelRule, centre, centre_pairs};

use crate::plot::{Chart, Series, figure};

/// Steps of the score.
const STEPS: usize = 50;

/// Precision, recall and F1 by the centre rule, of the detections that have at least a score: one per score, from 0 on.
pub fn over_scores(images: &[ImageResult], background: usize) -> Vec<(f64, Measurements)> {
    let at = |step: usize| {
        let least = step as f64 / STEPS as f64;
        let kept: Vec<ImageResult> = images
            .iter()
            .map(|image| {
                let mut image = image.clone();
                image
                    .detections
                    .retain(|found| f64::from(found.score) >= least);
                image
            })
            .collect();
        let counts = centre(&kept, background);
        let mut measurements = Measurements::new();
        for (name, value) in [
            ("precision", counts.precision()),
            ("recall", counts.recall()),
            ("f1", counts.f1()),
        ] {
            if let Some(value) = value {
                measurements.insert(name, value);
            }
        }
        (least, measurements)
    };
    (0..STEPS).map(at).collect()
}

/// A chart of [`over_scores`] as SVG.
pub fn score_chart(images: &[ImageResult], background: usize) -> String {
    let points = over_scores(images, background);
    let series = |(name, title): (&str, &str)| Series {
        name: title.to_owned(),
        points: points
            .iter()
            .filter_map(|(score, values)| Some((*score, values.get(name)?)))
            .collect(),
        faint: false,
    };
    let chart = Chart {
        title: "detections of at least a score".to_owned(),
        x_label: "score".to_owned(),
        y_label: String::new(),
        log_x: false,
        log_y: false,
        series: [
            ("precision", "precision"),
            ("recall", "recall"),
            ("f1", "F1"),
        ]
        .map(series)
        .into(),
    };
    figure(&[chart], 1)
}

/// How often an object of each class was called what, as a table of tab-separated values: detections belong to the object
/// whose box holds their centre. The last class is the background: its row counts detections on nothing, its column
/// objects that were not found.
pub fn confusion(images: &[ImageResult], names: &[String]) -> String {
    let classes = names.len();
    let background = classes.saturating_sub(1);
    let mut counts = vec![0usize; classes * classes];
    for image in images {
        let mut image = image.clone();
        image.detections.retain(|found| found.label < background);
        let pairs = centre_pairs(&image, LabelRule::Ignored);
        for (place, truth) in image.truths.iter().enumerate() {
            let pair = pairs.iter().find(|pair| pair.truth == place);
            let called = pair.map_or(background, |pair| image.detections[pair.detection].label);
            counts[truth.label * classes + called] += 1;
        }
        for (place, found) in image.detections.iter().enumerate() {
            if !pairs.iter().any(|pair| pair.detection == place) {
                counts[background * classes + found.label] += 1;
            }
        }
    }
    let mut table = format!("true\\called\t{}\n", names.join("\t"));
    for (name, row) in names.iter().zip(counts.chunks_exact(classes.max(1))) {
        let row: Vec<String> = row.iter().map(usize::to_string).collect();
        table += &format!("{name}\t{}\n", row.join("\t"));
    }
    table
}

#[cfg(test)]
mod tests {
    use mist::geometry::{Detection, PixelBox, Truth};

    use super::*;

    /// Two objects; one is found and called something else, and there is a detection on nothing.
    fn images() -> Vec<ImageResult> {
        let bounds = |x_px, side_px| PixelBox::from_centre(x_px, 50.0, side_px, side_px);
        let found = |x_px, label, score| Detection {
            bounds: bounds(x_px, 100.0),
            label,
            score,
        };
        vec![ImageResult {
            truths: vec![
                Truth {
                    bounds: bounds(20.0, 20.0),
                    label: 0,
                },
                Truth {
                    bounds: bounds(80.0, 20.0),
                    label: 0,
                },
            ],
            detections: vec![
                found(22.0, 0, 0.9),
                found(79.0, 1, 0.5),
                found(50.0, 1, 0.3),
                found(20.0, 2, 0.8),
            ],
        }]
    }

    #[test]
    fn precision_grows_and_recall_falls_with_the_score() {
        let points = over_scores(&images(), 2);
        let at = |step: usize, name| points[step].1.get(name);
        assert_eq!(at(0, "precision"), Some(1.0 / 3.0));
        assert_eq!(at(STEPS * 4 / 10, "precision"), Some(0.5));
        assert_eq!(at(STEPS * 8 / 10, "precision"), Some(1.0));
        assert_eq!(at(STEPS * 8 / 10, "recall"), Some(0.5));
        assert_eq!(at(STEPS - 1, "recall"), Some(0.0));
        assert!(score_chart(&images(), 2).contains("precision"));
    }

    #[test]
    fn objects_are_counted_by_what_they_were_called() {
        let names = ["cat", "dog", "background"].map(str::to_owned);
        let table = confusion(&images(), &names);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines[0], "true\\called\tcat\tdog\tbackground");
        assert_eq!(
            lines[1..],
            ["cat\t1\t1\t0", "dog\t0\t0\t0", "background\t0\t1\t0"]
        );
    }
}
