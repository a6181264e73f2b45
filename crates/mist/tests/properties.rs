//! Laws that the operators obey: inverses, gradients, borders.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use burn::tensor::{DType, Device, Tensor, TensorData};
use mist::extract::Extractor;
use mist::geometry::Keypoint;
use mist::heatmap::{LocalSoftmax, ScaleLevels, scale_fusion};
use mist::networks::{DetectorConfig, InputStatistics, NetworkModule};
use mist::sample::{PatchGeometry, paste, sample};
use mist::splat::{GaussianSplat, splat};
use mist::{Error, keypoints, loss};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn numbers(random: &mut ChaCha8Rng, count: usize, low: f64, high: f64) -> Vec<f64> {
    (0..count).map(|_| random.random_range(low..high)).collect()
}

fn tensor<const D: usize>(values: &[f64], shape: [usize; D], device: &Device) -> Tensor<D> {
    let data = TensorData::new(values.to_vec(), shape);
    Tensor::from_data(data, (device, DType::F64))
}

fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().try_to_vec::<f64>().unwrap()
}

/// Keypoints in the image at least `distance_px` apart, with scales between the outer levels.
fn separated_keypoints(random: &mut ChaCha8Rng, side_px: f32, distance_px: f32) -> Vec<Keypoint> {
    let mut keypoints: Vec<Keypoint> = Vec::new();
    for _ in 0..200 {
        let candidate = Keypoint {
            x_px: random.random_range(0.0..side_px),
            y_px: random.random_range(0.0..side_px),
            scale: random.random_range(0.71..1.41),
        };
        let far = |other: &Keypoint| {
            (other.x_px - candidate.x_px).hypot(other.y_px - candidate.y_px) >= distance_px
        };
        if keypoints.iter().all(far) {
            keypoints.push(candidate);
        }
    }
    keypoints
}

#[test]
fn extracting_a_splat_gives_the_keypoints_back_within_half_a_pixel() {
    let device = Device::flex();
    for levels in [ScaleLevels::lf_net(), ScaleLevels::single()] {
        for seed in 0..50 {
            let random = &mut ChaCha8Rng::seed_from_u64(seed);
            // 5 x 5 suppression reaches two pixels diagonally, rounding one more.
            let truth = separated_keypoints(random, 48.0, 5.0);
            let heatmap = splat(std::slice::from_ref(&truth), &levels, 48, 48, &device).unwrap();
            let found = Extractor::new(truth.len())
                .extract(heatmap, &levels)
                .unwrap();
            assert_eq!(found[0].len(), truth.len());
            for keypoint in &truth {
                let near = found[0].iter().find(|found| {
                    (found.keypoint.x_px - keypoint.x_px).abs() <= 0.5
                        && (found.keypoint.y_px - keypoint.y_px).abs() <= 0.5
                });
                let near = near.expect("a keypoint was lost").keypoint;
                if levels.values().len() > 1 {
                    assert!((near.scale - keypoint.scale).abs() < 1e-5);
                }
            }
        }
    }
}

#[test]
fn extracting_a_gaussian_splat_gives_the_keypoints_back_exactly() {
    let device = Device::flex();
    for settings in [
        GaussianSplat::paper(16.0, 48.0),
        GaussianSplat::official(16.0, 48.0),
    ] {
        for seed in 0..20 {
            let random = &mut ChaCha8Rng::seed_from_u64(seed);
            let truth = separated_keypoints(random, 224.0, 90.0);
            let target = settings
                .splat(std::slice::from_ref(&truth), 14, 14, &device)
                .unwrap();
            let heatmap = Tensor::cat(vec![target.response, target.offsets], 1);
            let extractor = Extractor::new(truth.len());
            let found = extractor.extract_with_offsets(heatmap, 16.0).unwrap();
            for keypoint in truth {
                let close = found[0].iter().any(|found| {
                    (found.keypoint.x_px - keypoint.x_px).abs() < 1e-3
                        && (found.keypoint.y_px - keypoint.y_px).abs() < 1e-3
                });
                assert!(close, "{keypoint:?} was lost");
            }
        }
    }
}

