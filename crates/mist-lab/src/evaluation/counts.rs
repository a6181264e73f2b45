//! Errors of counts, where the boxes of objects are not known.

use mist::geometry::Detection;
use mist::measurements::Measurements;
use mist_data::BACKGROUND;

/// How many objects of each class an image has, and how many were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CountPair {
    known: Vec<usize>,
    found: Vec<usize>,
}

impl CountPair {
    /// Counts what was found; what is called background is no object.
    pub fn new(known: &[usize], found: &[Detection], class_names: &[String]) -> Self {
        let is_object = |label: &usize| class_names[*label] != BACKGROUND;
        let labels: Vec<usize> = (0..class_names.len()).filter(is_object).collect();
        let number = |label: &usize| found.iter().filter(|found| found.label == *label).count();
        Self {
            known: labels
                .iter()
                .filter_map(|&label| known.get(label).copied())
                .collect(),
            found: labels.iter().map(number).collect(),
        }
    }

    fn class_error(&self) -> usize {
        let pairs = self.known.iter().zip(&self.found);
        pairs.map(|(known, found)| known.abs_diff(*found)).sum()
    }

    fn total_error(&self) -> usize {
        let [known, found] = [&self.known, &self.found].map(|counts| counts.iter().sum::<usize>());
        known.abs_diff(found)
    }
}

/// Mean absolute errors over images: of a class's count, and of the total.
pub(super) fn insert_errors(pairs: &[CountPair], metrics: &mut Measurements) {
    let Some(first) = pairs.first() else {
        return;
    };
    let images = pairs.len() as f64;
    let classes = first.known.len().max(1) as f64;
    let mean =
        |error: fn(&CountPair) -> usize| pairs.iter().map(error).sum::<usize>() as f64 / images;
    metrics.insert("count_mae", mean(CountPair::class_error) / classes);
    metrics.insert("count_mae_total", mean(CountPair::total_error));
}

#[cfg(test)]
mod tests {
    use mist::geometry::PixelBox;

    use super::*;

    #[test]
    fn errors_are_of_objects_and_not_of_the_background() {
        let names = ["red", "white", BACKGROUND].map(str::to_owned);
        let found = [0, 0, 0, 2, 1].map(|label| Detection {
            bounds: PixelBox::from_centre(4.0, 5.0, 3.0, 2.0),
            label,
            score: 1.0,
        });
        let pairs = [
            CountPair::new(&[1, 2, 2], &found, &names),
            CountPair::new(&[3, 1, 1], &found, &names),
        ];
        let mut metrics = Measurements::new();
        insert_errors(&pairs, &mut metrics);
        assert_eq!(metrics.get("count_mae"), Some(3.0 / 2.0 / 2.0));
        assert_eq!(metrics.get("count_mae_total"), Some(0.5));
    }
}
