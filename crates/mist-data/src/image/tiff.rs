//! Gray TIFF files of floats, signed and 32-bit numbers, which scientific programs write.

use std::io::{Cursor, ErrorKind};

use ::tiff::decoder::{Decoder, DecodingResult, Limits};
use ::tiff::tags::{SampleFormat, Tag};
use ::tiff::{ColorType, TiffError, TiffResult};

use super::limits::DecodeLimits;
use super::samples::{Decoded, Samples};

/// The first page, if it holds such samples; others are left to the `image` crate.
pub(super) fn decode_gray(bytes: &[u8], limits: DecodeLimits) -> Result<Option<Decoded>, String> {
    let mut decoder = Decoder::new(Cursor::new(bytes)).map_err(reason)?;
    if !holds_rare_samples(&mut decoder).map_err(reason)? {
        return Ok(None);
    }
    let (width_px, height_px) = decoder.dimensions().map_err(reason)?;
    limits.check(width_px, height_px, 1)?;
    let mut buffers = Limits::default();
    // Double precision takes twice the bytes of what is kept.
    buffers.decoding_buffer_size =
        usize::try_from(limits.max_bytes.saturating_mul(2)).unwrap_or(usize::MAX);
    let samples = to_f32(decoder.with_limits(buffers).read_image().map_err(reason)?);
    let (width_px, height_px) = (width_px as usize, height_px as usize);
    if samples.len() != width_px * height_px {
        return Err("is truncated".to_owned());
    }
    Ok(Some(Decoded {
        width_px,
        height_px,
        colours: 1,
        has_alpha: false,
        samples: Samples::F32(samples),
    }))
}

fn holds_rare_samples(decoder: &mut Decoder<Cursor<&[u8]>>) -> TiffResult<bool> {
    let ColorType::Gray(bits) = decoder.colortype()? else {
        return Ok(false);
    };
    let formats = decoder.find_tag_unsigned_vec::<u16>(Tag::SampleFormat)?;
    let unsigned = SampleFormat::Uint.to_u16();
    let is_unsigned = formats.is_none_or(|formats| formats.iter().all(|&one| one == unsigned));
    Ok(bits > 16 || !is_unsigned)
}

fn to_f32(decoded: DecodingResult) -> Vec<f32> {
    fn cast<T>(samples: Vec<T>, to_f32: impl Fn(T) -> f32) -> Vec<f32> {
        samples.into_iter().map(to_f32).collect()
    }
    match decoded {
        DecodingResult::F32(samples) => samples,
        DecodingResult::F16(samples) => cast(samples, f32::from),
        DecodingResult::F64(samples) => cast(samples, |sample| sample as f32),
        DecodingResult::U8(samples) => cast(samples, f32::from),
        DecodingResult::U16(samples) => cast(samples, f32::from),
        DecodingResult::U32(samples) => cast(samples, |sample| sample as f32),
        DecodingResult::U64(samples) => cast(samples, |sample| sample as f32),
        DecodingResult::I8(samples) => cast(samples, f32::from),
        DecodingResult::I16(samples) => cast(samples, f32::from),
        DecodingResult::I32(samples) => cast(samples, |sample| sample as f32),
        DecodingResult::I64(samples) => cast(samples, |sample| sample as f32),
    }
}

fn reason(error: TiffError) -> String {
    match error {
        TiffError::IoError(error) if error.kind() == ErrorKind::UnexpectedEof => {
            "is truncated".to_owned()
        }
        other => format!("cannot be decoded: {other}"),
    }
}
