//! The CPU executor against burn's operations in f64: outputs and all gradients, on every instruction set of this
//! machine.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use burn::module::Param;
use burn::tensor::{DType, Device, Distribution, Tensor, TensorData};
use mist::networks::{
    BlockStyle, DetectorConfig, EncoderConfig, InputStatistics, NetworkModule, PatchValues,
    autoencoder, classifier,
};
use mist_kernels::executor::{Executor, InputStatistics as Statistics, Wanted};
use mist_kernels::network::{Layer, Network, NormPlacement, Padding, ResidualBlock, Shape};
use mist_kernels::simd::{Isa, Precision};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn numbers(random: &mut ChaCha8Rng, count: usize) -> Vec<f32> {
    (0..count).map(|_| random.random_range(-1.0..1.0)).collect()
}

/// Output, input gradient and parameter gradient.
struct Outcome([Vec<f32>; 3]);

fn reference(
    network: &Network,
    parameters: &[f32],
    images: &[f32],
    shape: [usize; 4],
    cotangent: &[f32],
) -> Outcome {
    let device = Device::flex().autodiff();
    let module =
        NetworkModule::from_parameters(network.clone(), parameters.to_vec(), &device).unwrap();
    let data = TensorData::new(images.to_vec(), shape);
    let leaf = Tensor::<4>::from_data(data, (&device, DType::F64)).require_grad();
    let output = module
        .forward_by_operations(leaf.clone(), InputStatistics::Batch)
        .unwrap();
    let host = |t: Tensor<1>| t.cast(DType::F32).into_data().try_to_vec::<f32>().unwrap();
    let values = output.dims().iter().product::<usize>();
    let flat = output.reshape([values]);
    let cotangent = TensorData::new(cotangent.to_vec(), [values]);
    let cotangent = Tensor::<1>::from_data(cotangent, (&device, DType::F64));
    let gradients = (flat.clone() * cotangent).sum().backward();
    let input = leaf.grad(&gradients).unwrap().reshape([images.len()]);
    let parameters = match module.parameters.val().grad(&gradients) {
        Some(gradient) => host(gradient),
        None => Vec::new(),
    };
    Outcome([host(flat), host(input), parameters])
}

fn executed(
    (isa, precision): (Isa, Precision),
    network: &Network,
    parameters: &[f32],
    images: &[f32],
    shape: [usize; 4],
    cotangent: &[f32],
) -> Outcome {
    let sample = Shape::new(shape[1], shape[2], shape[3]);
    let executor = Executor::new(network, sample, isa, precision).unwrap();
    let plain = executor
        .forward(parameters, images, Statistics::Batch)
        .unwrap();
    let (output, tape) = executor
        .forward_with_tape(parameters, images, Statistics::Batch, 1)
        .unwrap();
    assert_eq!(plain, output, "the tape changes nothing");
    let wanted = Wanted {
        input: true,
        parameters: true,
    };
    let gradients = executor
        .backward(parameters, tape, cotangent, wanted)
        .unwrap();
    Outcome([
        output,
        gradients.input.unwrap(),
        gradients.parameters.unwrap(),
    ])
}

/// Distance of two vectors relative to the larger.
fn relative_distance(a: &[f32], b: &[f32]) -> f64 {
    assert_eq!(a.len(), b.len());
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
    let difference = norm(&mut a.iter().zip(b).map(|(a, b)| f64::from(a - b)));
    let size =
        norm(&mut a.iter().map(|&v| f64::from(v))).max(norm(&mut b.iter().map(|&v| f64::from(v))));
    if size == 0.0 {
        difference
    } else {
        difference / size
    }
}

