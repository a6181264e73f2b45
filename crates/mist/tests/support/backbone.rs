//! Weights of backbones by a rule.

use mist::backbone::NamedWeights;
use mist_kernels::network::{Network, ParameterSpec};

/// The checksum of zlib, bit by bit.
fn crc32(text: &str) -> u64 {
    let mut sum = u32::MAX;
    for byte in text.bytes() {
        sum ^= u32::from(byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 {
                sum >> 1 ^ 0xEDB8_8320
            } else {
                sum >> 1
            };
        }
    }
    u64::from(!sum)
}

/// `python/golden/pseudo.py`: splitmix64 of index and label, its top 24 bits as a number in [-1, 1).
pub fn pseudo(label: &str, count: usize, scale: f64, shift: f64) -> Vec<f32> {
    let salt = crc32(label) << 32;
    let value = |index: u64| {
        let mut z = (index + salt).wrapping_add(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        let unit = 2.0 * ((z >> 40) as f64 / f64::from(1 << 24)) - 1.0;
        (shift + scale * unit) as f32
    };
    (0..count as u64).map(value).collect()
}

/// Names of torchvision's convolutions and norms, in the order of our parameters.
pub fn names(architecture: &str) -> Vec<(String, String)> {
    let pair = |conv: &str, norm: &str| (conv.to_owned(), norm.to_owned());
    let mut names = Vec::new();
    if architecture == "mobilenet_v2" {
        names.push(pair("features.0.0", "features.0.1"));
        for block in 1..=13 {
            let groups = if block == 1 { 1 } else { 2 };
            for group in 0..groups {
                let conv = format!("features.{block}.conv.{group}");
                names.push((format!("{conv}.0"), format!("{conv}.1")));
            }
            let conv = format!("features.{block}.conv");
            names.push((format!("{conv}.{groups}"), format!("{conv}.{}", groups + 1)));
        }
        names.push(pair("features.14.conv.0.0", "features.14.conv.0.1"));
        return names;
    }
    let blocks = if architecture == "resnet18" {
        [2, 2, 2]
    } else {
        [3, 4, 6]
    };
    names.push(pair("conv1", "bn1"));
    for (stage, blocks) in blocks.into_iter().enumerate() {
        for block in 0..blocks {
            let within = format!("layer{}.{block}", stage + 1);
            for number in 1..=2 {
                names.push((
                    format!("{within}.conv{number}"),
                    format!("{within}.bn{number}"),
                ));
            }
            if stage > 0 && block == 0 {
                let down = format!("{within}.downsample");
                names.push((format!("{down}.0"), format!("{down}.1")));
            }
        }
    }
    names
}

pub fn weights(architecture: &str, network: &Network) -> NamedWeights {
    let specs: Vec<ParameterSpec> = network.parameters();
    let names = names(architecture);
    assert_eq!(specs.len(), 2 * names.len());
    let mut weights = NamedWeights::default();
    for ((conv, norm), pair) in names.into_iter().zip(specs.chunks_exact(2)) {
        let shape = pair[0].shape.clone();
        let inputs: usize = shape[1..].iter().product();
        let mut insert = |name: String, shape: Vec<usize>, scale: f64, shift: f64| {
            let count = shape.iter().product();
            let values = pseudo(&format!("{architecture}/{name}"), count, scale, shift);
            weights.insert(name, shape, values);
        };
        let channels = vec![shape[0]];
        insert(
            format!("{conv}.weight"),
            shape,
            (3.0 / inputs as f64).sqrt(),
            0.0,
        );
        for (part, scale, shift) in [
            ("weight", 0.25, 1.0),
            ("bias", 0.1, 0.0),
            ("running_mean", 0.1, 0.0),
            ("running_var", 0.5, 1.0),
        ] {
            insert(format!("{norm}.{part}"), channels.clone(), scale, shift);
        }
    }
    weights
}
