//! What marks an instance on a sheet.

use super::{Captions, bitmap};
use crate::scene::{Instance, Scene};

/// Boxes that cover the scene more often than this hide it.
const MAX_COVERS: f32 = 3.0;

const CROSS_REACH: i64 = 3;

/// A pixel of the enlarged scene, perhaps outside of it.
pub(super) struct Dot {
    pub x: i64,
    pub y: i64,
}

pub(super) fn is_crowded(scene: &Scene) -> bool {
    let areas_px2 = scene.instances.iter().map(|one| one.bounds.area_px2());
    let boxes_px2: f32 = areas_px2.sum();
    boxes_px2 > MAX_COVERS * (scene.image.width_px * scene.image.height_px) as f32
}

pub(super) fn cross((x_px, y_px): (f32, f32), zoom: usize) -> Vec<Dot> {
    let (x, y) = (enlarged(x_px, zoom), enlarged(y_px, zoom));
    (-CROSS_REACH..=CROSS_REACH)
        .flat_map(|step| [Dot { x: x + step, y }, Dot { x, y: y + step }])
        .collect()
}

/// The box, and its caption inside the top-left corner.
pub(super) fn outline(instance: &Instance, zoom: usize, captions: Captions) -> Vec<Dot> {
    let bounds = instance.bounds;
    let left = enlarged(bounds.x_min_px, zoom);
    let right = enlarged(bounds.x_max_px, zoom) - 1;
    let top = enlarged(bounds.y_min_px, zoom);
    let bottom = enlarged(bounds.y_max_px, zoom) - 1;
    let across = (left..=right).flat_map(|x| [Dot { x, y: top }, Dot { x, y: bottom }]);
    let down = (top..=bottom).flat_map(|y| [Dot { x: left, y }, Dot { x: right, y }]);
    let label = match captions {
        Captions::Labels => bitmap::dots(instance.label),
        Captions::None => Vec::new(),
    };
    let label = label.into_iter().map(|(column, row)| Dot {
        x: left + 2 + column,
        y: top + 2 + row,
    });
    across.chain(down).chain(label).collect()
}

fn enlarged(offset_px: f32, zoom: usize) -> i64 {
    (offset_px * zoom as f32).round() as i64
}
