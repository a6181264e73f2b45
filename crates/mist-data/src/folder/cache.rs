//! Decoded images that are kept in memory, up to a limit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Result;
use crate::image::Image;

/// Images by their place in a folder.
#[derive(Debug)]
pub(super) struct ImageCache {
    max_bytes: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    images: HashMap<usize, Arc<Image>>,
    bytes: usize,
}

impl ImageCache {
    pub fn new(max_bytes: usize) -> Self {
        Self {
            max_bytes,
            kept: Mutex::default(),
        }
    }

    /// The image of a place, read if it is not kept. Once memory is full the images that are there stay: a random order
    /// of reading profits as much from those as from newer ones.
    pub fn get(&self, index: usize, read: impl FnOnce() -> Result<Image>) -> Result<Arc<Image>> {
        if let Some(image) = self.lock().images.get(&index) {
            return Ok(image.clone());
        }
        let image = Arc::new(read()?);
        let bytes = size_of_val(image.pixels.as_slice());
        let mut kept = self.lock();
        if kept.bytes + bytes <= self.max_bytes && !kept.images.contains_key(&index) {
            kept.bytes += bytes;
            kept.images.insert(index, image.clone());
        }
        Ok(image)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        // Images are put there whole, so that a panic elsewhere leaves nothing half done.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_read_once_until_memory_is_full() {
        let cache = ImageCache::new(4 * 100);
        let reads = std::cell::Cell::new(0);
        let read = |index| {
            let image = cache.get(index, || {
                reads.set(reads.get() + 1);
                Ok(Image::filled(8, 8, 1, index as f32))
            });
            assert_eq!(image.unwrap().pixels[0], index as f32);
        };
        for index in [0, 0, 1, 1, 0] {
            read(index);
        }
        assert_eq!(reads.get(), 3);
    }
}