#[test]
fn sampling_what_was_pasted_gives_the_patch_back() {
    let device = Device::flex();
    for (patch_px, magnified, seed) in [(4, 1, 0), (5, 1, 1), (4, 3, 2), (3, 3, 3), (8, 1, 4)] {
        let random = &mut ChaCha8Rng::seed_from_u64(seed);
        let geometry = PatchGeometry {
            base_box_px: patch_px as f32,
            patch_px,
            context_px: 0.0,
        };
        let side_px = patch_px * magnified;
        let corner = random.random_range(0..40 - side_px) as f64 + side_px as f64 / 2.0;
        let points = tensor(&[corner, corner, magnified as f64], [1, 1, 3], &device);
        let values = numbers(random, 3 * patch_px * patch_px, 0.0, 1.0);
        let patch = tensor(&values, [1, 1, 3, patch_px, patch_px], &device);
        let image = paste(patch, points.clone(), geometry, 40, 40).unwrap();
        let again = host(sample(image, points, geometry).unwrap());
        for (before, after) in values.iter().zip(again) {
            assert!((before - after).abs() < 1e-9);
        }
    }
}

#[test]
fn smooth_patches_come_back_from_anywhere() {
    let device = Device::flex();
    let geometry = PatchGeometry {
        base_box_px: 16.0,
        patch_px: 8,
        context_px: 0.0,
    };
    let ramp: Vec<f64> = (0..64)
        .map(|i| 0.1 + 0.05 * (i % 8) as f64 + 0.02 * (i / 8) as f64)
        .collect();
    for seed in 0..20 {
        let random = &mut ChaCha8Rng::seed_from_u64(seed);
        let place = numbers(random, 2, 14.0, 34.0);
        let scale = random.random_range(1.0..1.6);
        let points = tensor(&[place[0], place[1], scale], [1, 1, 3], &device);
        let patch = tensor(&ramp, [1, 1, 1, 8, 8], &device);
        let image = paste(patch, points.clone(), geometry, 48, 48).unwrap();
        let again = host(sample(image, points, geometry).unwrap());
        for row in 1..7 {
            for column in 1..7 {
                let index = row * 8 + column;
                assert!((ramp[index] - again[index]).abs() < 1e-6, "seed {seed}");
            }
        }
    }
}

/// Compares automatic gradients of a scalar function of one tensor with central differences, all in f64.
fn check_gradient<const D: usize>(
    name: &str,
    values: &[f64],
    shape: [usize; D],
    function: impl Fn(Tensor<D>) -> Tensor<1>,
) {
    let step = 1e-6;
    let device = Device::flex().autodiff();
    let leaf = tensor(values, shape, &device).require_grad();
    let gradients = function(leaf.clone()).backward();
    let automatic = host(leaf.grad(&gradients).expect("no gradient"));
    let plain = Device::flex();
    let value_at = |index: usize, shift: f64| {
        let mut moved = values.to_vec();
        moved[index] += shift;
        host(function(tensor(&moved, shape, &plain)))[0]
    };
    for (index, &automatic) in automatic.iter().enumerate() {
        let numeric = (value_at(index, step) - value_at(index, -step)) / (2.0 * step);
        assert!(
            (automatic - numeric).abs() < 1e-6 + 1e-5 * numeric.abs(),
            "{name}[{index}]: automatic {automatic}, numeric {numeric}"
        );
    }
}

/// Weighs the output unevenly so that no gradient cancels.
fn weighed<const D: usize>(output: Tensor<D>) -> Tensor<1> {
    let count: usize = output.dims().iter().product();
    let weights: Vec<f64> = (0..count).map(|i| (1.0 + i as f64 * 0.7).sin()).collect();
    let weights = tensor(&weights, [count], &output.device());
    (output.reshape([count]) * weights).sum()
}

const GEOMETRY: PatchGeometry = PatchGeometry {
    base_box_px: 5.0,
    patch_px: 4,
    context_px: 0.0,
};