/// Largest relative distance to the reference among output, input gradient and each parameter tensor's gradient.
fn distance(isa: Isa, network: &Network, shape: [usize; 4], seed: u64) -> f64 {
    let random = &mut ChaCha8Rng::seed_from_u64(seed);
    let parameters = random_parameters(random, network);
    let images = numbers(random, shape.iter().product());
    let sample = Shape::new(shape[1], shape[2], shape[3]);
    let output = network.output_shape(sample).unwrap();
    let cotangent = numbers(random, shape[0] * output.len());
    let expected = reference(network, &parameters, &images, shape, &cotangent).0;
    let how = (isa, Precision::F32);
    let actual = executed(how, network, &parameters, &images, shape, &cotangent).0;
    let whole = expected
        .iter()
        .zip(&actual)
        .map(|(e, a)| relative_distance(e, a));
    let specs = network.parameters();
    let tensors = specs.iter().filter_map(|spec| {
        let [e, a] = [&expected[2], &actual[2]].map(|all| &all[spec.offset..][..spec.len()]);
        // Biases before a norm have no gradient but rounding.
        let matters = e.iter().any(|value| value.abs() > 1e-3);
        matters.then(|| relative_distance(e, a))
    });
    whole.chain(tensors).fold(0.0, f64::max)
}

fn random_parameters(random: &mut ChaCha8Rng, network: &Network) -> Vec<f32> {
    use mist_kernels::network::ParameterRole::{Bias, NormScale, NormShift, Weight};
    let mut parameters = numbers(random, network.parameter_count());
    for spec in network.parameters() {
        for value in &mut parameters[spec.offset..][..spec.len()] {
            *value = match spec.role {
                Weight { fan_in } => *value * (3.0 / fan_in as f32).sqrt(),
                Bias { .. } => 0.1 * *value,
                NormScale => 1.0 + 0.3 * *value,
                NormShift => 0.2 * *value,
            };
        }
    }
    parameters
}

fn present() -> Vec<Isa> {
    Isa::ALL
        .into_iter()
        .filter(|isa| isa.is_present())
        .collect()
}

fn compare(name: &str, network: &Network, shape: [usize; 4], seed: u64) {
    for isa in present() {
        let distance = distance(isa, network, shape, seed);
        assert!(distance < 1e-4, "{name} on {isa} differs by {distance:e}");
    }
}

/// For deep networks: a ReLU whose input is within rounding of zero may be active in one implementation and not in the
/// other (as between burn's own f32 and f64), so most seeds must agree to 1e-4 and all roughly.
fn compare_deep(name: &str, network: &Network, shape: [usize; 4]) {
    for isa in present() {
        let mut distances: Vec<f64> = (0..5)
            .map(|seed| distance(isa, network, shape, seed))
            .collect();
        distances.sort_by(f64::total_cmp);
        assert!(
            distances[2] < 1e-4,
            "{name} on {isa} differs by {distances:?}"
        );
        assert!(
            distances[4] < 0.3,
            "{name} on {isa} differs by {distances:?}"
        );
    }
}

#[test]
fn single_layers_of_odd_shapes() {
    let conv3 = |out_channels, padding| Layer::Conv3x3 {
        out_channels,
        padding,
    };
    let cases: Vec<(usize, Layer)> = vec![
        (3, Layer::Conv1x1 { out_channels: 5 }),
        (17, Layer::Conv1x1 { out_channels: 33 }),
        (1, conv3(1, Padding::Same)),
        (5, conv3(9, Padding::Same)),
        (16, conv3(32, Padding::Valid)),
        (20, conv3(7, Padding::Valid)),
        (6, Layer::UpConv2 { out_channels: 10 }),
        (6, Layer::Norm),
        (6, Layer::MaxPool2),
        (6, Layer::GlobalAveragePool),
        (6, Layer::Sigmoid),
        (6, Layer::Softmax),
        (6, Layer::Relu),
        (3, Layer::BatchNorm),
        (3, Layer::ReflectPad { px: 2 }),
    ];
    for (index, (channels, layer)) in cases.into_iter().enumerate() {
        for (batch, height, width) in [(1, 3, 5), (3, 11, 9), (2, 16, 4), (19, 5, 3)] {
            let network = Network::new(channels, vec![layer.clone()]).unwrap();
            let shape = [batch, channels, height, width];
            compare(&format!("{layer} {shape:?}"), &network, shape, index as u64);
        }
    }
}

