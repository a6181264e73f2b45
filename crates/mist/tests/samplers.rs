//! The fused samplers against burn's operations: outputs and all gradients.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use burn::tensor::{Device, Tensor, TensorData};
use mist::sample::{PatchGeometry, paste, paste_by_operations, sample, sample_by_operations};
use mist_kernels::sampler::{self, Gradients, SamplerError, Sizes, Wanted};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const BOTH: Wanted = Wanted {
    source: true,
    keypoints: true,
};

/// A call with all its values, of S or of S^-1.
struct Case {
    sizes: Sizes,
    images: Vec<f32>,
    patches: Vec<f32>,
    keypoints: Vec<f32>,
}

fn numbers(random: &mut ChaCha8Rng, count: usize, low: f32, high: f32) -> Vec<f32> {
    (0..count).map(|_| random.random_range(low..high)).collect()
}

impl Case {
    fn new(sizes: Sizes, random: &mut ChaCha8Rng) -> Self {
        let keypoints = (0..sizes.batch * sizes.instances).flat_map(|_| {
            // Inside, over a border, and beyond.
            let place = |random: &mut ChaCha8Rng, size_px: usize| {
                random.random_range(-0.3..1.3) * (size_px as f32 + 1.0)
            };
            let [x_px, y_px] = [sizes.width_px, sizes.height_px].map(|size| place(random, size));
            [x_px, y_px, random.random_range(0.1..5.0)]
        });
        Self {
            keypoints: keypoints.collect(),
            images: numbers(random, sizes.image_values(), -1.0, 1.0),
            patches: numbers(random, sizes.patch_values(), -1.0, 1.0),
            sizes,
        }
    }

    fn random(seed: u64) -> Self {
        let random = &mut ChaCha8Rng::seed_from_u64(seed);
        let one_pixel = seed.is_multiple_of(7);
        let mut side = |most| {
            if one_pixel {
                1
            } else {
                random.random_range(1..most)
            }
        };
        let [height_px, width_px] = [side(30), side(30)];
        let sizes = Sizes {
            batch: random.random_range(1..4),
            instances: random.random_range(1..5),
            channels: random.random_range(1..4),
            height_px,
            width_px,
            base_box_px: random.random_range(0.5..25.0),
            patch_px: random.random_range(1..34),
        };
        Self::new(sizes, random)
    }

    fn geometry(&self) -> PatchGeometry {
        PatchGeometry {
            base_box_px: self.sizes.base_box_px,
            patch_px: self.sizes.patch_px,
            context_px: 0.0,
        }
    }

    fn image_dims(&self) -> [usize; 4] {
        let s = &self.sizes;
        [s.batch, s.channels, s.height_px, s.width_px]
    }

    fn patch_dims(&self) -> [usize; 5] {
        let s = &self.sizes;
        [s.batch, s.instances, s.channels, s.patch_px, s.patch_px]
    }

    fn keypoint_leaf(&self) -> Tensor<3> {
        let dims = [self.sizes.batch, self.sizes.instances, 3];
        leaf(&self.keypoints, dims)
    }

    /// Output, source gradient and keypoint gradient of S by tensors.
    fn sample_by_tensors(&self, fused: bool) -> [Vec<f32>; 3] {
        let operator = if fused { sample } else { sample_by_operations };
        let images = leaf(&self.images, self.image_dims());
        let points = self.keypoint_leaf();
        let output = operator(images.clone(), points.clone(), self.geometry()).unwrap();
        outcome(output, &self.patches, images, points)
    }

    /// As `sample_by_tensors`, of S^-1.
    fn paste_by_tensors(&self, fused: bool) -> [Vec<f32>; 3] {
        let operator = if fused { paste } else { paste_by_operations };
        let patches = leaf(&self.patches, self.patch_dims());
        let points = self.keypoint_leaf();
        let (geometry, [.., height, width]) = (self.geometry(), self.image_dims());
        let output = operator(patches.clone(), points.clone(), geometry, height, width).unwrap();
        outcome(output, &self.images, patches, points)
    }

    fn sample_backward(&self, wanted: Wanted) -> Gradients {
        let (images, patches) = (&self.images, &self.patches);
        sampler::sample_backward(images, &self.keypoints, patches, &self.sizes, wanted).unwrap()
    }

