//! E_K for detectors that tell sizes.

use crate::extract::{ScoredKeypoint, Selection};
use crate::geometry::Keypoint;

/// An object hides others whose centre is nearer than this share of its side.
const HIDDEN_FRAC: f32 = 0.5;
/// Scores below this are nothing.
const LEAST: f32 = 0.02;
/// Logarithms of scales beyond these are no sizes.
const LOG_SCALES: std::ops::RangeInclusive<f32> = -5.0..=6.0;

/// Heat and the logarithm of the scale of every pixel.
pub(super) struct Maps {
    pub heat: Vec<f32>,
    pub sizes: Vec<f32>,
    pub width_px: usize,
}

impl Maps {
    /// The maxima of heat, strongest first, as many as are wanted; `base_box_px` at scale 1.
    pub fn peaks(&self, selection: Selection, base_box_px: f32) -> Vec<ScoredKeypoint> {
        let (least, most) = match selection {
            Selection::Strongest(most) => (LEAST, most),
            Selection::AtLeast(least) => (least.max(LEAST), Selection::MOST),
        };
        let mut peaks: Vec<usize> = (0..self.heat.len())
            .filter(|&place| self.heat[place] >= least && self.is_highest(place))
            .collect();
        peaks.sort_by(|&a, &b| self.heat[b].total_cmp(&self.heat[a]).then(a.cmp(&b)));
        let mut grid = Grid::default();
        let mut kept: Vec<ScoredKeypoint> = Vec::new();
        for place in peaks {
            if kept.len() == most {
                break;
            }
            let found = self.keypoint(place);
            let hidden_by = |&other: &usize| hides(&kept[other].keypoint, &found, base_box_px);
            let reach_px = HIDDEN_FRAC * base_box_px * found.scale.max(grid.largest);
            if !grid.near(found, reach_px).any(|other| hidden_by(&other)) {
                grid.insert(found, kept.len());
                kept.push(ScoredKeypoint {
                    keypoint: found,
                    score: self.heat[place],
                });
            }
        }
        kept
    }

    /// Whether no neighbour is higher; of equal ones the first is.
    fn is_highest(&self, place: usize) -> bool {
        let (width, height) = (self.width_px, self.heat.len() / self.width_px);
        let (x, y) = (place % width, place / width);
        let rows = y.saturating_sub(1)..(y + 2).min(height);
        rows.flat_map(|row| {
            let columns = x.saturating_sub(1)..(x + 2).min(width);
            columns.map(move |column| row * width + column)
        })
        .all(|other| {
            let (own, theirs) = (self.heat[place], self.heat[other]);
            own > theirs || (own == theirs && place <= other)
        })
    }

    fn keypoint(&self, place: usize) -> Keypoint {
        let size = self.sizes[place].clamp(*LOG_SCALES.start(), *LOG_SCALES.end());
        Keypoint {
            x_px: (place % self.width_px) as f32 + 0.5,
            y_px: (place / self.width_px) as f32 + 0.5,
            scale: size.exp2(),
        }
    }
}

/// Whether one object is so near that the other is taken for a part of it.
pub(super) fn hides(one: &Keypoint, other: &Keypoint, base_box_px: f32) -> bool {
    let away_px = (other.x_px - one.x_px).hypot(other.y_px - one.y_px);
    away_px < HIDDEN_FRAC * other.scale.max(one.scale) * base_box_px
}

/// Keypoints by cells, so that each is compared with those around it alone.
#[derive(Default)]
struct Grid {
    cells: std::collections::HashMap<(i32, i32), Vec<usize>>,
    largest: f32,
}

impl Grid {
    const CELL_PX: f32 = 32.0;

    fn insert(&mut self, keypoint: Keypoint, index: usize) {
        let cell = [keypoint.x_px, keypoint.y_px].map(|px| (px / Self::CELL_PX) as i32);
        self.cells
            .entry((cell[0], cell[1]))
            .or_default()
            .push(index);
        self.largest = self.largest.max(keypoint.scale);
    }

    fn near(&self, keypoint: Keypoint, reach_px: f32) -> impl Iterator<Item = usize> {
        let span = |px: f32| {
            let cell = |px: f32| (px / Self::CELL_PX).floor() as i32;
            cell(px - reach_px)..=cell(px + reach_px)
        };
        let columns = span(keypoint.x_px);
        let cells = span(keypoint.y_px).flat_map(move |y| columns.clone().map(move |x| (x, y)));
        cells.flat_map(|cell| self.cells.get(&cell).into_iter().flatten().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_hides_what_its_size_covers() {
        let (width_px, height_px) = (64, 48);
        let mut maps = Maps {
            heat: vec![0.0; width_px * height_px],
            sizes: vec![0.0; width_px * height_px],
            width_px,
        };
        for (x, y, heat, size) in [
            (10, 10, 0.9, 1.0),
            (18, 10, 0.8, 0.0),
            (34, 10, 0.7, 0.0),
            (40, 40, 0.1, 0.0),
        ] {
            maps.heat[y * width_px + x] = heat;
            maps.sizes[y * width_px + x] = size;
        }
        let places = |selection| -> Vec<f32> {
            let peaks = maps.peaks(selection, 20.0);
            peaks.iter().map(|found| found.keypoint.x_px).collect()
        };
        // The first is 40 px wide: what is within 20 px of its centre is hidden.
        assert_eq!(places(Selection::AtLeast(0.05)), [10.5, 34.5, 40.5]);
        assert_eq!(places(Selection::AtLeast(0.5)), [10.5, 34.5]);
        assert_eq!(places(Selection::Strongest(1)), [10.5]);
        assert_eq!(
            maps.peaks(Selection::Strongest(1), 20.0)[0].keypoint.scale,
            2.0
        );
    }
}
