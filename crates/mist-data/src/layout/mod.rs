//! Where the objects of a scene stand, and what they are.
//!
//! The digit and glyph kinds differ in their layout only: in data, not in code.

mod clusters;
mod disks;
mod grid;

use std::ops::RangeInclusive;

use crate::bridson::{Domain, Sampler, Spot};
use crate::random::SceneRng;
use crate::surroundings::Surroundings;

/// Side of an object's box at scale 1: the part of an MNIST frame that holds the digit.
pub(crate) const BASE_BOX_PX: i32 = 20;

/// Scales are drawn from `[1/sqrt 2, sqrt 2]`, the range of the multi-scale detector.
const LARGEST_SCALE: f64 = std::f64::consts::SQRT_2;

/// How the objects of one kind are arranged.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    pub canvas_px: i32,
    pub counts: RangeInclusive<usize>,
    pub identities: Identities,
    pub surroundings: Surroundings,
    sizes: Sizes,
    centres: Domain,
    placement: Placement,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Identities {
    /// No repeats, sorted in reading order.
    Sorted,
    /// Independent of each other.
    Random,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sizes {
    Base,
    /// Log-uniform in `[1/sqrt 2, sqrt 2]`.
    Varying,
}

#[derive(Debug, Clone)]
enum Placement {
    /// A square grid with Gaussian jitter.
    Grid { cells_per_side: usize },
    /// Poisson disks (Bridson).
    Disks(Sampler),
    /// Poisson disks, of which those around one or two random foci are kept.
    ///
    /// This takes a larger canvas: with nine 20-px boxes an 80-px canvas is full, and no choice of
    /// positions could leave large parts of it empty.
    Clusters { disks: Sampler, spread_px: i32 },
}

impl Layout {
    /// Nine sorted objects on a jittered grid.
    pub fn easy() -> Self {
        Self::easy_with(9..=9)
    }

    /// The same with a number of its cells filled.
    pub fn easy_with(counts: RangeInclusive<usize>) -> Self {
        Self {
            canvas_px: 80,
            counts,
            identities: Identities::Sorted,
            surroundings: Surroundings::Empty,
            sizes: Sizes::Base,
            centres: centres(80, 1.0),
            placement: Placement::Grid { cells_per_side: 3 },
        }
    }

    /// Objects at random, no two nearer to each other than a distance.
    pub fn disks(counts: RangeInclusive<usize>, min_distance_px: i32) -> Self {
        Self::disks_on(80, counts, min_distance_px)
    }

    /// None, one or two objects on a canvas of 50 px, as in the experiments of Esl16.
    pub fn upto2() -> Self {
        Self::disks_on(50, 0..=2, 20)
    }

    fn disks_on(canvas_px: i32, counts: RangeInclusive<usize>, min_distance_px: i32) -> Self {
        let centres = centres(canvas_px, 1.0);
        Self {
            canvas_px,
            counts,
            identities: Identities::Random,
            surroundings: Surroundings::Empty,
            sizes: Sizes::Base,
            centres,
            placement: Placement::Disks(Sampler::new(centres, min_distance_px)),
        }
    }

    /// Nine objects between fragments of others.
    pub fn cluttered() -> Self {
        Self {
            surroundings: Surroundings::Fragments {
                count: 32,
                side_px: 8,
            },
            ..Self::disks(9..=9, 20)
        }
    }

    /// Nine objects at low contrast over a texture.
    pub fn textured() -> Self {
        Self {
            surroundings: Surroundings::Texture {
                contrast: 0.35,
                deviation: 0.15,
            },
            ..Self::disks(9..=9, 20)
        }
    }

    /// Nine objects in one or two clusters.
    pub fn uneven() -> Self {
        let centres = centres(112, 1.0);
        Self {
            canvas_px: 112,
            counts: 9..=9,
            identities: Identities::Random,
            surroundings: Surroundings::Empty,
            sizes: Sizes::Base,
            centres,
            placement: Placement::Clusters {
                disks: Sampler::new(centres, 20),
                spread_px: 8,
            },
        }
    }

    /// Nine objects of varying size.
    pub fn scale_study() -> Self {
        let centres = centres(112, LARGEST_SCALE);
        Self {
            canvas_px: 112,
            counts: 9..=9,
            identities: Identities::Random,
            surroundings: Surroundings::Empty,
            sizes: Sizes::Varying,
            centres,
            placement: Placement::Disks(Sampler::new(centres, 28)),
        }
    }

    /// Draws the centres of one scene.
    pub fn place(&self, rng: &mut SceneRng) -> Vec<Spot> {
        let (fewest, most) = (*self.counts.start(), *self.counts.end());
        let count = fewest + rng.below(most - fewest + 1);
        match &self.placement {
            Placement::Grid { cells_per_side } => {
                let spots = grid::gaussian(self.canvas_px, *cells_per_side, self.centres, rng);
                if count == spots.len() {
                    return spots;
                }
                let mut cells: Vec<usize> = (0..spots.len()).collect();
                rng.choose(&mut cells, count);
                // In reading order again.
                cells.sort_unstable();
                cells.into_iter().map(|cell| spots[cell]).collect()
            }
            Placement::Disks(sampler) => {
                let mut spots = disks::fill_to(count, sampler, rng);
                rng.choose(&mut spots, count);
                spots
            }
            Placement::Clusters { disks, spread_px } => {
                let spots = disks::fill_to(count, disks, rng);
                clusters::keep(spots, count, *spread_px, self.centres, rng)
            }
        }
    }

    /// Draws the scale of one object.
    pub fn scale(&self, rng: &mut SceneRng) -> f64 {
        match self.sizes {
            Sizes::Base => 1.0,
            Sizes::Varying => libm::exp2(rng.unit() - 0.5),
        }
    }
}

/// Box centres that keep boxes up to the largest scale inside the canvas.
fn centres(canvas_px: i32, largest_scale: f64) -> Domain {
    let margin_px = (f64::from(BASE_BOX_PX) * largest_scale / 2.0).ceil() as i32;
    Domain {
        first_px: margin_px,
        last_px: canvas_px - margin_px,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::split::Split;

    #[test]
    fn a_thousand_scenes_of_each_layout_keep_their_promises() {
        let layouts = [
            ("easy", Layout::easy()),
            ("hard", Layout::disks(9..=9, 20)),
            ("crowded", Layout::disks(9..=9, 16)),
            ("three", Layout::disks(3..=3, 20)),
            ("k3to9", Layout::disks(3..=9, 20)),
            ("easy0to9", Layout::easy_with(0..=9)),
            ("upto2", Layout::upto2()),
            ("uneven", Layout::uneven()),
            ("scale", Layout::scale_study()),
        ];
        for (name, layout) in layouts {
            let min_distance_px = match &layout.placement {
                Placement::Grid { .. } => 0,
                Placement::Disks(disks) | Placement::Clusters { disks, .. } => {
                    disks.min_distance_px()
                }
            };
            let mut counts = BTreeSet::new();
            for index in 0..1000 {
                let mut rng = SceneRng::new(name, 3, Split::Train, index);
                let spots = layout.place(&mut rng);
                counts.insert(spots.len());
                for (place, &spot) in spots.iter().enumerate() {
                    assert!(layout.centres.contains(spot));
                    for &other in &spots[..place] {
                        assert!(spot.squared_distance(other) >= min_distance_px.pow(2));
                    }
                }
            }
            assert!(counts.into_iter().eq(layout.counts), "{name}");
        }
    }
}
