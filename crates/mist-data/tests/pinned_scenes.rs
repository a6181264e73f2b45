//! A published seed names the same images for ever: sums of the first scenes of every kind.
//!
//! If a change to the generators is meant to change scenes, change the version in the scene key as
//! well, and take the sums from the failure message.
#![allow(clippy::unwrap_used, clippy::panic)]

mod real_digits;

use std::sync::Arc;

use mist_data::{Digits, SceneKind, SceneSet, Split};
use sha2::{Digest, Sha256};

fn sum(kind: SceneKind, digits: Option<Arc<Digits>>) -> String {
    let set = SceneSet::new(kind, 1, Split::Test, digits).unwrap();
    let mut hash = Sha256::new();
    for index in 0..4 {
        let scene = set.scene(index);
        for value in &scene.image.pixels {
            hash.update(value.to_le_bytes());
        }
        for instance in &scene.instances {
            let bounds = instance.bounds;
            let side_px = set.base_box_px() * instance.scale;
            hash.update((instance.label as u64).to_le_bytes());
            for value in [
                bounds.x_min_px,
                bounds.y_min_px,
                side_px,
                side_px,
                instance.scale,
                instance.weight,
            ] {
                hash.update(value.to_le_bytes());
            }
        }
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn check(pinned: &[(SceneKind, &str)], digits: Option<Arc<Digits>>) {
    let found: Vec<(SceneKind, String)> = pinned
        .iter()
        .map(|&(kind, _)| (kind, sum(kind, digits.clone())))
        .collect();
    for ((kind, sum), (_, expected)) in found.iter().zip(pinned) {
        assert_eq!(sum, expected, "{kind}; all: {found:#?}");
    }
}

#[test]
fn scenes_without_digits() {
    let pinned = [
        (
            SceneKind::Glyphs,
            "a1d7677d13038535cf8e2b2317f5136995ed0d008d44e3f08b6ed0db18b1d097",
        ),
        (
            SceneKind::Gabor,
            "422bcc627d38463f557adf7bd0368f5ee5e0462148762a0d6ed3b7601b245ca8",
        ),
        (
            SceneKind::Gabor64,
            "f2f3ed674f2c660c6c80bc556f17bc42041e8feffef9b3510ba1ce3735500242",
        ),
        (
            SceneKind::Gabor256,
            "bc6e6bb8a6d7a82cd3d849051e792762cab3ecdcb4853615aa2bfe5f520f0ae7",
        ),
    ];
    assert!(pinned.iter().all(|(kind, _)| !kind.needs_digits()));
    check(&pinned, None);
}

#[test]
fn scenes_with_digits() {
    let Some(digits) = real_digits::digits("scenes_with_digits") else {
        return;
    };
    let pinned = [
        (
            SceneKind::Easy,
            "0504469af9041656f4cb581bf8450a5fc66735723e6d460d33a92eee75c1235f",
        ),
        (
            SceneKind::Hard,
            "ffa43ec18dffc3c5e9ae64b06c479b1a73fcdcec1053359f47ec09a7241f3bf4",
        ),
        (
            SceneKind::Crowded,
            "273795242ac97e3d7d68698c8c025a76755661a01f258e0defb11b0ac463ca8c",
        ),
        (
            SceneKind::Three,
            "5ddcc98695d9456512dda4c14fb0c3d285acf3fe9b92707fc81a79a82a951503",
        ),
        (
            SceneKind::Uneven,
            "1c7861d43cdfafe053279cad5f238790b9e1ef76e6511d2a67e9aedb526124cc",
        ),
        (
            SceneKind::K9,
            "a1dc80a380aa637d9393bc9979f2029f68c25b1db6cc7f64cec3efccbec0c070",
        ),
        (
            SceneKind::K6to9,
            "b0cf3411df4666a39e905efc33677ce926972459876830fce4b0aaf108f06f4d",
        ),
        (
            SceneKind::K3to9,
            "b29bea863e4878c264664e61e161121cdbc6ef46ea42795ab555e4fc204acb21",
        ),
        (
            SceneKind::Easy0to9,
            "c237f7b3bd6f3aa2a4513be590a1aae964c28d2f2fe219f7bf79dbe2802a7905",
        ),
        (
            SceneKind::Hard0to9,
            "ca9626648ba838b418fc90cf030711a94a9f3e30883c80b89c45f2465a05660e",
        ),
        (
            SceneKind::Upto2,
            "05a53ecde9622673016705713a0605214a5b0938b4646127e8aaba11064ab05e",
        ),
        (
            SceneKind::Cluttered,
            "e263f064d271dc2c14ff18ec6cd443cfb27bd696493957b2bef276b41a952d3e",
        ),
        (
            SceneKind::Textured,
            "7698ea9702f5507acd667621c64f6d0520111771963b3eecd12af76003972795",
        ),
        (
            SceneKind::Scale,
            "561194d6119bf9b8e454030088961e261792394c1ff856633733a302ea9a5050",
        ),
    ];
    let needing = SceneKind::ALL
        .into_iter()
        .filter(|kind| kind.needs_digits());
    assert!(needing.eq(pinned.iter().map(|&(kind, _)| kind)));
    check(&pinned, Some(digits));
}
