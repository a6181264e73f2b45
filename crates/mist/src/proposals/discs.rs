//! Proposals for bright objects of any size: the discs that fit into what stands out.

use serde::{Deserialize, Serialize};

use super::distance::distances;
use super::plane::Plane;
use crate::Error;
use crate::geometry::Keypoint;
use crate::settings::{Bounds, LENGTH_PX, within};

/// The side of a square around an object of some area, in diameters of the disc of that area.
const BOX_MARGIN: f32 = 1.1;
/// A pixel belongs to an object up to so many of its disc's diameters from its centre.
const REACH: f32 = 1.5;
/// Pixels above this share of the threshold belong to objects: their rims.
const RIM_FRAC: f32 = 0.6;

/// Where objects that touch are narrow between them, the distance to the background has a maximum in each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Discs {
    /// Objects are above it; folders put Otsu's threshold at a quarter.
    pub threshold: f32,
    /// Smoothing of the image before that, as a standard deviation.
    pub smoothing_px: f32,
    /// Holes in objects up to this width are filled.
    #[serde(skip_serializing_if = "is_zero")]
    pub hole_px: f32,
    /// Smoothing of the distances.
    pub distance_smoothing_px: f32,
    /// Centres are at least so far apart along one axis.
    pub min_distance_px: usize,
}

impl Default for Discs {
    fn default() -> Self {
        Self {
            threshold: 0.25,
            smoothing_px: 1.0,
            hole_px: 0.0,
            distance_smoothing_px: 1.0,
            min_distance_px: 3,
        }
    }
}

/// The objects of an image.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Objects {
    /// Their centres and sizes.
    pub keypoints: Vec<Keypoint>,
    /// Which of them each pixel belongs to.
    pub owners: Vec<Option<u32>>,
}

impl Discs {
    pub(crate) fn check(&self) -> Result<(), Error> {
        within([
            ("discs.threshold", self.threshold, 0.0..=1.0),
            ("discs.smoothing_px", self.smoothing_px, 0.0..=100.0),
            ("discs.hole_px", self.hole_px, 0.0..=1000.0),
            (
                "discs.distance_smoothing_px",
                self.distance_smoothing_px,
                LENGTH_PX,
            ),
        ])?;
        Bounds::new("discs.min_distance_px", 1, 1000).check(self.min_distance_px)
    }

    /// The objects of an image, for boxes of `base_box_px` at scale 1.
    pub(crate) fn objects(&self, image: &Plane, base_box_px: f32) -> Objects {
        let width_px = image.width_px;
        let smooth = image.smoothed(self.smoothing_px);
        let above = |values: &[f32]| values.iter().map(|&v| v > self.threshold).collect();
        let mut inside: Vec<bool> = above(&smooth.values);
        if self.hole_px > 0.0 {
            let area = std::f32::consts::FRAC_PI_4 * self.hole_px * self.hole_px;
            fill_holes(&mut inside, width_px, area as usize);
        }
        let inside = opened(inside, width_px);
        let centres = match inside.contains(&false) {
            true => {
                let distance = distances(&inside, width_px);
                self.centres(&distance.smoothed(self.distance_smoothing_px), &inside)
            }
            // Without a background nothing stands out of it.
            false => Vec::new(),
        };
        let owners = self.owners(&smooth, &centres);
        let mut areas = vec![0.0f32; centres.len()];
        for (owner, value) in owners.iter().zip(&smooth.values) {
            if let Some(owner) = owner.filter(|_| *value > self.threshold) {
                areas[owner as usize] += 1.0;
            }
        }
        let keypoints = centres.iter().zip(areas).map(|(disc, area)| {
            let side_px = (4.0 / std::f32::consts::PI * area)
                .sqrt()
                .max(disc.radius_px);
            Keypoint {
                scale: side_px * BOX_MARGIN / base_box_px,
                x_px: disc.x_px,
                y_px: disc.y_px,
            }
        });
        Objects {
            keypoints: keypoints.collect(),
            owners,
        }
    }

    /// Maxima of the distance, widest first.
    fn centres(&self, distance: &Plane, inside: &[bool]) -> Vec<Disc> {
        let reach = self.min_distance_px as isize;
        let mut maxima = Vec::new();
        for (place, &value) in distance.values.iter().enumerate() {
            let (x, y) = (place % distance.width_px, place / distance.width_px);
            let (x, y) = (x as isize, y as isize);
            let near = (-reach..=reach).flat_map(|dy| (-reach..=reach).map(move |dx| (dx, dy)));
            let higher = |(dx, dy)| distance.nearest(x + dx, y + dy) > value;
            if inside[place] && !near.into_iter().any(higher) {
                maxima.push(Disc {
                    x_px: x as f32 + 0.5,
                    y_px: y as f32 + 0.5,
                    radius_px: value,
                });
            }
        }
        maxima.sort_by(|a, b| b.radius_px.total_cmp(&a.radius_px));
        let mut kept: Vec<Disc> = Vec::new();
        for disc in maxima {
            // Pixels of one height side by side are one maximum.
            let apart = |other: &Disc| {
                let away = (disc.x_px - other.x_px)
                    .abs()
                    .max((disc.y_px - other.y_px).abs());
                away > self.min_distance_px as f32
            };
            if kept.iter().all(apart) {
                kept.push(disc);
            }
        }
        kept
    }

