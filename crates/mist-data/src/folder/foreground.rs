//! Images in which the background is about 0 and objects are brighter.

use serde::{Deserialize, Serialize};

use super::background::Background;
use super::otsu::otsu;
use crate::image::Image;

/// Share of the pixels that are taken for darker than the background.
const LOW_FRAC: f64 = 0.05;
/// Share of the pixels below the brightest gray.
const HIGH_FRAC: f64 = 0.997;
/// The least range that is stretched: less than that is the noise of an empty image.
const MIN_RANGE: f32 = 0.1;
/// Values above the brightest gray are kept up to this.
const MAX_SHARE: f32 = 1.5;
/// Where Otsu's threshold comes to lie.
const THRESHOLD: f32 = 0.25;
/// The least threshold: what is below is the noise of an image with few objects.
const MIN_THRESHOLD: f32 = 0.45;

/// How objects differ from what is behind them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Foreground {
    /// Not known: images are taken as they are.
    #[default]
    Plain,
    /// Brighter.
    Bright,
    /// Darker: images are inverted.
    Dark,
}

impl Foreground {
    /// Whether images are taken as they are.
    pub fn is_plain(&self) -> bool {
        *self == Self::Plain
    }

    /// The image as networks see it, in `[0, 1]`: less a smooth background; stretched from the 5th percentile of its gray
    /// values to the 99.7th, or to half of its brightest spot where objects are few; then the square root, which brings out
    /// dim objects; then scaled so that Otsu's threshold comes to a quarter.
    ///
    /// A range below a tenth of all gray values is not stretched further, nor is a threshold below .45 believed, so that
    /// an empty image stays dark.
    pub fn normalise(self, mut image: Image) -> Image {
        match self {
            Self::Plain => return image,
            Self::Bright => {}
            Self::Dark => image
                .pixels
                .iter_mut()
                .for_each(|value| *value = 1.0 - *value),
        }
        let background = Background::fit(&gray_values(&image), image.width_px);
        let area = image.width_px * image.height_px;
        for plane in image.pixels.chunks_exact_mut(area.max(1)) {
            background.subtract(plane);
        }
        let mut gray = gray_values(&image);
        let low = percentile(&mut gray, LOW_FRAC);
        let high = percentile(&mut gray, HIGH_FRAC);
        let spot = brightest_spot(&gray_values(&image), image.width_px);
        let range = (high.max(spot / 2.0) - low).max(MIN_RANGE);
        for value in &mut image.pixels {
            *value = ((*value - low) / range).clamp(0.0, MAX_SHARE).sqrt();
        }
        let threshold = otsu(&gray_values(&image)).max(MIN_THRESHOLD);
        for value in &mut image.pixels {
            *value = (*value * THRESHOLD / threshold).min(1.0);
        }
        image
    }

    /// What surrounds an image that is smaller than its frame.
    pub(super) fn surroundings(self, image: &Image) -> f32 {
        match self {
            Self::Plain => percentile(&mut gray_values(image), 0.5),
            Self::Bright | Self::Dark => 0.0,
        }
    }
}

/// The greatest mean of three by three pixels.
fn brightest_spot(gray: &[f32], width_px: usize) -> f32 {
    let rows: Vec<&[f32]> = gray.chunks_exact(width_px.max(1)).collect();
    let sum_of_three = |row: &&[f32], x: usize| row[x - 1] + row[x] + row[x + 1];
    let mut most = 0.0f32;
    for rows in rows.windows(3) {
        for x in 1..width_px.saturating_sub(1) {
            let sum: f32 = rows.iter().map(|row| sum_of_three(row, x)).sum();
            most = most.max(sum / 9.0);
        }
    }
    most
}

/// The mean over channels of every pixel.
pub(super) fn gray_values(image: &Image) -> Vec<f32> {
    let area = image.width_px * image.height_px;
    let share = 1.0 / image.channels.max(1) as f32;
    let mut gray = vec![0.0; area];
    for plane in image.pixels.chunks_exact(area.max(1)) {
        for (sum, value) in gray.iter_mut().zip(plane) {
            *sum += value * share;
        }
    }
    gray
}

/// The value below which a share of all values lies; 0 without values.
pub(super) fn percentile(values: &mut [f32], share: f64) -> f32 {
    let Some(last) = values.len().checked_sub(1) else {
        return 0.0;
    };
    let place = (last as f64 * share).round() as usize;
    let (_, &mut value, _) = values.select_nth_unstable_by(place.min(last), f32::total_cmp);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square of 10 px in an image of 50.
    fn square(background: f32, object: f32) -> Image {
        let mut image = Image::filled(50, 50, 1, background);
        for y in 20..30 {
            for x in 20..30 {
                let place = image.offset(x, y, 0);
                image.pixels[place] = object;
            }
        }
        image
    }

    #[test]
    fn bright_and_dark_objects_become_bright_on_black() {
        let cases = [
            (Foreground::Bright, square(0.3, 0.7)),
            (Foreground::Dark, square(0.9, 0.4)),
        ];
        for (foreground, image) in cases {
            let seen = foreground.normalise(image);
            assert!(seen.pixels[0] < 0.01, "{}", seen.pixels[0]);
            let object = seen.pixels[seen.offset(25, 25, 0)];
            assert!((0.4..=0.6).contains(&object), "{object}");
        }
        let plain = square(0.3, 0.7);
        assert_eq!(Foreground::Plain.normalise(plain.clone()), plain);
    }

    #[test]
    fn an_empty_image_is_not_stretched_to_noise() {
        let mut image = Image::filled(50, 50, 1, 0.2);
        for (place, value) in image.pixels.iter_mut().enumerate() {
            *value += (place % 7) as f32 * 0.0005;
        }
        let seen = Foreground::Bright.normalise(image);
        assert!(seen.pixels.iter().all(|&value| value < 0.2));
    }
}
