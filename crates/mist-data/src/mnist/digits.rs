//! The digits in memory, by split.

use std::ops::Range;
use std::path::Path;

use super::{CLASSES, FRAME_PX, files, idx};
use crate::error::{Result, bad_input};
use crate::random::SceneRng;
use crate::split::Split;

/// One in twelve training digits, the last 5,000 of 60,000, is kept for validation.
const VALID_SHARE: usize = 12;

/// All of MNIST.
#[derive(Debug)]
pub struct Digits {
    frames: Vec<u8>,
    labels: Vec<u8>,
    train: Pool,
    valid: Pool,
    test: Pool,
}

/// One handwritten digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digit<'a> {
    /// 28 rows of 28 pixels; the digit lies in the central 20 x 20.
    pub frame: &'a [u8],
    /// 0 to 9.
    pub label: usize,
}

/// The digits of one split.
#[derive(Debug)]
struct Pool {
    range: Range<usize>,
    by_label: [Vec<usize>; CLASSES],
}

impl Digits {
    /// Reads the four files of MNIST and checks them against the pinned sums.
    pub fn open(directory: &Path) -> Result<Self> {
        let mut frames = idx::read(directory, &files::TRAIN_IMAGES)?;
        let mut labels = idx::read(directory, &files::TRAIN_LABELS)?;
        let train_count = labels.len();
        frames.extend(idx::read(directory, &files::TEST_IMAGES)?);
        labels.extend(idx::read(directory, &files::TEST_LABELS)?);
        Self::assemble(frames, labels, train_count).map_err(|reason| bad_input(directory, reason))
    }

    fn assemble(frames: Vec<u8>, labels: Vec<u8>, train_count: usize) -> Result<Self, String> {
        let valid_start = train_count - train_count / VALID_SHARE;
        Ok(Self {
            train: Pool::new(&labels, 0..valid_start)?,
            valid: Pool::new(&labels, valid_start..train_count)?,
            test: Pool::new(&labels, train_count..labels.len())?,
            frames,
            labels,
        })
    }

    /// The places of a split's digits: training files first, then test files.
    pub fn indices(&self, split: Split) -> Range<usize> {
        self.pool(split).range.clone()
    }

    /// The digit at a place, if there is one.
    pub fn get(&self, index: usize) -> Option<Digit<'_>> {
        let label = *self.labels.get(index)?;
        let frame_len = FRAME_PX * FRAME_PX;
        Some(Digit {
            frame: self
                .frames
                .get(index * frame_len..(index + 1) * frame_len)?,
            label: usize::from(label),
        })
    }

    pub(crate) fn draw(&self, split: Split, rng: &mut SceneRng) -> Digit<'_> {
        let range = &self.pool(split).range;
        self.at(range.start + rng.below(range.len()))
    }

    pub(crate) fn draw_labelled(
        &self,
        split: Split,
        label: usize,
        rng: &mut SceneRng,
    ) -> Digit<'_> {
        let places = &self.pool(split).by_label[label];
        self.at(places[rng.below(places.len())])
    }

    fn at(&self, index: usize) -> Digit<'_> {
        let frame_len = FRAME_PX * FRAME_PX;
        Digit {
            frame: &self.frames[index * frame_len..][..frame_len],
            label: usize::from(self.labels[index]),
        }
    }

    fn pool(&self, split: Split) -> &Pool {
        match split {
            Split::Train => &self.train,
            Split::Valid => &self.valid,
            Split::Test => &self.test,
        }
    }
}

impl Pool {
    /// Fails if a class has no digit, so that drawing from a pool never can.
    fn new(labels: &[u8], range: Range<usize>) -> Result<Self, String> {
        let mut by_label: [Vec<usize>; CLASSES] = Default::default();
        for index in range.clone() {
            by_label[usize::from(labels[index])].push(index);
        }
        match by_label.iter().position(Vec::is_empty) {
            Some(label) => Err(format!("has no {label} among digits {range:?}")),
            None => Ok(Self { range, by_label }),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Digits that are filled boxes, as bright as their place in the files tells.
    pub(crate) fn synthetic() -> Digits {
        let count = 240 + 60;
        let labels = (0..count).map(|index| (index % CLASSES) as u8).collect();
        let frames = (0..count)
            .flat_map(|index| {
                (0..FRAME_PX * FRAME_PX).map(move |pixel| {
                    let (x, y) = (pixel % FRAME_PX, pixel / FRAME_PX);
                    let in_box = (4..24).contains(&x) && (4..24).contains(&y);
                    if in_box { 1 + (index / 2) as u8 } else { 0 }
                })
            })
            .collect();
        Digits::assemble(frames, labels, 240).unwrap()
    }

    #[test]
    fn splits_do_not_meet() {
        let digits = synthetic();
        assert_eq!(digits.indices(Split::Train), 0..220);
        assert_eq!(digits.indices(Split::Valid), 220..240);
        assert_eq!(digits.indices(Split::Test), 240..300);
        for split in Split::ALL {
            let mut rng = SceneRng::new("pools", 0, split, 0);
            let frames: Vec<&[u8]> = digits
                .indices(split)
                .map(|index| digits.get(index).unwrap().frame)
                .collect();
            for turn in 0..500 {
                assert!(frames.contains(&digits.draw(split, &mut rng).frame));
                let drawn = digits.draw_labelled(split, turn % CLASSES, &mut rng);
                assert_eq!(drawn.label, turn % CLASSES);
                assert!(frames.contains(&drawn.frame));
            }
        }
        assert_eq!(digits.get(300), None);
    }

    #[test]
    fn a_class_without_digits_is_refused() {
        let error = Digits::assemble(vec![0; 784 * 36], vec![3; 36], 24).unwrap_err();
        assert!(error.contains("no 0"), "{error}");
    }
}
