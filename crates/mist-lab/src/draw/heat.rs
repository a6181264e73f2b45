//! Colours for heat.

use super::canvas::Plane;

/// Nine even steps through matplotlib's "inferno", which is as bright as its value to the eye.
const INFERNO: [[f32; 3]; 9] = [
    [0.001, 0.0, 0.014],
    [0.128, 0.047, 0.29],
    [0.34, 0.062, 0.429],
    [0.539, 0.134, 0.416],
    [0.733, 0.214, 0.332],
    [0.892, 0.35, 0.197],
    [0.977, 0.553, 0.038],
    [0.976, 0.791, 0.197],
    [0.988, 0.998, 0.645],
];

/// The colour of a fraction of the largest heat; fractions outside `[0, 1]` are clipped.
pub(super) fn colour(fraction: f32) -> [f32; 3] {
    let position = fraction.clamp(0.0, 1.0) * (INFERNO.len() - 1) as f32;
    let low = (position as usize).min(INFERNO.len() - 2);
    let rest = position - low as f32;
    [0, 1, 2].map(|channel| INFERNO[low][channel] * (1.0 - rest) + INFERNO[low + 1][channel] * rest)
}

/// Red, green and blue of each value that there is, from zero to the plane's own maximum.
pub(super) fn colours(plane: Plane) -> [Vec<f32>; 3] {
    let area = plane.width_px.saturating_mul(plane.height_px);
    let values = &plane.values[..plane.values.len().min(area)];
    let finite = values.iter().copied().filter(|value| value.is_finite());
    let largest = finite.fold(f32::MIN_POSITIVE, f32::max);
    let mut channels = [0, 1, 2].map(|_| Vec::with_capacity(values.len()));
    for &value in values {
        let value = if value.is_finite() { value } else { 0.0 };
        for (channel, level) in channels.iter_mut().zip(colour(value / largest)) {
            channel.push(level);
        }
    }
    channels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_exact_and_brightness_grows() {
        assert_eq!(colour(-1.0), INFERNO[0]);
        assert_eq!(colour(2.0), INFERNO[8]);
        assert_eq!(colour(0.5), INFERNO[4]);
        let luma = |fraction: f32| {
            let [red, green, blue] = colour(fraction);
            0.2126 * red + 0.7152 * green + 0.0722 * blue
        };
        assert!((0..100).all(|step| luma(step as f32 / 100.0) < luma((step + 1) as f32 / 100.0)));
    }

    #[test]
    fn colours_span_the_plane_and_odd_values_are_cold() {
        let plane = Plane {
            values: &[f32::NAN, f32::INFINITY, 40.0, 20.0, -1.0],
            width_px: usize::MAX,
            height_px: 2,
        };
        let channels = colours(plane);
        let at = |place: usize| [0, 1, 2].map(|channel: usize| channels[channel][place]);
        assert_eq!([at(0), at(1), at(4)], [INFERNO[0]; 3]);
        assert_eq!((at(2), at(3)), (INFERNO[8], INFERNO[4]));
    }

    #[test]
    fn a_plane_of_zeros_is_cold() {
        let plane = Plane {
            values: &[0.0; 4],
            width_px: 2,
            height_px: 2,
        };
        assert_eq!(colours(plane)[2], [INFERNO[0][2]; 4]);
    }
}
