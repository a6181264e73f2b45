//! The whole evaluation against the metrics one by one.

use proptest::prelude::*;

use super::samples::{CLASS_COUNT, detection, image, random_images, truth};
use super::*;
use crate::measurements::Measurements;

fn config(rule: MatchRule) -> EvaluationConfig {
    EvaluationConfig {
        class_count: CLASS_COUNT,
        rule,
        official_k: Some(2),
        bootstrap: Some(Bootstrap {
            resamples: 20,
            seed: 5,
        }),
    }
}

fn evaluate(images: &[ImageResult], rule: MatchRule) -> Evaluation {
    Evaluation::new(
        Evidence {
            images,
            ..Evidence::default()
        },
        &config(rule),
    )
}

#[test]
fn reconstructions_and_impulses_come_with_their_evidence() {
    let reconstructions = [SquaredError::between(&[1.0, 0.0], &[0.5, 0.5]).unwrap(); 3];
    let impulses = [MatchCounts {
        matched: 3,
        truths: 4,
        detections: 4,
    }; 3];
    let evidence = Evidence {
        images: &[],
        reconstructions: &reconstructions,
        impulses: &impulses,
        kernel_corr: Some(0.9),
    };
    let evaluation = Evaluation::new(evidence, &config(MatchRule::Iou));
    // Every pixel is off by 1/2; 3 of 4 on either side are matched. Equal images leave no spread.
    let values: Vec<_> = evaluation.metrics.iter().collect();
    let expected = [
        ("rmse", &0.5),
        ("impulse_precision", &0.75),
        ("impulse_recall", &0.75),
        ("impulse_f1", &0.75),
        ("kernel_corr", &0.9),
    ];
    assert_eq!(values, expected);
    assert_eq!(
        evaluation.intervals.get("rmse"),
        Some(Interval {
            low: 0.5,
            high: 0.5
        })
    );
    assert_eq!(evaluation.intervals.iter().count(), 4);
}

#[test]
fn without_labels_places_alone_are_evaluated() {
    let images = [image(
        &[truth(0.0, 0.0, 8.0, 8.0, 1)],
        &[detection(1.0, 0.0, 9.0, 8.0, 0, 0.9)],
    )];
    let metrics = evaluate(&images, MatchRule::IouUnlabelled).metrics;
    assert_eq!(metrics.get("recall"), Some(1.0));
    assert_eq!(metrics.get("iou50"), Some(1.0));
    let labelled = [
        metrics.get("classif"),
        metrics.get("both"),
        metrics.get("ap50"),
        metrics.get("count_mae"),
    ];
    assert_eq!(labelled, [None; 4]);
    assert_eq!(
        evaluate(&images, MatchRule::Iou).metrics.get("recall"),
        Some(0.0)
    );
}

#[test]
fn background_stays_out_of_every_metric() {
    let object = truth(0.0, 0.0, 8.0, 8.0, 1);
    let found = detection(1.0, 1.0, 9.0, 9.0, 1, 0.9);
    let bare = [image(&[object], &[found])];
    let padded = [image(
        &[truth(0.0, 0.0, 2.0, 2.0, 0), object],
        &[detection(0.0, 0.0, 8.0, 8.0, 0, 0.5), found],
    )];
    let rule = MatchRule::Centre { background: 0 };
    assert_eq!(evaluate(&padded, rule), evaluate(&bare, rule));
    assert_eq!(evaluate(&padded, rule).metrics.get("f1"), Some(1.0));
}

#[test]
fn no_resampling_no_intervals() {
    let images = [image(&[truth(0.0, 0.0, 8.0, 8.0, 1)], &[])];
    let config = EvaluationConfig {
        bootstrap: None,
        ..config(MatchRule::Iou)
    };
    let evaluation = Evaluation::new(
        Evidence {
            images: &images,
            ..Evidence::default()
        },
        &config,
    );
    assert_eq!(evaluation.metrics.get("recall"), Some(0.0));
    assert_eq!(evaluation.intervals, Measurements::default());
}

proptest! {
    #[test]
    fn agrees_with_the_metrics_one_by_one(images in random_images()) {
        let Evaluation { metrics, intervals } = evaluate(&images, MatchRule::Iou);
        let k = Some(2);
        let matches = one_to_one(&images, 0.5, LabelRule::Equal);
        prop_assert_eq!(metrics.get("iou50"), iou50(&images));
        prop_assert_eq!(metrics.get("iou50_official"), iou50_official(&images, k));
        prop_assert_eq!(metrics.get("classif"), classif(&images));
        prop_assert_eq!(metrics.get("classif_official"), classif_official(&images, k));
        prop_assert_eq!(metrics.get("both"), both(&images));
        prop_assert_eq!(metrics.get("both_official"), both_official(&images, k));
        prop_assert_eq!(metrics.get("recall_official"), metrics.get("both_official"));
        prop_assert_eq!(metrics.get("ap50"), ap50(&images, Interpolation::AllPoints));
        prop_assert_eq!(
            metrics.get("ap50_class_blind"),
            ap50_class_blind(&images, Interpolation::AllPoints)
        );
        prop_assert_eq!(metrics.get("precision"), matches.precision());
        prop_assert_eq!(metrics.get("recall"), matches.recall());
        prop_assert_eq!(metrics.get("f1"), matches.f1());
        prop_assert_eq!(metrics.get("count_mae"), count_mae(&images, CLASS_COUNT));
        prop_assert_eq!(metrics.get("count_mae_total"), total_count_mae(&images));
        prop_assert_eq!(metrics.get("scale_err"), scale_err(&images, 0.5));
        for (name, interval) in intervals.iter() {
            prop_assert!(interval.low <= interval.high, "{}", name);
        }
    }

    #[test]
    fn resampled_average_precision_is_that_of_the_resampled_images(
        mut images in random_images()
    ) {
        // With distinct scores no tie depends on the order of the drawn images.
        let mut score = 0.0;
        for detection in images.iter_mut().flat_map(|image| &mut image.detections) {
            score += 1.0;
            detection.score = score;
        }
        let bootstrap = Bootstrap { resamples: 20, seed: 5 };
        let plain = bootstrap.interval_of(&images, |drawn| ap50(drawn, Interpolation::AllPoints));
        let weighted = evaluate(&images, MatchRule::Iou).intervals.get("ap50");
        prop_assert_eq!(weighted.is_some(), plain.is_some());
        if let Some((a, b)) = weighted.zip(plain) {
            prop_assert!((a.low - b.low).abs() < 1e-12 && (a.high - b.high).abs() < 1e-12);
        }
    }
}
