//! Colours for heat.

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

/// The colour of a share of the largest heat; shares outside `[0, 1]` are clipped.
pub(super) fn colour(share: f32) -> [f32; 3] {
    let position = share.clamp(0.0, 1.0) * (INFERNO.len() - 1) as f32;
    let low = (position as usize).min(INFERNO.len() - 2);
    let fraction = position - low as f32;
    [0, 1, 2].map(|channel| {
        INFERNO[low][channel] * (1.0 - fraction) + INFERNO[low + 1][channel] * fraction
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_exact_and_brightness_grows() {
        assert_eq!(colour(-1.0), INFERNO[0]);
        assert_eq!(colour(2.0), INFERNO[8]);
        assert_eq!(colour(0.5), INFERNO[4]);
        let luma = |share: f32| {
            let [red, green, blue] = colour(share);
            0.2126 * red + 0.7152 * green + 0.0722 * blue
        };
        assert!((0..100).all(|step| luma(step as f32 / 100.0) < luma((step + 1) as f32 / 100.0)));
    }
}
