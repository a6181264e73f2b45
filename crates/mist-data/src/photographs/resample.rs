//! Photographs resized with a triangle filter as wide as the pixels that it joins.

use crate::image::Image;

/// An image of another size.
pub(super) fn resample(image: &Image, width_px: usize, height_px: usize) -> Image {
    let columns = Taps::new(image.width_px, width_px);
    let rows = Taps::new(image.height_px, height_px);
    let mut pixels = Vec::with_capacity(image.channels * width_px * height_px);
    let area = image.width_px * image.height_px;
    for plane in image.pixels.chunks_exact(area.max(1)) {
        let mut narrow = Vec::with_capacity(image.height_px * width_px);
        for line in plane.chunks_exact(image.width_px) {
            narrow.extend(columns.0.iter().map(|(first, weights)| {
                let values = line[*first..].iter().zip(weights);
                values.map(|(value, weight)| value * weight).sum::<f32>()
            }));
        }
        for (first, weights) in &rows.0 {
            let mut line = vec![0.0; width_px];
            for (row, weight) in narrow.chunks_exact(width_px).skip(*first).zip(weights) {
                for (sum, value) in line.iter_mut().zip(row) {
                    *sum += value * weight;
                }
            }
            pixels.extend(line);
        }
    }
    Image {
        width_px,
        height_px,
        channels: image.channels,
        pixels,
    }
}

/// For each new pixel, the first old one that it reads and the weights from there on.
struct Taps(Vec<(usize, Vec<f32>)>);

impl Taps {
    fn new(from: usize, to: usize) -> Self {
        let step = from as f64 / to as f64;
        let reach = step.max(1.0);
        let taps = |index: usize| {
            let centre = (index as f64 + 0.5) * step;
            let first = (centre - reach).floor().max(0.0) as usize;
            let last = ((centre + reach).ceil() as usize).min(from);
            let weight = |old: usize| {
                let distance = (old as f64 + 0.5 - centre).abs() / reach;
                (1.0 - distance).max(0.0)
            };
            let weights: Vec<f64> = (first..last).map(weight).collect();
            let total: f64 = weights.iter().sum();
            let weights = weights.iter().map(|weight| (weight / total) as f32);
            (first, weights.collect())
        };
        Self((0..to).map(taps).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_size_changes_nothing_and_flat_stays_flat() {
        let mut image = Image::filled(5, 4, 3, 0.25);
        image.pixels[7] = 0.75;
        assert_eq!(resample(&image, 5, 4), image);
        let flat = resample(&Image::filled(9, 7, 1, 0.5), 4, 11);
        assert_eq!(flat.pixels.len(), 44);
        assert!(flat.pixels.iter().all(|value| (value - 0.5).abs() < 1e-6));
    }

    #[test]
    fn pixels_are_joined_around_their_centres() {
        let image = Image {
            width_px: 4,
            height_px: 1,
            channels: 1,
            pixels: vec![0.0, 1.0, 1.0, 0.0],
        };
        let half = resample(&image, 2, 1);
        assert!((half.pixels[0] - half.pixels[1]).abs() < 1e-6);
        assert!((0.5..1.0).contains(&half.pixels[0]));
    }
}
