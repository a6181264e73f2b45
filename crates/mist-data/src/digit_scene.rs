//! Scenes of MNIST digits (paper, section 4).

use crate::bridson::Spot;
use crate::image::Image;
use crate::layout::{BASE_BOX_PX, Identities, Layout};
use crate::mnist::{CLASSES, Digit, Digits, FRAME_PX};
use crate::random::SceneRng;
use crate::scene::{Instance, Scene, square_around};
use crate::split::Split;

/// Draws a scene: digits add up, and the sum is clipped once.
pub(crate) fn draw(layout: &Layout, digits: &Digits, split: Split, rng: &mut SceneRng) -> Scene {
    let side_px = layout.canvas_px as usize;
    let mut image = Image::filled(side_px, side_px, 1, 0.0);
    let spots = layout.place(rng);
    let chosen = choose(layout, spots.len(), digits, split, rng);
    let mut instances = Vec::with_capacity(spots.len());
    for (&spot, digit) in spots.iter().zip(chosen) {
        let scale = layout.scale(rng);
        if scale == 1.0 {
            add_frame(&mut image, digit.frame, spot);
        } else {
            add_resampled(&mut image, digit.frame, spot, scale);
        }
        let side_px = (f64::from(BASE_BOX_PX) * scale) as f32;
        instances.push(Instance {
            bounds: square_around(spot.x_px as f32, spot.y_px as f32, side_px),
            label: digit.label,
            scale: scale as f32,
            weight: 1.0,
        });
    }
    layout
        .surroundings
        .add(&mut image, &spots, digits, split, rng);
    for value in &mut image.pixels {
        *value = value.min(255.0) / 255.0;
    }
    Scene { image, instances }
}

fn choose<'a>(
    layout: &Layout,
    count: usize,
    digits: &'a Digits,
    split: Split,
    rng: &mut SceneRng,
) -> Vec<Digit<'a>> {
    match layout.identities {
        Identities::Sorted => {
            let mut labels: Vec<usize> = (0..CLASSES).collect();
            rng.choose(&mut labels, count);
            labels.sort_unstable();
            let labels = labels.into_iter();
            labels
                .map(|label| digits.draw_labelled(split, label, rng))
                .collect()
        }
        Identities::Random => (0..count).map(|_| digits.draw(split, rng)).collect(),
    }
}

/// Adds a frame pixel by pixel; what sticks out of the canvas is cropped.
fn add_frame(image: &mut Image, frame: &[u8], centre: Spot) {
    let frame_px = FRAME_PX as i32;
    let (left_px, top_px) = (centre.x_px - frame_px / 2, centre.y_px - frame_px / 2);
    let inside = |start_px: i32, canvas_px: usize| {
        let first = (-start_px).clamp(0, frame_px) as usize;
        let last = (canvas_px as i32 - start_px).clamp(0, frame_px) as usize;
        first..last.max(first)
    };
    let columns = inside(left_px, image.width_px);
    for row in inside(top_px, image.height_px) {
        let start = image.offset(
            (left_px + columns.start as i32) as usize,
            (top_px + row as i32) as usize,
            0,
        );
        let source = &frame[row * FRAME_PX..][columns.clone()];
        for (value, &byte) in image.pixels[start..].iter_mut().zip(source) {
            *value += f32::from(byte);
        }
    }
}

/// Adds a frame at another size: each canvas pixel takes the mean, over its own area, of the
/// bilinear interpolation of the frame, so that shrinking does not alias and growing is smooth.
fn add_resampled(image: &mut Image, frame: &[u8], centre: Spot, scale: f64) {
    let columns = taps(centre.x_px, image.width_px, scale);
    let rows = taps(centre.y_px, image.height_px, scale);
    for row in &rows {
        let mut mixed = [0.0_f64; FRAME_PX];
        for (weight, source) in row
            .weights
            .iter()
            .zip(frame[row.first * FRAME_PX..].chunks(FRAME_PX))
        {
            for (value, &byte) in mixed.iter_mut().zip(source) {
                *value += weight * f64::from(byte);
            }
        }
        for column in &columns {
            let source = &mixed[column.first..];
            let sum: f64 = column.weights.iter().zip(source).map(|(w, v)| w * v).sum();
            let offset = image.offset(column.canvas_px, row.canvas_px, 0);
            image.pixels[offset] += sum as f32;
        }
    }
}