/// Boxes inside, over each border and over a corner of an image of 9 x 7 px.
fn places() -> [f64; 18] {
    [
        4.31, 3.17, 0.93, 0.43, 3.37, 1.11, 8.71, 3.83, 0.87, 4.57, 0.29, 1.23, 4.13, 6.77, 0.79,
        8.53, 6.61, 1.07,
    ]
}

#[test]
fn sampler_gradients_are_right_inside_and_at_borders() {
    let random = &mut ChaCha8Rng::seed_from_u64(7);
    let image = numbers(random, 2 * 7 * 9, 0.0, 1.0);
    let shape = [1, 2, 7, 9];
    check_gradient("keypoints", &places(), [1, 6, 3], |points| {
        let image = tensor(&image, shape, &points.device());
        weighed(sample(image, points, GEOMETRY).unwrap())
    });
    check_gradient("image", &image, shape, |image| {
        let points = tensor(&places(), [1, 6, 3], &image.device());
        weighed(sample(image, points, GEOMETRY).unwrap())
    });
}

#[test]
fn inverse_sampler_gradients_are_right_inside_and_at_borders() {
    let random = &mut ChaCha8Rng::seed_from_u64(8);
    let patches = numbers(random, 6 * 2 * 16, 0.0, 1.0);
    let shape = [1, 6, 2, 4, 4];
    check_gradient("keypoints", &places(), [1, 6, 3], |points| {
        let patches = tensor(&patches, shape, &points.device());
        weighed(paste(patches, points, GEOMETRY, 7, 9).unwrap())
    });
    check_gradient("patches", &patches, shape, |patches| {
        let points = tensor(&places(), [1, 6, 3], &patches.device());
        weighed(paste(patches, points, GEOMETRY, 7, 9).unwrap())
    });
}

#[test]
fn the_last_row_and_column_are_read_and_keep_their_gradient() {
    let device = Device::flex().autodiff();
    let ramp: Vec<f64> = (0..30)
        .map(|i| (i % 6) as f64 + 10.0 * (i / 6) as f64)
        .collect();
    let geometry = PatchGeometry {
        base_box_px: 1.0,
        patch_px: 1,
        context_px: 0.0,
    };
    // By operations in f64, fused in f32.
    for dtype in [DType::F64, DType::F32] {
        let image = tensor(&ramp, [1, 1, 5, 6], &device).cast(dtype);
        // The centres of the bottom-right and the top-left pixel.
        let points = tensor(&[5.5, 4.5, 1.0, 0.5, 0.5, 1.0], [1, 2, 3], &device);
        let points = points.cast(dtype).require_grad();
        let patches = sample(image, points.clone(), geometry).unwrap();
        assert_eq!(host(patches.clone().cast(DType::F64)), [45.0, 0.0]);
        let gradients = patches.sum().backward();
        let gradient = host(points.grad(&gradients).unwrap().cast(DType::F64));
        assert_eq!(&gradient[..2], [-45.0, -45.0], "towards the black outside");
        assert_eq!(&gradient[3..5], [1.0, 10.0], "towards the next pixel");
    }
}

#[test]
fn boxes_far_outside_read_black_and_stay_finite() {
    let device = Device::flex().autodiff();
    // By operations in f64, fused in f32.
    for dtype in [DType::F64, DType::F32] {
        let image = Tensor::<4>::ones([1, 1, 5, 6], &device).cast(dtype);
        let far = Tensor::<3>::from_data([[[1e6, -1e6, 1.0], [-50.0, 3.0, 1.4]]], &device);
        let far = far.cast(dtype).require_grad();
        let patches = sample(image, far.clone(), GEOMETRY).unwrap();
        let pasted = paste(patches.clone() + 1.0, far.clone(), GEOMETRY, 5, 6).unwrap();
        let total = (patches.clone().sum() + pasted.sum()).backward();
        assert_eq!(host(patches.sum().cast(DType::F64)), [0.0]);
        let gradient = host(far.grad(&total).unwrap().cast(DType::F64));
        assert!(gradient.iter().all(|value| value.is_finite()));
    }
}