    fn paste_backward(&self, wanted: Wanted) -> Gradients {
        let (images, patches) = (&self.images, &self.patches);
        sampler::paste_backward(patches, &self.keypoints, images, &self.sizes, wanted).unwrap()
    }
}

fn leaf<const D: usize>(values: &[f32], dims: [usize; D]) -> Tensor<D> {
    let device = Device::flex().autodiff();
    let data = TensorData::new(values.to_vec(), dims);
    Tensor::from_data(data, &device).require_grad()
}

fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec::<f32>().unwrap()
}

fn outcome<const OUT: usize, const IN: usize>(
    output: Tensor<OUT>,
    cotangent: &[f32],
    source: Tensor<IN>,
    keypoints: Tensor<3>,
) -> [Vec<f32>; 3] {
    let cotangent = TensorData::new(cotangent.to_vec(), output.dims());
    let cotangent = Tensor::from_data(cotangent, &output.device());
    let gradients = (output.clone() * cotangent).sum().backward();
    [
        host(output),
        host(source.grad(&gradients).unwrap()),
        host(keypoints.grad(&gradients).unwrap()),
    ]
}

/// Compares each number to 1e-5 of the largest, as sums of thousands of terms are rounded at that size.
fn compare(name: &str, expected: &[Vec<f32>; 3], actual: &[Vec<f32>; 3]) {
    for (part, (expected, actual)) in expected.iter().zip(actual).enumerate() {
        assert_eq!(expected.len(), actual.len(), "{name}");
        let largest = expected.iter().fold(1.0, |most: f32, v| most.max(v.abs()));
        for (index, (expected, actual)) in expected.iter().zip(actual).enumerate() {
            assert!(
                (expected - actual).abs() <= 1e-5 * largest,
                "{name}, part {part}, [{index}]: {expected} by operations, {actual} fused"
            );
        }
    }
}

#[test]
fn fused_sampling_agrees_with_burn_operations() {
    for seed in 0..150 {
        let case = Case::random(seed);
        let [expected, actual] = [false, true].map(|fused| case.sample_by_tensors(fused));
        compare(&format!("{seed}: {:?}", case.sizes), &expected, &actual);
    }
}

#[test]
fn fused_pasting_agrees_with_burn_operations() {
    for seed in 0..150 {
        let case = Case::random(seed);
        let [expected, actual] = [false, true].map(|fused| case.paste_by_tensors(fused));
        compare(&format!("{seed}: {:?}", case.sizes), &expected, &actual);
    }
}

#[test]
fn transposed_tensors_are_read_correctly() {
    let case = Case::random(3);
    let [batch, channels, height, width] = case.image_dims();
    let transposed = leaf(&case.images, [batch, channels, width, height]).swap_dims(2, 3);
    let points = case.keypoint_leaf();
    let copied = leaf(&host(transposed.clone()), [batch, channels, height, width]);
    let [a, b] = [transposed, copied].map(|x| sample(x, points.clone(), case.geometry()).unwrap());
    assert_eq!(host(a), host(b));
}

#[test]
fn only_one_of_the_tensors_may_have_a_graph() {
    let case = Case::random(5);
    let images = leaf(&case.images, case.image_dims());
    let points = case.keypoint_leaf();
    let patches = sample(images.clone().inner(), points.clone(), case.geometry()).unwrap();
    let gradients = patches.sum().backward();
    assert!(points.grad(&gradients).is_some());
    let patches = sample(images.clone(), points.detach(), case.geometry()).unwrap();
    let gradients = patches.sum().backward();
    assert!(images.grad(&gradients).is_some());
}

#[test]
fn unwanted_gradients_are_not_computed() {
    let case = Case::random(1);
    let operators: [fn(&Case, Wanted) -> Gradients; 2] =
        [Case::sample_backward, Case::paste_backward];
    for backward in operators {
        let all = backward(&case, BOTH);
        assert!(all.source.is_some() && all.keypoints.is_some());
        for [source, keypoints] in [[false, false], [false, true], [true, false]] {
            let some = backward(&case, Wanted { source, keypoints });
            assert_eq!(some.source, all.source.clone().filter(|_| source));
            assert_eq!(some.keypoints, all.keypoints.clone().filter(|_| keypoints));
        }
    }
}

