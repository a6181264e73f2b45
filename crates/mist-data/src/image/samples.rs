//! Decoded samples of any depth as planar values in `[0, 1]`.

use ::image::DynamicImage;

use super::Image;
use super::contrast::Contrast;

/// An image as a decoder left it: channels interleaved, the last of them alpha if there is one.
pub(super) struct Decoded {
    pub width_px: usize,
    pub height_px: usize,
    /// 1 (gray) or 3 (red, green, blue), without alpha.
    pub colours: usize,
    pub has_alpha: bool,
    pub samples: Samples,
}

pub(super) enum Samples {
    U8(Vec<u8>),
    U16(Vec<u16>),
    F32(Vec<f32>),
}

impl Decoded {
    pub fn new(decoded: DynamicImage) -> Result<Self, String> {
        let (width_px, height_px) = (decoded.width() as usize, decoded.height() as usize);
        let (colours, has_alpha, samples) = match decoded {
            DynamicImage::ImageLuma8(image) => (1, false, Samples::U8(image.into_raw())),
            DynamicImage::ImageLumaA8(image) => (1, true, Samples::U8(image.into_raw())),
            DynamicImage::ImageRgb8(image) => (3, false, Samples::U8(image.into_raw())),
            DynamicImage::ImageRgba8(image) => (3, true, Samples::U8(image.into_raw())),
            DynamicImage::ImageLuma16(image) => (1, false, Samples::U16(image.into_raw())),
            DynamicImage::ImageLumaA16(image) => (1, true, Samples::U16(image.into_raw())),
            DynamicImage::ImageRgb16(image) => (3, false, Samples::U16(image.into_raw())),
            DynamicImage::ImageRgba16(image) => (3, true, Samples::U16(image.into_raw())),
            DynamicImage::ImageRgb32F(image) => (3, false, Samples::F32(image.into_raw())),
            DynamicImage::ImageRgba32F(image) => (3, true, Samples::F32(image.into_raw())),
            other => return Err(format!("has samples of type {:?}", other.color())),
        };
        Ok(Self {
            width_px,
            height_px,
            colours,
            has_alpha,
            samples,
        })
    }

    /// Values in `[0, 1]`, over white where the image is transparent.
    pub fn into_image(self) -> Image {
        let per_pixel = self.colours + usize::from(self.has_alpha);
        let pixels = match &self.samples {
            Samples::U8(samples) => self.planar(
                samples,
                |value| f32::from(value) / 255.0,
                |alpha| f32::from(alpha) / 255.0,
            ),
            Samples::U16(samples) => {
                let opacity = |alpha| f32::from(alpha) / 65_535.0;
                let visible = self.visible(samples, per_pixel, opacity);
                let contrast = Contrast::measure(visible.map(f32::from));
                self.planar(samples, |value| contrast.apply(value.into()), opacity)
            }
            Samples::F32(samples) => {
                let opacity = |alpha: f32| if alpha > 0.0 { alpha.min(1.0) } else { 0.0 };
                let visible = self.visible(samples, per_pixel, opacity);
                let contrast = Contrast::measure(visible);
                self.planar(samples, |value| contrast.apply(value), opacity)
            }
        };
        Image {
            width_px: self.width_px,
            height_px: self.height_px,
            channels: self.colours,
            pixels,
        }
    }

    /// The colour samples that are not wholly transparent.
    fn visible<'a, T: Copy>(
        &self,
        samples: &'a [T],
        per_pixel: usize,
        opacity: impl Fn(T) -> f32 + 'a,
    ) -> impl Iterator<Item = T> + 'a {
        let colours = self.colours;
        samples
            .chunks_exact(per_pixel)
            .filter(move |pixel| pixel.get(colours).is_none_or(|&alpha| opacity(alpha) > 0.0))
            .flat_map(move |pixel| pixel[..colours].iter().copied())
    }

    fn planar<T: Copy>(
        &self,
        samples: &[T],
        gray: impl Fn(T) -> f32,
        opacity: impl Fn(T) -> f32,
    ) -> Vec<f32> {
        let plane = self.width_px * self.height_px;
        let per_pixel = self.colours + usize::from(self.has_alpha);
        let mut pixels = vec![0.0; plane * self.colours];
        for (place, values) in samples.chunks_exact(per_pixel).enumerate() {
            let (colours, alpha) = values.split_at(self.colours);
            let opacity = alpha.first().map_or(1.0, |&alpha| opacity(alpha));
            for (channel, &value) in colours.iter().enumerate() {
                pixels[channel * plane + place] = gray(value) * opacity + (1.0 - opacity);
            }
        }
        pixels
    }
}