/// Weights of consecutive frame pixels in one canvas pixel, along one axis.
struct Tap {
    canvas_px: usize,
    first: usize,
    weights: Vec<f64>,
}

fn taps(centre_px: i32, canvas_px: usize, scale: f64) -> Vec<Tap> {
    let frame_px = FRAME_PX as f64;
    // A tent reaches half a frame pixel beyond the frame.
    let reach_px = ((frame_px / 2.0 + 0.5) * scale).ceil() as i32;
    let first_px = (centre_px - reach_px).max(0);
    let last_px = (centre_px + reach_px).min(canvas_px as i32);
    (first_px..last_px)
        .map(|canvas_px| {
            let start = f64::from(canvas_px - centre_px) / scale + frame_px / 2.0;
            let end = start + 1.0 / scale;
            let first = (start - 1.5).ceil().clamp(0.0, frame_px) as usize;
            let last = (end + 0.5).ceil().clamp(0.0, frame_px) as usize;
            let weight = |pixel: usize| {
                let middle = pixel as f64 + 0.5;
                scale * (tent_integral(end - middle) - tent_integral(start - middle))
            };
            Tap {
                canvas_px: canvas_px as usize,
                first,
                weights: (first..last).map(weight).collect(),
            }
        })
        .collect()
}

/// Integral of the tent `max(0, 1 - |t|)` from the far left up to `t`.
fn tent_integral(t: f64) -> f64 {
    let t = t.clamp(-1.0, 1.0);
    if t < 0.0 {
        (1.0 + t) * (1.0 + t) / 2.0
    } else {
        1.0 - (1.0 - t) * (1.0 - t) / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp() -> Vec<u8> {
        let in_box =
            |i: usize| (4..24).contains(&(i % FRAME_PX)) && (4..24).contains(&(i / FRAME_PX));
        (0..FRAME_PX * FRAME_PX)
            .map(|i| if in_box(i) { (i * 7 % 200) as u8 } else { 0 })
            .collect()
    }

    #[test]
    fn frames_are_pasted_whole_or_cropped() {
        let frame = ramp();
        let mut image = Image::filled(80, 80, 1, 0.0);
        add_frame(&mut image, &frame, Spot { x_px: 40, y_px: 30 });
        for row in 0..FRAME_PX {
            for column in 0..FRAME_PX {
                let offset = image.offset(26 + column, 16 + row, 0);
                assert_eq!(
                    image.pixels[offset],
                    f32::from(frame[row * FRAME_PX + column])
                );
            }
        }
        let mut corner = Image::filled(80, 80, 1, 0.0);
        add_frame(&mut corner, &frame, Spot { x_px: 10, y_px: 70 });
        let total = |image: &Image| image.pixels.iter().sum::<f32>();
        assert_eq!(
            total(&corner),
            total(&image),
            "the box lies inside, so nothing is lost"
        );
        add_frame(
            &mut corner,
            &frame,
            Spot {
                x_px: -50,
                y_px: 400,
            },
        );
        assert_eq!(total(&corner), total(&image));
    }

    #[test]
    fn resampling_keeps_mass_and_centre() {
        let frame = ramp();
        let moments = |image: &Image| {
            let (mut mass, mut x, mut y) = (0.0, 0.0, 0.0);
            for (place, &value) in image.pixels.iter().enumerate() {
                let value = f64::from(value);
                mass += value;
                x += value * ((place % image.width_px) as f64 + 0.5);
                y += value * ((place / image.width_px) as f64 + 0.5);
            }
            (mass, x / mass, y / mass)
        };
        let spot = Spot { x_px: 50, y_px: 60 };
        let mut native = Image::filled(112, 112, 1, 0.0);
        add_frame(&mut native, &frame, spot);
        let (mass, x, y) = moments(&native);
        for scale in [0.708, 0.9, 1.1, 1.41] {
            let mut image = Image::filled(112, 112, 1, 0.0);
            add_resampled(&mut image, &frame, spot, scale);
            let (scaled_mass, scaled_x, scaled_y) = moments(&image);
            assert!((scaled_mass / (mass * scale * scale) - 1.0).abs() < 1e-5);
            assert!((scaled_x - (50.0 + (x - 50.0) * scale)).abs() < 1e-3);
            assert!((scaled_y - (60.0 + (y - 60.0) * scale)).abs() < 1e-3);
        }
    }
}
