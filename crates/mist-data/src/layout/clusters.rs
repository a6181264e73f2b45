//! Clustered positions.

use crate::bridson::{Domain, Spot};
use crate::random::SceneRng;

/// Keeps `count` spots near one or two random foci.
///
/// Weighted sampling without replacement, with weights that fall off as a Gaussian of the distance
/// to the nearest focus: adding Gumbel noise to the log weights and keeping the largest is that.
pub(super) fn keep(
    spots: Vec<Spot>,
    count: usize,
    spread_px: i32,
    domain: Domain,
    rng: &mut SceneRng,
) -> Vec<Spot> {
    let foci: Vec<Spot> = (0..1 + rng.below(2)).map(|_| domain.draw(rng)).collect();
    let variance_px2 = f64::from(spread_px * spread_px);
    let mut keyed: Vec<(f64, Spot)> = spots
        .into_iter()
        .map(|spot| {
            let nearest = foci.iter().map(|&focus| spot.squared_distance(focus)).min();
            let log_weight = -f64::from(nearest.unwrap_or(0)) / (2.0 * variance_px2);
            let gumbel = -libm::log(-libm::log(rng.unit().max(f64::MIN_POSITIVE)));
            (log_weight + gumbel, spot)
        })
        .collect();
    keyed.sort_by(|a, b| b.0.total_cmp(&a.0));
    keyed.truncate(count);
    keyed.into_iter().map(|(_, spot)| spot).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridson::Sampler;
    use crate::split::Split;

    /// Mean distance between the spots of a scene and their centre of mass.
    fn spread(spots: &[Spot]) -> f64 {
        let count = spots.len() as f64;
        let x = spots.iter().map(|spot| f64::from(spot.x_px)).sum::<f64>() / count;
        let y = spots.iter().map(|spot| f64::from(spot.y_px)).sum::<f64>() / count;
        let distance = |spot: &Spot| (f64::from(spot.x_px) - x).hypot(f64::from(spot.y_px) - y);
        spots.iter().map(distance).sum::<f64>() / count
    }

    #[test]
    fn spots_are_kept_together() {
        let domain = Domain {
            first_px: 10,
            last_px: 102,
        };
        let sampler = Sampler::new(domain, 20);
        let (mut clustered, mut even) = (0.0, 0.0);
        for index in 0..500 {
            let mut rng = SceneRng::new("clusters", 1, Split::Train, index);
            let mut spots = sampler.fill(&mut rng);
            clustered += spread(&keep(spots.clone(), 9, 8, domain, &mut rng));
            rng.choose(&mut spots, 9);
            even += spread(&spots);
        }
        // Scenes with two foci spread further than those with one.
        assert!(clustered < 0.85 * even, "{clustered} against {even}");
    }
}