#[test]
fn loss_and_heatmap_gradients_are_right() {
    let random = &mut ChaCha8Rng::seed_from_u64(9);
    let maps = numbers(random, 2 * 3 * 6 * 5, 0.05, 1.0);
    let shape = [2, 3, 6, 5];
    for softmax in [
        LocalSoftmax::paper(),
        LocalSoftmax::official(),
        LocalSoftmax::lf_net(),
    ] {
        let softmax = LocalSoftmax {
            window_px: 3,
            strength: 2.0,
            ..softmax
        };
        check_gradient("local softmax", &maps, shape, |x| {
            weighed(softmax.forward(x).unwrap())
        });
    }
    check_gradient("scale fusion", &maps, shape, |x| weighed(scale_fusion(x)));
    let other = numbers(random, maps.len(), -1.0, 1.0);
    check_gradient("reconstruction", &maps, shape, |x| {
        let target = tensor(&other, shape, &x.device());
        weighed(loss::reconstruction_loss(x, target).unwrap())
    });
    let logits = numbers(random, 2 * 4 * 3, -2.0, 2.0);
    check_gradient("multi-instance", &logits, [2, 4, 3], |x| {
        let labels = tensor(&[0.5, 0.25, 0.25, 0.0, 0.0, 1.0], [2, 3], &x.device());
        weighed(loss::multi_instance_loss(loss::MeanDistance::Squared, labels, x).unwrap())
    });
    let offsets = numbers(random, 2 * 2 * 3 * 3, -3.0, 3.0);
    check_gradient("offsets", &offsets, [2, 2, 3, 3], |x| {
        let mask: Vec<f64> = (0..18).map(|i| f64::from(i % 3 == 0)).collect();
        let mask = tensor(&mask, [2, 1, 3, 3], &x.device());
        let zeros = tensor(&[0.0; 36], [2, 2, 3, 3], &x.device());
        weighed(loss::offset_loss(x, zeros, mask).unwrap())
    });
}

#[test]
fn network_gradients_are_right() {
    let random = &mut ChaCha8Rng::seed_from_u64(10);
    let image = numbers(random, 2 * 3 * 6 * 7, 0.0, 1.0);
    for config in [DetectorConfig::official(), DetectorConfig::paper(3)] {
        let config = DetectorConfig {
            channels: 3,
            blocks: 1,
            ..config
        };
        check_gradient("image", &image, [2, 3, 6, 7], |x| {
            let network = config.network().unwrap();
            let module = NetworkModule::init(network, 3, &x.device()).unwrap();
            weighed(module.forward(x, InputStatistics::Batch).unwrap())
        });
    }
}

#[test]
fn tensors_that_do_not_belong_together_are_refused() {
    let device = Device::flex();
    let image = || Tensor::<4>::zeros([2, 1, 4, 4], &device);
    let points = || Tensor::<3>::ones([1, 2, 3], &device);
    assert!(matches!(
        sample(image(), points(), GEOMETRY),
        Err(Error::Mismatch { .. })
    ));
    let patches = Tensor::<5>::zeros([1, 2, 1, 3, 3], &device);
    assert!(paste(patches, points(), GEOMETRY, 4, 4).is_err());
    let empty = PatchGeometry {
        base_box_px: 0.0,
        patch_px: 4,
        context_px: 0.0,
    };
    assert!(sample(image(), points(), empty).is_err());
    assert!(loss::reconstruction_loss(image(), Tensor::zeros([2, 1, 4, 5], &device)).is_err());
    let ragged = [
        vec![],
        vec![Keypoint {
            x_px: 0.0,
            y_px: 0.0,
            scale: 1.0,
        }],
    ];
    assert!(keypoints::to_tensor(&ragged, &device).is_err());
    let levels = ScaleLevels::single();
    let lost = [vec![Keypoint {
        x_px: f32::NAN,
        y_px: 0.0,
        scale: 1.0,
    }]];
    assert!(splat(&lost, &levels, 4, 4, &device).is_err());
    assert!(Extractor::new(17).extract(image(), &levels).is_err());
    let poisoned = image().mul_scalar(f32::NAN);
    assert!(matches!(
        Extractor::new(1).extract(poisoned, &levels),
        Err(Error::NonFiniteHeatmap { image: 0 })
    ));
}
