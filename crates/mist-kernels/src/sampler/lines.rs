//! The lines of the source that a box reads.

use super::padded::MARGIN_PX;

/// The lines that some row of samples reads, each once.
#[derive(Default)]
pub(super) struct Lines {
    /// Lines of the padded source, in order.
    pub read: Vec<usize>,
    /// For each row of samples, the place of its upper neighbour in `read`; the lower one follows it.
    pub slots: Vec<usize>,
    /// For each line of the padded source, its place in `read`.
    places: Vec<Option<usize>>,
}

impl Lines {
    /// Finds the lines for rows whose upper neighbours are `upper`, in a source of `source_px` without its margin.
    pub fn find(&mut self, upper: &[usize], source_px: usize) {
        self.places.clear();
        self.places.resize(source_px + 2 * MARGIN_PX, None);
        for &line in upper {
            self.places[line..=line + 1].fill(Some(0));
        }
        self.read.clear();
        for (line, place) in self.places.iter_mut().enumerate() {
            if let Some(place) = place {
                *place = self.read.len();
                self.read.push(line);
            }
        }
        self.slots.clear();
        let slots = upper.iter().filter_map(|&line| self.places[line]);
        self.slots.extend(slots);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_once_and_in_order() {
        let mut lines = Lines::default();
        lines.find(&[7, 6, 6, 2], 5);
        assert_eq!(lines.read, [2, 3, 6, 7, 8]);
        assert_eq!(lines.slots, [3, 2, 2, 0]);
    }
}