#[test]
fn one_pixel_images() {
    for channels in [1, 3, 8, 16, 40, 256] {
        let conv = Layer::Conv3x3 {
            out_channels: channels,
            padding: Padding::Same,
        };
        let network = Network::new(
            channels,
            vec![conv, Layer::Relu, Layer::Dense { out_features: 2 }],
        )
        .unwrap();
        compare(
            &format!("{channels} channels"),
            &network,
            [3, channels, 1, 1],
            5,
        );
    }
}

#[test]
fn residual_blocks_of_every_kind_and_width() {
    for channels in [1, 8, 13, 32, 128] {
        for padding in [Padding::Same, Padding::Valid] {
            for norm in [NormPlacement::Before, NormPlacement::After] {
                for shared_norm in [false, true] {
                    let block = ResidualBlock {
                        padding,
                        norm,
                        shared_norm,
                    };
                    let network = Network::new(channels, vec![Layer::Residual(block)]).unwrap();
                    compare_deep(
                        &format!("{block:?}, {channels} channels"),
                        &network,
                        [2, channels, 9, 11],
                    );
                }
            }
        }
    }
}

#[test]
fn the_detectors() {
    for config in [DetectorConfig::official(), DetectorConfig::paper(3)] {
        let network = config.network().unwrap();
        compare_deep(&format!("{:?}", config.style), &network, [3, 3, 21, 26]);
    }
    let small = DetectorConfig {
        in_channels: 1,
        channels: 12,
        blocks: 2,
        levels: 0,
        style: BlockStyle::Paper,
    };
    let levels = DetectorConfig {
        blocks: 1,
        levels: 2,
        ..small
    };
    compare_deep("levels", &levels.network().unwrap(), [3, 1, 12, 20]);
    compare_deep("small", &small.network().unwrap(), [5, 1, 13, 7]);
}

#[test]
fn the_classifier() {
    let network = classifier(&EncoderConfig::official(), 10).unwrap();
    compare_deep("official classifier", &network, [3, 3, 32, 32]);
}

#[test]
fn the_autoencoder() {
    let encoder = EncoderConfig {
        levels: 2,
        blocks_per_level: 1,
        code_channels: Some(3),
        ..EncoderConfig::paper(1)
    };
    let network = autoencoder(&encoder, PatchValues::Unit).unwrap();
    compare_deep("auto-encoder", &network, [2, 1, 16, 16]);
}

/// burn refuses to go through a graph twice; should it not, NaN must show that there is no gradient.
#[test]
fn a_second_backward_pass_is_never_silent() {
    let device = Device::flex().autodiff();
    let network = Network::new(1, vec![Layer::Conv1x1 { out_channels: 2 }]).unwrap();
    let module = NetworkModule::init(network, 1, &device).unwrap();
    let images = Tensor::<4>::ones([2, 1, 3, 3], &device).require_grad();
    let output = module.forward(images.clone(), InputStatistics::Batch);
    let loss = output.unwrap().sum();
    let gradients = |loss: Tensor<1>| {
        let gradients = loss.backward();
        let images = images.grad(&gradients).map(|gradient| gradient.into_data());
        let parameters = module.parameters.val().grad(&gradients);
        [images, parameters.map(|gradient| gradient.into_data())]
            .map(|data| data.expect("a gradient").try_to_vec::<f32>().unwrap())
    };
    let first = gradients(loss.clone());
    assert!(first.iter().flatten().all(|value| value.is_finite()));
    let again = std::panic::AssertUnwindSafe(|| gradients(loss));
    match std::panic::catch_unwind(again) {
        Ok(second) => assert!(second.iter().flatten().all(|value| value.is_nan())),
        Err(panic) => {
            let message = panic.downcast_ref::<String>().unwrap();
            assert!(message.contains("already been consumed"), "{message}");
        }
    }
}

#[test]
fn parameters_and_statistics_of_another_length_are_refused() {
    let device = Device::flex();
    let official = DetectorConfig::official().network().unwrap();
    let mut module = NetworkModule::init(official, 1, &device).unwrap();
    let images = Tensor::<4>::ones([1, 3, 24, 24], &device);
    let forward = |module: &NetworkModule| {
        [
            module.forward(images.clone(), InputStatistics::Running),
            module.forward_by_operations(images.clone(), InputStatistics::Running),
        ]
    };
    let [mean, variance] = [2, 3].map(|length| Tensor::<1>::ones([length], &device));
    let short = module.clone().with_running_statistics(mean, variance);
    assert!(forward(&short).iter().all(Result::is_err));
    assert!(forward(&module).iter().all(Result::is_ok));
    module.parameters = Param::from_tensor(Tensor::ones([5], &device));
    for result in forward(&module) {
        assert!(matches!(
            result,
            Err(mist::Error::ParameterCount { actual: 5, .. })
        ));
    }
}

