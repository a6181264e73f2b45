//! Poisson-disk sampling: R. Bridson, "Fast Poisson disk sampling in arbitrary dimensions",
//! SIGGRAPH 2007 sketches. The paper draws MNIST-hard positions with it.

use std::f64::consts::SQRT_2;

use crate::random::SceneRng;

/// Bridson's k: candidates tried around an active point before it retires.
const TRIES: usize = 30;

/// A whole-pixel position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Spot {
    pub x_px: i32,
    pub y_px: i32,
}

impl Spot {
    pub fn squared_distance(self, other: Spot) -> i32 {
        let (dx, dy) = (self.x_px - other.x_px, self.y_px - other.y_px);
        dx * dx + dy * dy
    }
}

/// The square of admissible positions: whole pixels from first to last, both included, on each axis.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Domain {
    pub first_px: i32,
    pub last_px: i32,
}

impl Domain {
    pub fn contains(self, spot: Spot) -> bool {
        let range = self.first_px..=self.last_px;
        range.contains(&spot.x_px) && range.contains(&spot.y_px)
    }

    pub fn draw(self, rng: &mut SceneRng) -> Spot {
        Spot {
            x_px: rng.whole(self.first_px, self.last_px),
            y_px: rng.whole(self.first_px, self.last_px),
        }
    }
}

/// A sampler for one domain and one minimum distance.
///
/// Candidates are whole pixels from the start, so that the minimum distance holds exactly for what
/// is drawn.
#[derive(Debug, Clone)]
pub(crate) struct Sampler {
    domain: Domain,
    min_distance_px: i32,
    /// Every whole-pixel step of one to two minimum distances: the annulus, ready to draw from.
    annulus: Vec<Spot>,
}

impl Sampler {
    pub fn new(domain: Domain, min_distance_px: i32) -> Self {
        let squared_px = min_distance_px * min_distance_px;
        let reach_px = -2 * min_distance_px..=2 * min_distance_px;
        let centre = Spot { x_px: 0, y_px: 0 };
        let annulus = reach_px
            .clone()
            .flat_map(|y_px| reach_px.clone().map(move |x_px| Spot { x_px, y_px }))
            .filter(|step| (squared_px..=4 * squared_px).contains(&step.squared_distance(centre)))
            .collect();
        Self {
            domain,
            min_distance_px,
            annulus,
        }
    }

    pub fn domain(&self) -> Domain {
        self.domain
    }

    pub fn min_distance_px(&self) -> i32 {
        self.min_distance_px
    }

    /// Fills the domain until no active point finds room for another.
    pub fn fill(&self, rng: &mut SceneRng) -> Vec<Spot> {
        let mut grid = Grid::new(self.domain, self.min_distance_px);
        let first = self.domain.draw(rng);
        grid.insert(first);
        let mut spots = vec![first];
        let mut active = vec![first];
        while !active.is_empty() {
            let chosen = rng.below(active.len());
            let found = (0..TRIES)
                .map(|_| self.candidate(active[chosen], rng))
                .find(|&spot| self.domain.contains(spot) && grid.is_free(spot));
            match found {
                Some(spot) => {
                    grid.insert(spot);
                    spots.push(spot);
                    active.push(spot);
                }
                None => {
                    active.swap_remove(chosen);
                }
            }
        }
        spots
    }

    fn candidate(&self, around: Spot, rng: &mut SceneRng) -> Spot {
        let step = self.annulus[rng.below(self.annulus.len())];
        Spot {
            x_px: around.x_px + step.x_px,
            y_px: around.y_px + step.y_px,
        }
    }
}

/// Bridson's background grid: cells so small that each holds at most one point, so that only the
/// cells up to two steps away can hold a point that is too near.
struct Grid {
    domain: Domain,
    squared_min_px: i32,
    cell_px: f64,
    cells_per_side: usize,
    cells: Vec<Option<Spot>>,
}

impl Grid {
    fn new(domain: Domain, min_distance_px: i32) -> Self {
        let cell_px = f64::from(min_distance_px) / SQRT_2;
        let side_px = f64::from(domain.last_px - domain.first_px);
        let cells_per_side = (side_px / cell_px) as usize + 1;
        Self {
            domain,
            squared_min_px: min_distance_px * min_distance_px,
            cell_px,
            cells_per_side,
            cells: vec![None; cells_per_side * cells_per_side],
        }
    }

    fn cell(&self, offset_px: i32) -> usize {
        let cell = (f64::from(offset_px - self.domain.first_px) / self.cell_px) as usize;
        cell.min(self.cells_per_side - 1)
    }

    fn insert(&mut self, spot: Spot) {
        let place = self.cell(spot.y_px) * self.cells_per_side + self.cell(spot.x_px);
        self.cells[place] = Some(spot);
    }

    fn is_free(&self, spot: Spot) -> bool {
        let near = |offset_px| {
            let cell = self.cell(offset_px);
            cell.saturating_sub(2)..(cell + 3).min(self.cells_per_side)
        };
        near(spot.y_px).all(|row| {
            near(spot.x_px).all(|column| {
                self.cells[row * self.cells_per_side + column]
                    .is_none_or(|other| spot.squared_distance(other) >= self.squared_min_px)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::Split;

    const DOMAIN: Domain = Domain {
        first_px: 10,
        last_px: 70,
    };

    #[test]
    fn minimum_distance_is_exact_and_often_met() {
        for min_distance_px in [16, 20, 28] {
            let sampler = Sampler::new(DOMAIN, min_distance_px);
            let mut nearest = i32::MAX;
            for index in 0..1000 {
                let mut rng = SceneRng::new("bridson", 1, Split::Train, index);
                let spots = sampler.fill(&mut rng);
                for (place, &spot) in spots.iter().enumerate() {
                    assert!(DOMAIN.contains(spot));
                    for &other in &spots[..place] {
                        nearest = nearest.min(spot.squared_distance(other));
                    }
                }
            }
            assert_eq!(nearest, min_distance_px * min_distance_px);
        }
    }

    #[test]
    fn nearly_every_fill_leaves_no_large_hole() {
        // Thirty tries miss a free spot now and then; a hole twice as wide must not occur.
        let sampler = Sampler::new(DOMAIN, 20);
        for index in 0..200 {
            let mut rng = SceneRng::new("holes", 1, Split::Train, index);
            let spots = sampler.fill(&mut rng);
            for x_px in 10..=70 {
                for y_px in 10..=70 {
                    let here = Spot { x_px, y_px };
                    assert!(
                        spots
                            .iter()
                            .any(|spot| spot.squared_distance(here) < 40 * 40)
                    );
                }
            }
        }
    }
}
