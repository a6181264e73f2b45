//! Every layer and every network against PyTorch, forward and gradients.

#![allow(
    missing_docs,
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]

mod support;

use burn::tensor::{DType, Device, Tensor};
use mist::heatmap::{HeatmapNetwork, LocalSoftmax, ScaleLevels};
use mist::networks::{
    BlockStyle, DetectorConfig, EncoderConfig, InputStatistics, NetworkModule, PatchValues,
    Precision, autoencoder, classifier,
};
use mist_kernels::network::{Layer, Network, NormPlacement, Padding, ParameterRole, ResidualBlock};
use support::{Golden, contract, family, golden_files};

/// The scripts' number `index` of series `salt` in -1..1; see `python/golden/pseudo.py`.
fn unit(salt: u64, index: u64) -> f64 {
    let mut z = (index + (salt << 32)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    2.0 * (z >> 40) as f64 / f64::from(1 << 24) - 1.0
}

/// The scripts' weights, a function of the network's layout and a salt.
fn weights(network: &Network, salt: u64) -> Vec<f32> {
    let specs = network.parameters().into_iter();
    let values = specs.flat_map(|spec| {
        (0..spec.len()).map(move |index| {
            let unit = unit(salt, (spec.offset + index) as u64);
            (match spec.role {
                ParameterRole::Weight { fan_in } => unit * (3.0 / fan_in as f64).sqrt(),
                ParameterRole::Bias { .. } => 0.1 * unit,
                ParameterRole::NormScale => 1.0 + 0.3 * unit,
                ParameterRole::NormShift => 0.2 * unit,
            }) as f32
        })
    });
    values.collect()
}

fn module(golden: &Golden, network: Network, device: &Device) -> NetworkModule {
    // PyTorch's numbers are f32, whatever this machine would choose.
    Precision::F32.select().unwrap();
    if let Some(count) = golden.case["parameter_count"].as_u64() {
        assert_eq!(network.parameter_count() as u64, count, "{}", golden.name);
    }
    let parameters = weights(&network, golden.number("salt") as u64);
    NetworkModule::from_parameters(network, parameters, device).unwrap()
}

/// How a network is run.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// By the CPU executor, in f32.
    Fused,
    /// By burn's operations.
    Operations(DType),
}

/// Both ways; whole networks are compared by burn's operations only, because a rectifier that opens by rounding in one
/// implementation and not in the other is no error (see `executor.rs` for the comparison of the two ways).
fn check(golden: &Golden, network: Network) {
    if golden.has("grad_parameters") {
        check_as(golden, network.clone(), Way::Fused);
    }
    check_as(golden, network, Way::Operations(DType::F32));
}

fn check_as(golden: &Golden, network: Network, way: Way) {
    let device = Device::flex().autodiff();
    let mut module = module(golden, network, &device);
    let mut statistics = InputStatistics::Batch;
    if golden.has("running_mean") {
        let running = ["running_mean", "running_var"].map(|name| golden.tensor::<1>(name, &device));
        let [mean, variance] = running;
        module = module.with_running_statistics(mean, variance);
        statistics = InputStatistics::Running;
    }
    let input = golden.leaf::<4>("input", &device);
    let output = match way {
        Way::Fused => module.forward(input.clone(), statistics),
        Way::Operations(dtype) => {
            module.forward_by_operations(input.clone().cast(dtype), statistics)
        }
    };
    let output = output.unwrap().cast(DType::F32);
    golden.expect_values("output", &host(output.clone()));
    let cotangent = golden.values("cotangent").to_vec();
    let cotangent = Tensor::<1>::from_data(cotangent.as_slice(), &device).reshape(output.dims());
    let gradients = contract(output, cotangent).backward();
    golden.expect("grad_input", input.grad(&gradients).unwrap());
    if module.network().parameter_count() == 0 {
        return;
    }
    let parameters = host(module.parameters.val().grad(&gradients).unwrap());
    if golden.has("grad_parameters") {
        golden.expect_values("grad_parameters", &parameters);
    } else {
        let stride = golden.number("stride") as usize;
        let sample: Vec<f32> = parameters.into_iter().step_by(stride).collect();
        golden.expect_values("grad_parameters_sample", &sample);
    }
}

fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec::<f32>().unwrap()
}

fn check_layer(name: &str, in_channels: usize, layer: Layer) {
    let network = Network::new(in_channels, vec![layer]).unwrap();
    let [golden] = family(&format!("{name}.safetensors"), 1)
        .try_into()
        .ok()
        .unwrap();
    check(&golden, network);
}

