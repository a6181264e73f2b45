//! Digits of one split never show up in scenes of another.
#![allow(clippy::unwrap_used, clippy::panic)]

mod real_digits;

use std::collections::HashSet;

use mist_data::{Instance, Scene, SceneKind, SceneSet, Split};

const FRAME_PX: usize = 28;

/// The frame an instance was drawn from, if it lies whole in the scene and no other touches it.
fn lone_frame(scene: &Scene, instance: &Instance) -> Option<Vec<u8>> {
    let (x_px, y_px) = instance.bounds.centre_px();
    let lone = scene.instances.iter().all(|other| {
        let (other_x_px, other_y_px) = other.bounds.centre_px();
        let apart = (other_x_px - x_px).abs().max((other_y_px - y_px).abs());
        other == instance || apart >= FRAME_PX as f32
    });
    let room = |offset_px: f32| (14.0..=66.0).contains(&offset_px);
    if !lone || !room(x_px) || !room(y_px) {
        return None;
    }
    let (left, top) = (x_px as usize - 14, y_px as usize - 14);
    let image = &scene.image;
    let pixel = |place: usize| {
        let (x_px, y_px) = (left + place % FRAME_PX, top + place / FRAME_PX);
        (image.pixels[image.offset(x_px, y_px, 0)] * 255.0).round() as u8
    };
    Some((0..FRAME_PX * FRAME_PX).map(pixel).collect())
}

#[test]
fn every_digit_comes_from_its_own_split() {
    let Some(digits) = real_digits::digits("every_digit_comes_from_its_own_split") else {
        return;
    };
    assert_eq!(digits.indices(Split::Train), 0..55_000);
    assert_eq!(digits.indices(Split::Valid), 55_000..60_000);
    assert_eq!(digits.indices(Split::Test), 60_000..70_000);
    for split in Split::ALL {
        let own: HashSet<(&[u8], usize)> = digits
            .indices(split)
            .filter_map(|index| digits.get(index))
            .map(|digit| (digit.frame, digit.label))
            .collect();
        let set = SceneSet::new(SceneKind::Three, 9, split, Some(digits.clone())).unwrap();
        let mut recognised = 0;
        for index in 0..500 {
            let scene = set.scene(index);
            for instance in &scene.instances {
                if let Some(frame) = lone_frame(&scene, instance) {
                    assert!(
                        own.contains(&(&frame[..], instance.label)),
                        "{split} {index}"
                    );
                    recognised += 1;
                }
            }
        }
        assert!(recognised > 200, "{recognised}");
    }
}
