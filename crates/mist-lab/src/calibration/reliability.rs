//! Stated probabilities beside shares of right boxes.

use super::{Calibration, Judged};
use crate::plot::{Chart, Series, figure};

const BINS: usize = 10;

/// A plot of how often boxes of a stated probability are right, on boxes that the calibration was not fitted to.
pub fn reliability_plot(calibration: &Calibration, judged: &[Judged]) -> String {
    let series = |name: &str, points, faint| Series {
        name: name.to_owned(),
        points,
        faint,
    };
    let chart = Chart {
        title: format!("Reliability on {}", calibration.dataset),
        x_label: "stated probability".to_owned(),
        y_label: "share of right boxes".to_owned(),
        series: vec![
            series("measured", bins(calibration, judged), false),
            series("ideal", vec![(0.0, 0.0), (1.0, 1.0)], true),
        ],
        ..Chart::default()
    };
    figure(&[chart], 1)
}

/// Mean stated probability and share of right boxes of each bin that has boxes.
fn bins(calibration: &Calibration, judged: &[Judged]) -> Vec<(f64, f64)> {
    let mut sums = [(0.0, 0.0, 0.0); BINS];
    for judged in judged {
        let stated = f64::from(calibration.probability(judged.score));
        let bin = ((stated * BINS as f64) as usize).min(BINS - 1);
        let (count, probability, right) = &mut sums[bin];
        *count += 1.0;
        *probability += stated;
        *right += f64::from(u8::from(judged.right));
    }
    let bins = sums.into_iter().filter(|(count, ..)| *count > 0.0);
    bins.map(|(count, stated, right)| (stated / count, right / count))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_counted_by_stated_probability() {
        let calibration = Calibration {
            dataset: "x".to_owned(),
            images: 1,
            varying_counts: true,
            least_score: 0.5,
            probabilities: vec![(0.0, 0.25), (0.5, 0.75)],
            weights_sha256: String::new(),
        };
        let judged = [(0.1, false), (0.2, true), (0.6, true), (0.9, true)];
        let judged = judged.map(|(score, right)| Judged { score, right });
        assert_eq!(bins(&calibration, &judged), [(0.25, 0.5), (0.75, 1.0)]);
        assert!(reliability_plot(&calibration, &judged).contains("Reliability on x"));
    }
}
