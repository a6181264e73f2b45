//! Images read ahead of the model, and put together by size.

use std::path::Path;
use std::sync::mpsc::SyncSender;

use mist_data::{DecodeLimits, Image, ImageSize, read_image};

use crate::error::Result;
use crate::run::memory;

/// Most images that are read ahead.
const MAX_IMAGES: usize = 32;
/// No more images are read ahead once they take this much memory.
const MAX_BYTES: usize = 64 << 20;
/// After images of this much memory nothing is read ahead.
const LARGE_BYTES: usize = 256 << 20;
/// Most pixels of a batch: activations take hundreds of bytes for each.
const MAX_BATCH_PX: usize = 1 << 19;

/// A file to search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Input<'a> {
    /// Its place among all inputs, from 0.
    pub index: u64,
    pub path: &'a Path,
    pub stem: &'a str,
}

/// A file that was read, or not.
pub(super) struct ReadImage<'a> {
    pub input: Input<'a>,
    pub image: Result<Image>,
}

/// Reads files in order and sends them on, some at a time, until nobody takes them.
///
/// With a channel that holds nothing, one portion waits while another is searched: memory is bounded by two of them.
pub(super) fn read_ahead<'a>(
    inputs: impl Iterator<Item = Input<'a>>,
    portions: &SyncSender<Vec<ReadImage<'a>>>,
) {
    let (mut portion, mut bytes) = (Vec::new(), 0);
    for input in inputs {
        let image = read_image(input.path, limits()).map_err(Into::into);
        bytes += image
            .as_ref()
            .map_or(0, |image: &Image| size_of_val(image.pixels.as_slice()));
        portion.push(ReadImage { input, image });
        if portion.len() == MAX_IMAGES || bytes >= MAX_BYTES {
            // The search ended early, and says why itself.
            if portions.send(std::mem::take(&mut portion)).is_err() {
                return;
            }
            // An empty portion is taken when the one before it is done: two large images are not in memory at once.
            if bytes >= LARGE_BYTES && portions.send(Vec::new()).is_err() {
                return;
            }
            bytes = 0;
        }
    }
    // As above.
    let _ = portions.send(portion);
}

/// An image may take half of the free memory: decoders need some of the rest.
fn limits() -> DecodeLimits {
    let limits = DecodeLimits::default();
    let free = memory::available_mb().map_or(u64::MAX, |free| (free * 524_288.0) as u64);
    DecodeLimits {
        max_bytes: limits.max_bytes.min(free),
        ..limits
    }
}

/// Places of images that make a batch: of one size, and not too many of them; large ones alone.
pub(super) fn batches(images: &[ReadImage], is_large: &dyn Fn(&Image) -> bool) -> Vec<Vec<usize>> {
    let mut batches: Vec<(ImageSize, Vec<usize>)> = Vec::new();
    for (place, read) in images.iter().enumerate() {
        let Ok(image) = &read.image else {
            continue;
        };
        let size = image.size();
        let most = match is_large(image) {
            true => 1,
            false => MAX_BATCH_PX / (size.width_px * size.height_px).max(1),
        };
        let fits =
            |(own, places): &&mut (ImageSize, Vec<usize>)| *own == size && places.len() < most;
        match batches.iter_mut().find(fits) {
            Some((_, places)) => places.push(place),
            None => batches.push((size, vec![place])),
        }
    }
    batches.into_iter().map(|(_, places)| places).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use super::*;
    use crate::error::Error;

    fn read(image: Result<Image>) -> ReadImage<'static> {
        let input = Input {
            index: 0,
            path: Path::new(""),
            stem: "",
        };
        ReadImage { input, image }
    }

    #[test]
    fn batches_are_of_one_size_and_small() {
        let of = |side_px| read(Ok(Image::filled(side_px, side_px, 1, 0.0)));
        let large = || read(Ok(Image::filled(1024, 512, 1, 0.0)));
        let damaged = || read(Err(Error::Failed(String::new())));
        let images = [of(8), of(9), damaged(), of(8), large(), large()];
        assert_eq!(
            batches(&images, &|_| false),
            [vec![0, 3], vec![1], vec![4], vec![5]]
        );
        assert_eq!(batches(&images, &|image| image.width_px == 8).len(), 5);
    }

    #[test]
    fn no_more_is_read_than_a_portion_ahead() {
        let taken = std::cell::Cell::new(0);
        let inputs = (0..1000).map(|index| {
            taken.set(index);
            Input {
                index,
                path: Path::new("no such file"),
                stem: "",
            }
        });
        let (portions, search) = sync_channel(1);
        drop(search);
        read_ahead(inputs, &portions);
        assert_eq!(taken.get() + 1, MAX_IMAGES as u64);
    }
}