#[test]
fn single_layers() {
    let conv3 = |padding| Layer::Conv3x3 {
        out_channels: 5,
        padding,
    };
    let channels = |golden: &str| {
        let [golden] = family(golden, 1).try_into().ok().unwrap();
        golden.tensor::<4>("output", &Device::flex()).dims()[1]
    };
    check_layer("net_conv3_same", 4, conv3(Padding::Same));
    check_layer("net_conv3_valid", 4, conv3(Padding::Valid));
    let out_channels = channels("net_conv1.");
    check_layer("net_conv1", 4, Layer::Conv1x1 { out_channels });
    check_layer("net_norm", 4, Layer::Norm);
    check_layer("net_upconv", 4, Layer::UpConv2 { out_channels: 3 });
    check_layer("net_maxpool", 4, Layer::MaxPool2);
    check_layer("net_dense", 4, Layer::Dense { out_features: 5 });
    check_layer("net_sigmoid", 4, Layer::Sigmoid);
    check_layer("net_softmax", 4, Layer::Softmax);
    check_layer("net_softplus", 4, Layer::Softplus);
    check_layer("net_global_average", 4, Layer::GlobalAveragePool);
    check_layer("net_reflect_pad", 4, Layer::ReflectPad { px: 3 });
    check_layer("net_batch_norm", 3, Layer::BatchNorm);
    check_layer("net_batch_norm_running", 3, Layer::BatchNorm);
}

#[test]
fn residual_blocks_of_every_kind() {
    for golden in family("net_residual_", 8) {
        let block = ResidualBlock {
            padding: if golden.name.contains("valid") {
                Padding::Valid
            } else {
                Padding::Same
            },
            norm: if golden.name.contains("before") {
                NormPlacement::Before
            } else {
                NormPlacement::After
            },
            shared_norm: golden.name.ends_with("shared"),
        };
        check(
            &golden,
            Network::new(4, vec![Layer::Residual(block)]).unwrap(),
        );
    }
}

#[test]
fn whole_networks() {
    let networks = [
        (
            "net_detector_official",
            DetectorConfig::official().network(),
        ),
        ("net_detector_paper", DetectorConfig::paper(1).network()),
        (
            "net_classifier_official",
            classifier(&EncoderConfig::official(), 10),
        ),
    ];
    for (name, network) in networks {
        for golden in family(name, 1) {
            check(&golden, network.clone().unwrap());
        }
    }
}

/// In f64, because layer norms over a code of one pixel amplify rounding: PyTorch's own f32 misses the tolerance
/// on these two as well.
#[test]
fn whole_networks_that_amplify_rounding() {
    let networks = [
        (
            "net_classifier_paper",
            classifier(&EncoderConfig::paper(1), 10),
        ),
        (
            "net_autoencoder_paper",
            autoencoder(&EncoderConfig::paper(1), PatchValues::Unit),
        ),
    ];
    for (name, network) in networks {
        for golden in family(name, 1) {
            check_as(
                &golden,
                network.clone().unwrap(),
                Way::Operations(DType::F64),
            );
        }
    }
}

#[test]
fn multi_scale_heatmap() {
    for golden in family("multiscale_heatmap", 1) {
        let device = Device::flex().autodiff();
        let config = DetectorConfig {
            in_channels: 1,
            channels: 4,
            blocks: 1,
            levels: 0,
            style: BlockStyle::Paper,
        };
        let detector = module(&golden, config.network().unwrap(), &device);
        let s = std::f32::consts::SQRT_2;
        let levels = ScaleLevels::new(vec![1.0 / s, 1.0, s]).unwrap();
        let heatmap = HeatmapNetwork::new(detector, levels, LocalSoftmax::paper());
        let images = golden.leaf::<4>("images", &device);
        let output = heatmap
            .forward(images.clone(), InputStatistics::Batch)
            .unwrap();
        golden.expect("output", output.clone());
        let gradients = contract(output, golden.tensor("cotangent", &device)).backward();
        golden.expect("grad_images", images.grad(&gradients).unwrap());
        let parameters = heatmap.detector.parameters.val();
        golden.expect("grad_parameters", parameters.grad(&gradients).unwrap());
    }
}

/// Every committed file is read by a test above, in `backbones.rs`, `esl16.rs`, `zha18.rs` or `golden_operators.rs`: the families of the
/// last have 37 cases.
#[test]
fn no_golden_file_is_left_out() {
    let layers = 14;
    let residual_blocks = 8;
    let whole = 5;
    let multi_scale = 1;
    let backbones = 3;
    let (esl16, zha18) = (4, 4);
    let operators = 37;
    let networks = layers + residual_blocks + whole + multi_scale + backbones;
    let tested = networks + esl16 + zha18 + operators;
    assert_eq!(golden_files().len(), tested);
}