#[test]
fn threads_change_no_bit() {
    let network = DetectorConfig::official().network().unwrap();
    let random = &mut ChaCha8Rng::seed_from_u64(4);
    let parameters = numbers(random, network.parameter_count());
    let shape = [9, 3, 20, 24];
    let images = numbers(random, shape.iter().product());
    let cotangent = numbers(random, 9 * 20 * 24);
    for isa in present() {
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            let how = (isa, Precision::F32);
            pool.install(|| executed(how, &network, &parameters, &images, shape, &cotangent))
                .0
        };
        let one = run(1);
        assert!(one == run(2) && one == run(4) && one == run(1), "{isa}");
    }
}

/// Smallest cosine between the gradients in bf16 and in f32, with the name of its tensor.
fn smallest_cosine(network: &Network, shape: [usize; 4], seed: u64) -> (f64, String) {
    let random = &mut ChaCha8Rng::seed_from_u64(seed);
    let parameters = random_parameters(random, network);
    let images = numbers(random, shape.iter().product());
    let sample = Shape::new(shape[1], shape[2], shape[3]);
    let output = network.output_shape(sample).unwrap();
    let cotangent = numbers(random, shape[0] * output.len());
    let [exact, rounded] = [Precision::F32, Precision::Bf16].map(|precision| {
        let how = (Isa::best(), precision);
        executed(how, network, &parameters, &images, shape, &cotangent).0
    });
    let cosine = |a: &[f32], b: &[f32]| {
        let product = |a: &[f32], b: &[f32]| -> f64 {
            let pairs = a.iter().zip(b);
            pairs.map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
        };
        product(a, b) / (product(a, a) * product(b, b)).sqrt()
    };
    let specs = network.parameters();
    let tensors = specs.iter().map(|spec| {
        let [e, r] = [&exact[2], &rounded[2]].map(|all| &all[spec.offset..][..spec.len()]);
        (cosine(e, r), spec.name.clone())
    });
    let input = (cosine(&exact[1], &rounded[1]), "input".to_owned());
    let all = tensors.chain([input]);
    all.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap()
}

#[test]
fn gradients_in_bf16_point_the_same_way() {
    let detector = DetectorConfig::official().network().unwrap();
    let classifier = classifier(&EncoderConfig::official(), 10).unwrap();
    let networks = [
        ("detector", detector, [2, 3, 32, 40]),
        ("classifier", classifier, [4, 3, 32, 32]),
    ];
    for (name, network, shape) in networks {
        for seed in 0..5 {
            let (cosine, tensor) = smallest_cosine(&network, shape, seed);
            println!("{name}, seed {seed}: {cosine:.6} at {tensor}");
            assert!(cosine >= 0.999, "{name}, seed {seed}: {cosine} at {tensor}");
        }
    }
}

/// A ReLU by a maximum with zero would turn NaN into zero, and damaged weights into plausible outputs.
#[test]
fn a_relu_does_not_hide_nan() {
    let config = EncoderConfig {
        in_channels: 1,
        base_channels: 16,
        levels: 2,
        blocks_per_level: 1,
        style: BlockStyle::Paper,
        code_channels: None,
    };
    let network = classifier(&config, 10).unwrap();
    let device = Device::flex();
    let huge = vec![1e38; network.parameter_count()];
    let module = NetworkModule::from_parameters(network, huge, &device).unwrap();
    let patches = Tensor::<4>::random([2, 1, 4, 4], Distribution::Default, &device);
    let logits = module.forward(patches, InputStatistics::Running).unwrap();
    let logits = logits.try_into_vec_as::<f32>().unwrap();
    assert!(logits.iter().all(|value| !value.is_finite()), "{logits:?}");
}
