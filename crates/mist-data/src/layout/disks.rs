//! Enough Poisson disks for a scene.

use super::grid;
use crate::bridson::{Sampler, Spot};
use crate::random::SceneRng;

/// Nine disks of 20 px are about as many as fit on the 80-px canvas, so that most fills fall short;
/// yet of this many in a row, none ever does.
const FILLS: usize = 1000;

/// Fills the domain again until at least `count` spots fit, and falls back to a grid if none does.
pub(super) fn fill_to(count: usize, sampler: &Sampler, rng: &mut SceneRng) -> Vec<Spot> {
    for _ in 0..FILLS {
        let spots = sampler.fill(rng);
        if spots.len() >= count {
            return spots;
        }
    }
    grid::spaced(count, sampler.domain(), sampler.min_distance_px(), rng)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridson::Domain;
    use crate::split::Split;

    #[test]
    fn a_domain_too_tight_for_chance_gets_the_grid() {
        // Sixteen spots 20 px apart fit on 61 px in one way only, which chance never finds.
        let domain = Domain {
            first_px: 10,
            last_px: 70,
        };
        let mut rng = SceneRng::new("tight", 0, Split::Train, 0);
        let spots = fill_to(16, &Sampler::new(domain, 20), &mut rng);
        assert_eq!(spots.len(), 16);
        for (place, &spot) in spots.iter().enumerate() {
            assert!(domain.contains(spot));
            for &other in &spots[..place] {
                assert!(spot.squared_distance(other) >= 400);
            }
        }
    }

    #[test]
    fn fills_of_the_layouts_in_use_succeed_often_enough() {
        for (first_px, last_px, min_distance_px) in [(10, 70, 20), (10, 70, 16), (15, 97, 28)] {
            let sampler = Sampler::new(Domain { first_px, last_px }, min_distance_px);
            let mut sizes = [0; 32];
            for index in 0..1000 {
                let mut rng = SceneRng::new("enough", 0, Split::Train, index);
                sizes[sampler.fill(&mut rng).len()] += 1;
            }
            let enough: usize = sizes[9..].iter().sum();
            // Then a thousand fills in a row all fail once in 10^22 scenes.
            assert!(
                enough > 50,
                "{enough} of 1000 at {min_distance_px} px: {sizes:?}"
            );
        }
    }
}
