//! Data sets that are in memory as a whole.

use super::{Dataset, Item, check_index};
use crate::error::{RequestError, Result};
use crate::image::ImageSize;

/// Items in memory, for small sets and tests.
#[derive(Debug, Clone)]
pub struct InMemoryDataset {
    name: String,
    class_names: Vec<String>,
    channels: usize,
    items: Vec<Item>,
}

impl InMemoryDataset {
    /// A set of the given items, whose images have 1 or 3 channels, all the same number.
    pub fn new(name: String, class_names: Vec<String>, items: Vec<Item>) -> Result<Self> {
        let channels = items.first().map_or(1, |item| item.image.channels);
        for (index, item) in items.iter().enumerate() {
            let problem = problem(item, channels, class_names.len());
            if let Some((what, value, expected)) = problem {
                return Err(RequestError::OutOfRange {
                    name: what,
                    value: format!("{value} in item {index} of {name}"),
                    expected,
                }
                .into());
            }
        }
        Ok(Self {
            name,
            class_names,
            channels,
            items,
        })
    }
}

/// What is wrong with an item: a property, its value, and what it must be.
fn problem(
    item: &Item,
    channels: usize,
    classes: usize,
) -> Option<(&'static str, usize, &'static str)> {
    let image = &item.image;
    if !matches!(image.channels, 1 | 3) {
        return Some(("channels", image.channels, "1 or 3"));
    }
    if image.channels != channels {
        return Some(("channels", image.channels, "the same for all images"));
    }
    if !image.is_complete() {
        let expected = "channels times height times width";
        return Some(("number of values", image.pixels.len(), expected));
    }
    let counted = item.known.class_counts.as_ref().map(Vec::len);
    if let Some(other) = counted.filter(|&counted| counted != classes) {
        return Some(("number of class counts", other, "the number of classes"));
    }
    let truths = item.known.truths.iter().flatten();
    let label = truths
        .map(|truth| truth.label)
        .find(|&label| label >= classes)?;
    Some(("label", label, "below the number of classes"))
}

impl Dataset for InMemoryDataset {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn len(&self) -> Option<u64> {
        Some(self.items.len() as u64)
    }

    fn item(&self, index: u64) -> Result<Item> {
        check_index(self, index)?;
        Ok(self.items[index as usize].clone())
    }

    fn class_names(&self) -> Vec<String> {
        self.class_names.clone()
    }

    fn channels(&self) -> usize {
        self.channels
    }

    fn image_size(&self) -> Option<ImageSize> {
        let first = self.items.first()?.image.size();
        let mut sizes = self.items.iter().map(|item| item.image.size());
        sizes.all(|size| size == first).then_some(first)
    }

    /// `None` unless the objects of every image were counted.
    fn max_instances(&self) -> Option<usize> {
        let count = |item: &Item| -> Option<usize> {
            let counted = item
                .known
                .class_counts
                .as_ref()
                .map(|counts| counts.iter().sum());
            counted.or(item.known.truths.as_ref().map(Vec::len))
        };
        let counts: Option<Vec<usize>> = self.items.iter().map(count).collect();
        counts?.into_iter().max()
    }
}

#[cfg(test)]
mod tests {
    use mist_geometry::{PixelBox, Truth};

    use super::*;
    use crate::dataset::{Known, load_range};
    use crate::error::Error;
    use crate::image::Image;

    fn truth(label: usize) -> Truth {
        Truth {
            bounds: PixelBox::from_centre(4.0, 5.0, 3.0, 2.0),
            label,
        }
    }

    fn item(width_px: usize, channels: usize, labels: &[usize]) -> Item {
        let truths = labels.iter().map(|&label| truth(label)).collect();
        Item {
            image: Image::filled(width_px, 7, channels, 0.5),
            known: Known::from_truths(truths, 2),
        }
    }

    fn set(items: Vec<Item>) -> Result<InMemoryDataset> {
        let names = ["cat", "dog"].map(str::to_owned).to_vec();
        InMemoryDataset::new("pets".to_owned(), names, items)
    }

    #[test]
    fn colour_images_of_differing_sizes_are_a_data_set() {
        let items = vec![item(9, 3, &[1]), item(20, 3, &[0, 1, 1]), item(5, 3, &[])];
        let pets = set(items.clone()).unwrap();
        let dataset: &dyn Dataset = &pets;
        assert_eq!((dataset.len(), dataset.is_empty()), (Some(3), false));
        assert_eq!((dataset.channels(), dataset.image_size()), (3, None));
        assert_eq!(dataset.max_instances(), Some(3));
        assert_eq!(load_range(dataset, 0..3).unwrap(), items);
        assert_eq!(items[1].known.class_counts, Some(vec![1, 2]));
    }

    #[test]
    fn unknown_counts_have_no_maximum() {
        let mut items = vec![item(9, 1, &[1]), item(9, 1, &[])];
        items[1].known = Known::default();
        let pets = set(items).unwrap();
        assert_eq!(pets.max_instances(), None);
        assert_eq!(pets.image_size().map(|size| size.width_px), Some(9));
    }

    #[test]
    fn the_first_missing_item_is_the_one_named() {
        let pets = set(vec![item(9, 1, &[]); 3]).unwrap();
        for _ in 0..20 {
            let error = load_range(&pets, 1..500).unwrap_err();
            let Error::Request(RequestError::NoSuchItem { index, len, .. }) = error else {
                panic!("{error}");
            };
            assert_eq!((index, len), (3, 3));
        }
    }

    #[test]
    fn items_that_do_not_fit_together_are_refused() {
        let mut short = item(9, 1, &[]);
        short.image.pixels.pop();
        let mut miscounted = item(9, 1, &[]);
        miscounted.known.class_counts = Some(vec![0]);
        let mut unnamed = item(9, 1, &[]);
        unnamed.known.truths = Some(vec![truth(2)]);
        for wrong in [item(9, 2, &[]), item(9, 3, &[]), short, miscounted, unnamed] {
            assert!(set(vec![item(9, 1, &[]), wrong]).is_err());
        }
    }
}
