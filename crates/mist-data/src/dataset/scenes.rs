//! Scene sets as data sets.

use mist_geometry::Truth;

use super::{Dataset, Item, Known};
use crate::error::Result;
use crate::gabor::GaborNoise;
use crate::image::ImageSize;
use crate::set::{InstanceCount, SceneSet};

impl Dataset for SceneSet {
    fn name(&self) -> String {
        format!("{} {}", self.kind(), self.split())
    }

    fn len(&self) -> Option<u64> {
        None
    }

    fn item(&self, index: u64) -> Result<Item> {
        let scene = self.scene(index);
        let truths = scene.instances.iter().map(|instance| Truth {
            bounds: instance.bounds,
            label: instance.label,
        });
        Ok(Item {
            known: Known::from_truths(truths.collect(), self.classes()),
            image: scene.image,
        })
    }

    fn class_names(&self) -> Vec<String> {
        self.kind()
            .class_names()
            .iter()
            .map(|&name| name.to_owned())
            .collect()
    }

    fn channels(&self) -> usize {
        1
    }

    fn image_size(&self) -> Option<ImageSize> {
        Some(ImageSize {
            width_px: self.canvas_px(),
            height_px: self.canvas_px(),
        })
    }

    fn max_instances(&self) -> Option<usize> {
        match self.instance_count() {
            InstanceCount::Uniform { most, .. } => Some(most),
            InstanceCount::Poisson { .. } => None,
        }
    }

    fn noise(&self) -> Option<&GaborNoise> {
        SceneSet::noise(self)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dataset::load_range;
    use crate::kind::SceneKind;
    use crate::mnist::synthetic;
    use crate::set::render_range;
    use crate::split::Split;

    #[test]
    fn items_are_the_scenes() {
        let digits = Arc::new(synthetic());
        for kind in SceneKind::ALL {
            let set = SceneSet::new(kind, 2, Split::Test, Some(digits.clone())).unwrap();
            let dataset: &dyn Dataset = &set;
            assert_eq!(dataset.name(), format!("{kind} test"));
            assert_eq!((dataset.len(), dataset.channels()), (None, 1));
            assert_eq!(dataset.noise().is_some(), dataset.max_instances().is_none());
            let items = load_range(dataset, 3..9).unwrap();
            let scenes = render_range(&set, 3..9);
            assert_eq!(items.len(), 6);
            for (item, scene) in items.into_iter().zip(scenes) {
                assert_eq!(dataset.image_size(), Some(item.image.size()));
                assert_eq!(item.image, scene.image);
                let counts = item.known.class_counts.unwrap();
                assert_eq!(counts, scene.class_counts(dataset.class_names().len()));
                let truths = item.known.truths.unwrap();
                assert!(
                    dataset
                        .max_instances()
                        .is_none_or(|most| truths.len() <= most)
                );
                for (truth, instance) in truths.iter().zip(&scene.instances) {
                    assert_eq!(truth.bounds, instance.bounds);
                    assert_eq!(truth.label, instance.label);
                }
                assert_eq!(truths.len(), scene.instances.len());
            }
        }
    }
}