#[test]
fn threads_change_no_bit() {
    let sizes = Sizes {
        batch: 11,
        instances: 6,
        channels: 3,
        height_px: 41,
        width_px: 37,
        base_box_px: 14.0,
        patch_px: 17,
    };
    let case = Case::new(sizes, &mut ChaCha8Rng::seed_from_u64(4));
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            (
                sampler::sample(&case.images, &case.keypoints, &sizes).unwrap(),
                sampler::paste(&case.patches, &case.keypoints, &sizes).unwrap(),
                case.sample_backward(BOTH),
                case.paste_backward(BOTH),
            )
        })
    };
    let one = run(1);
    assert!(one == run(2) && one == run(4) && one == run(1));
}

#[test]
fn empty_sizes_give_empty_or_black_outputs() {
    let full = Case::random(1).sizes;
    let without: [fn(&mut Sizes); 6] = [
        |sizes| sizes.batch = 0,
        |sizes| sizes.instances = 0,
        |sizes| sizes.channels = 0,
        |sizes| sizes.height_px = 0,
        |sizes| sizes.width_px = 0,
        |sizes| sizes.patch_px = 0,
    ];
    for remove in without {
        let mut sizes = full;
        remove(&mut sizes);
        let case = Case::new(sizes, &mut ChaCha8Rng::seed_from_u64(0));
        let patches = sampler::sample(&case.images, &case.keypoints, &sizes).unwrap();
        let images = sampler::paste(&case.patches, &case.keypoints, &sizes).unwrap();
        assert_eq!(patches.len(), case.patches.len());
        assert_eq!(images.len(), case.images.len());
        assert!(patches.iter().chain(&images).all(|&value| value == 0.0));
        let back = [case.sample_backward(BOTH), case.paste_backward(BOTH)];
        let gradients = back.map(|found| [found.source.unwrap(), found.keypoints.unwrap()]);
        let mut gradients = gradients.as_flattened().iter().flatten();
        assert!(gradients.all(|&value| value == 0.0));
    }
}

#[test]
fn extreme_keypoints_are_safe() {
    let mut case = Case::random(2);
    for scale in [0.0, -2.0, 1e-30, 1e-3, 1e6, 1e30] {
        for place_px in [-1e30, -1e6, 0.0, 3.0, 1e6, 1e30] {
            for keypoint in case.keypoints.as_chunks_mut::<3>().0 {
                *keypoint = [place_px, 2.0, scale];
            }
            let (points, sizes) = (&case.keypoints, &case.sizes);
            let patches = sampler::sample(&case.images, points, sizes).unwrap();
            let images = sampler::paste(&case.patches, points, sizes).unwrap();
            let back = case.sample_backward(BOTH);
            let gradients = back.source.into_iter().chain(back.keypoints).flatten();
            let finite = patches.into_iter().chain(images).chain(gradients);
            assert!(finite.into_iter().all(f32::is_finite), "{place_px} {scale}");
        }
    }
    for coordinate in 0..3 {
        for keypoint in case.keypoints.as_chunks_mut::<3>().0 {
            *keypoint = [1.0; 3];
            keypoint[coordinate] = f32::NAN;
        }
        let (points, sizes) = (&case.keypoints, &case.sizes);
        let patches = sampler::sample(&case.images, points, sizes).unwrap();
        assert!(patches.iter().all(|value| value.is_nan()), "NaN must show");
        let images = sampler::paste(&case.patches, points, sizes).unwrap();
        assert!(images.iter().any(|value| value.is_nan()), "NaN must show");
    }
}

#[test]
fn wrong_lengths_are_refused() {
    let case = Case::random(1);
    let (points, sizes) = (&case.keypoints, &case.sizes);
    let refused = |what, expected, actual| SamplerError {
        what,
        expected,
        actual,
    };
    let (long, length) = ([&case.images[..], &[0.0]].concat(), case.images.len());
    assert_eq!(
        sampler::sample(&long, points, sizes),
        Err(refused("images", length, length + 1))
    );
    assert_eq!(
        sampler::paste(&case.patches, &points[1..], sizes),
        Err(refused("keypoints", points.len(), points.len() - 1))
    );
    assert!(sampler::paste(&case.patches[1..], points, sizes).is_err());
    assert!(sampler::sample_backward(&case.images, points, &[], sizes, BOTH).is_err());
    assert!(sampler::paste_backward(&case.patches, points, &long, sizes, BOTH).is_err());
    let endless = Sizes {
        width_px: usize::MAX,
        ..*sizes
    };
    assert!(sampler::sample(&case.images, points, &endless).is_err());
}
