use burn::tensor::Device;

use super::*;

const SCORES: [f32; 6] = [0.3, -0.2, 1.4, 0.9, 0.35, 0.1];
const EXACT: [SoftTopK; 3] = [
    SoftTopK::ClosedForm,
    SoftTopK::Sinkhorn { iterations: 4000 },
    SoftTopK::LapSum,
];

/// Many scores in no order, some of them equal.
fn many() -> Vec<f32> {
    let score = |index: usize| ((index * 7919) % 211) as f32 / 105.0 - 1.0;
    (0..300).map(score).collect()
}

#[test]
fn the_closed_form_is_what_sinkhorn_converges_to() {
    for (k, epsilon) in [(1, 0.1), (2, 0.1), (4, 0.5), (3, 0.02), (3, 0.008)] {
        let closed = SoftTopK::ClosedForm.masks_of(&SCORES, k, epsilon);
        let iterated = SoftTopK::Sinkhorn { iterations: 20_000 }.masks_of(&SCORES, k, epsilon);
        let parts = |masks: SoftMasks| [masks.masks, masks.slopes, masks.shares].concat();
        for (a, b) in parts(closed).iter().zip(parts(iterated)) {
            assert!((a - b).abs() < 1e-6, "k {k}, epsilon {epsilon}: {a} {b}");
        }
    }
}

#[test]
fn both_domains_of_sinkhorn_agree_where_they_meet() {
    let masks = |epsilon| SoftTopK::Sinkhorn { iterations: 300 }.masks_of(&SCORES, 3, epsilon);
    let (plain, logarithms) = (masks(0.01), masks(0.01 - 1e-12));
    for (a, b) in plain.masks.iter().zip(&logarithms.masks) {
        assert!((a - b).abs() < 1e-9, "{a} {b}");
    }
}

#[test]
fn masks_sum_to_k_however_many_and_however_soft() {
    let scores = many();
    for operator in EXACT {
        for (k, softness) in [(1, 0.1), (9, 1e-3), (150, 0.05), (299, 0.1), (9, 50.0)] {
            let masks = operator.masks_of(&scores, k, softness).masks;
            let total: f64 = masks.iter().sum();
            assert!(
                (total - k as f64).abs() < 1e-6,
                "{operator:?}, k {k}: {total}"
            );
            assert!(masks.iter().all(|mask| (0.0..=1.0).contains(mask)));
        }
    }
}

#[test]
fn masks_become_the_hard_selection_as_softness_falls() {
    let mut hard = [0.0; 6];
    hard[2] = 1.0;
    hard[3] = 1.0;
    for operator in EXACT {
        let distance = |softness: f64| -> f64 {
            let masks = operator.masks_of(&SCORES, 2, softness).masks;
            let differences = masks.iter().zip(hard).map(|(a, b)| (a - b).abs());
            differences.sum()
        };
        let distances = [1.0, 0.3, 0.1, 0.03, 0.01].map(distance);
        let falling = distances.windows(2).all(|pair| pair[1] < pair[0]);
        assert!(
            falling && distances[4] < 1e-3,
            "{operator:?}: {distances:?}"
        );
    }
}

/// Differences of the masks themselves, at a fixed largest cost.
#[test]
fn gradients_are_those_of_the_masks() {
    let device = Device::flex().autodiff();
    let (k, softness) = (2, 0.3f32);
    for operator in EXACT {
        let scores = Tensor::<2>::from_data([SCORES], &device).require_grad();
        let masks = operator.masks(scores.clone(), k, softness, 0, 0).unwrap();
        let plain = operator.masks_of(&SCORES, k, f64::from(softness)).masks;
        let found = masks.clone().inner().try_into_vec_as::<f32>().unwrap();
        for (a, b) in found.iter().zip(&plain) {
            assert!((f64::from(*a) - b).abs() < 1e-5, "{operator:?}");
        }
        let gradients = masks.narrow(1, 3, 1).sum().backward();
        let gradient = scores.grad(&gradients).unwrap();
        let gradient = gradient.try_into_vec_as::<f32>().unwrap();
        // Score 2 has the largest cost, so that a change of the others leaves it.
        for place in [0, 1, 3, 4, 5] {
            let at = |change: f32| {
                let mut scores = SCORES;
                scores[place] += change;
                operator.masks_of(&scores, k, f64::from(softness)).masks[3]
            };
            let difference = (at(1e-3) - at(-1e-3)) / 2e-3;
            let found = f64::from(gradient[place]);
            assert!(
                (found - difference).abs() < 1e-2,
                "{operator:?} {place}: {found} {difference}"
            );
        }
        let total: f32 = gradient.iter().sum();
        assert!(total.abs() < 1e-4, "masks sum to k: {total}");
    }
}

#[test]
fn perturbed_masks_sum_to_k_and_depend_on_seed_and_step_alone() {
    let device = Device::flex();
    let operator = SoftTopK::Perturbed { samples: 200 };
    let masks = |seed, step| {
        let scores = Tensor::<2>::from_data([SCORES, SCORES], &device);
        let masks = operator.masks(scores, 2, 0.3, seed, step).unwrap();
        masks.try_into_vec_as::<f32>().unwrap()
    };
    let first = masks(1, 5);
    assert_eq!(first, masks(1, 5));
    assert!(first != masks(1, 6) && first != masks(2, 5));
    assert!((first[..6].iter().sum::<f32>() - 2.0).abs() < 1e-4);
    assert!(first[2] > 0.9 && first[1] < 0.3, "{first:?}");
}

#[test]
fn impossible_requests_are_errors() {
    let device = Device::flex();
    for operator in EXACT {
        let masks = |k, softness| {
            let scores = Tensor::<2>::from_data([SCORES], &device);
            operator.masks(scores, k, softness, 0, 0)
        };
        assert!(masks(0, 0.1).is_err() && masks(6, 0.1).is_err());
        assert!(masks(2, 0.0).is_err() && masks(2, f32::NAN).is_err());
    }
    assert!(SoftTopK::Sinkhorn { iterations: 0 }.check().is_err());
    assert!(SoftTopK::Perturbed { samples: 0 }.check().is_err());
}