    /// Every bright pixel belongs to the disc that is nearest in units of its radius.
    fn owners(&self, smooth: &Plane, centres: &[Disc]) -> Vec<Option<u32>> {
        let (width, height) = (smooth.width_px, smooth.height_px());
        let mut nearest = vec![f32::INFINITY; smooth.values.len()];
        let mut owners = vec![None; smooth.values.len()];
        for (index, disc) in (0..).zip(centres) {
            let radius_px = disc.radius_px + 1.0;
            let reach_px = 2.0 * REACH * radius_px;
            let span = |centre: f32, side: usize| {
                let first = (centre - reach_px).max(0.0) as usize;
                first..((centre + reach_px).ceil() as usize).min(side)
            };
            for y in span(disc.y_px, height) {
                for x in span(disc.x_px, width) {
                    let place = y * width + x;
                    let (dx, dy) = (x as f32 + 0.5 - disc.x_px, y as f32 + 0.5 - disc.y_px);
                    let away = dx.hypot(dy) / radius_px;
                    let bright = smooth.values[place] > self.threshold * RIM_FRAC;
                    if bright && away < nearest[place].min(2.0 * REACH) {
                        nearest[place] = away;
                        owners[place] = Some(index);
                    }
                }
            }
        }
        owners
    }
}

#[derive(Clone, Copy, Debug)]
struct Disc {
    x_px: f32,
    y_px: f32,
    radius_px: f32,
}

/// Parts outside of a shape that are no larger than `most` pixels and do not touch the edge become part of it.
fn fill_holes(inside: &mut [bool], width_px: usize, most: usize) {
    let mut seen = inside.to_vec();
    let mut part = Vec::new();
    for first in 0..seen.len() {
        if seen[first] {
            continue;
        }
        seen[first] = true;
        part.clear();
        part.push(first);
        let (mut next, mut at_edge) = (0, false);
        while next < part.len() {
            for neighbour in neighbours(part[next], width_px, seen.len()) {
                match neighbour {
                    None => at_edge = true,
                    Some(place) if !seen[place] => {
                        seen[place] = true;
                        part.push(place);
                    }
                    Some(_) => {}
                }
            }
            next += 1;
        }
        if !at_edge && part.len() <= most {
            part.iter().for_each(|&place| inside[place] = true);
        }
    }
}

/// The pixels left, right, above and below; `None` beyond the edge.
fn neighbours(place: usize, width_px: usize, area: usize) -> [Option<usize>; 4] {
    let x = place % width_px;
    [
        (x > 0).then(|| place - 1),
        (x + 1 < width_px).then_some(place + 1),
        place.checked_sub(width_px),
        Some(place + width_px).filter(|&below| below < area),
    ]
}

fn is_zero(value: &f32) -> bool {
    *value == 0.0
}

/// A shape without what a cross of five pixels does not fit into.
fn opened(inside: Vec<bool>, width_px: usize) -> Vec<bool> {
    let cross = |shape: &[bool], place: usize| {
        neighbours(place, width_px, shape.len())
            .map(|neighbour| neighbour.map(|place| shape[place]))
    };
    let all = |place| inside[place] && cross(&inside, place).iter().all(|n| *n != Some(false));
    let eroded: Vec<bool> = (0..inside.len()).map(all).collect();
    let any = |place| eroded[place] || cross(&eroded, place).contains(&Some(true));
    (0..inside.len()).map(any).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blobs(blobs: &[(f32, f32, f32)], width_px: usize, height_px: usize) -> Plane {
        let value = |place: usize| {
            let (x, y) = (
                (place % width_px) as f32 + 0.5,
                (place / width_px) as f32 + 0.5,
            );
            let inside = |blob: &&(f32, f32, f32)| (x - blob.0).hypot(y - blob.1) < blob.2;
            f32::from(blobs.iter().any(|blob| inside(&blob))) * 0.6
        };
        Plane {
            values: (0..width_px * height_px).map(value).collect(),
            width_px,
        }
    }

    #[test]
    fn objects_that_touch_are_told_apart_whatever_their_sizes() {
        let truth = [(30.0, 30.0, 14.0), (50.0, 30.0, 8.0), (72.0, 60.0, 5.0)];
        let objects = Discs::default().objects(&blobs(&truth, 90, 80), 20.0);
        assert_eq!(objects.keypoints.len(), 3, "{:?}", objects.keypoints);
        for ((x, y, radius), found) in truth.iter().zip(&objects.keypoints) {
            assert!((found.x_px - x).hypot(found.y_px - y) < 2.5, "{found:?}");
            let side_px = found.scale * 20.0;
            assert!((side_px / (2.0 * radius) - 1.1).abs() < 0.25, "{found:?}");
            let place = *y as usize * 90 + *x as usize;
            let owner = objects.owners[place].unwrap() as usize;
            assert_eq!(objects.keypoints[owner], *found);
        }
    }

    #[test]
    fn rings_are_discs_where_holes_are_filled() {
        let mut image = blobs(&[(30.0, 30.0, 14.0)], 60, 60);
        let hole = blobs(&[(30.0, 30.0, 6.0)], 60, 60);
        for (value, hole) in image.values.iter_mut().zip(hole.values) {
            *value -= hole;
        }
        let objects = |hole_px| {
            let discs = Discs {
                hole_px,
                ..Discs::default()
            };
            discs.objects(&image, 20.0).keypoints
        };
        assert!(objects(6.0).len() > 1);
        let filled = objects(14.0);
        assert_eq!(filled.len(), 1, "{filled:?}");
        assert!((filled[0].x_px - 30.0).hypot(filled[0].y_px - 30.0) < 2.0);
    }

    #[test]
    fn nothing_stands_out_of_one_colour() {
        for value in [0.0, 1.0] {
            let plane = Plane {
                values: vec![value; 20 * 10],
                width_px: 20,
            };
            let objects = Discs::default().objects(&plane, 20.0);
            assert!(objects.keypoints.is_empty());
        }
    }
}
