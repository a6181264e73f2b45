//! A control: images with the counts of other images.

use std::sync::Arc;

use super::{Dataset, Item};
use crate::error::Result;
use crate::gabor::GaborNoise;
use crate::image::ImageSize;

/// A data set in which every image has the class counts of the next one; where its objects are stays true.
///
/// Nothing can be learned from such counts but how frequent the classes are, so that whatever a training still finds it
/// has not learned from them.
#[derive(Debug, Clone)]
pub struct ShuffledCounts(Arc<dyn Dataset>);

impl ShuffledCounts {
    /// The data set with its counts shuffled.
    pub fn new(dataset: Arc<dyn Dataset>) -> Self {
        Self(dataset)
    }
}

impl Dataset for ShuffledCounts {
    fn name(&self) -> String {
        format!("{} with shuffled counts", self.0.name())
    }

    fn len(&self) -> Option<u64> {
        self.0.len()
    }

    fn item(&self, index: u64) -> Result<Item> {
        let mut item = self.0.item(index)?;
        let next = match self.0.len() {
            Some(len) => (index + 1) % len,
            None => index.wrapping_add(1),
        };
        item.known.class_counts = self.0.item(next)?.known.class_counts;
        Ok(item)
    }

    fn class_names(&self) -> Vec<String> {
        self.0.class_names()
    }

    fn channels(&self) -> usize {
        self.0.channels()
    }

    fn image_size(&self) -> Option<ImageSize> {
        self.0.image_size()
    }

    fn max_instances(&self) -> Option<usize> {
        self.0.max_instances()
    }

    fn noise(&self) -> Option<&GaborNoise> {
        self.0.noise()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::SceneKind;
    use crate::set::SceneSet;
    use crate::split::Split;

    #[test]
    fn counts_are_those_of_the_next_image_and_boxes_stay() {
        let scenes = SceneSet::new(SceneKind::Glyphs, 1, Split::Train, None).unwrap();
        let shuffled = ShuffledCounts::new(Arc::new(scenes.clone()));
        for index in 0..5 {
            let (own, next) = (scenes.item(index).unwrap(), scenes.item(index + 1).unwrap());
            let item = shuffled.item(index).unwrap();
            assert_eq!(item.image, own.image);
            assert_eq!(item.known.truths, own.known.truths);
            assert_eq!(item.known.class_counts, next.known.class_counts);
        }
    }
}
