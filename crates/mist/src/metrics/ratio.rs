//! Sums that every image adds to, and the fractions made of them.

use std::iter::Sum;
use std::ops::Add;

/// A numerator and a denominator, summed over images before they are divided.
///
/// A fraction of nothing is undefined: [`Ratio::value`] is `None`, never NaN, where the denominator
/// is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ratio {
    /// What was counted.
    pub numerator: f64,
    /// Out of how many.
    pub denominator: f64,
}

impl Ratio {
    /// The ratio of two counts.
    pub fn of_counts(numerator: usize, denominator: usize) -> Self {
        Self {
            numerator: numerator as f64,
            denominator: denominator as f64,
        }
    }

    /// The quotient, `None` over an empty denominator.
    pub fn value(self) -> Option<f64> {
        (self.denominator > 0.0).then(|| self.numerator / self.denominator)
    }
}

impl Add for Ratio {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            numerator: self.numerator + other.numerator,
            denominator: self.denominator + other.denominator,
        }
    }
}

impl Sum for Ratio {
    fn sum<I: Iterator<Item = Self>>(ratios: I) -> Self {
        ratios.fold(Self::default(), Add::add)
    }
}

/// How many truths and detections there were, and how many of them were paired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MatchCounts {
    /// Pairs of a truth and a detection.
    pub matched: usize,
    /// All truths.
    pub truths: usize,
    /// All detections.
    pub detections: usize,
}

impl MatchCounts {
    /// Share of the detections that are right; `None` without detections.
    pub fn precision(self) -> Option<f64> {
        Ratio::of_counts(self.matched, self.detections).value()
    }

    /// Share of the truths that were found; `None` without truths.
    pub fn recall(self) -> Option<f64> {
        Ratio::of_counts(self.matched, self.truths).value()
    }

    /// Harmonic mean of precision and recall, which is `2 matched / (truths + detections)`; so it
    /// is 0 where one side is empty, and `None` where both are.
    pub fn f1(self) -> Option<f64> {
        Ratio::of_counts(2 * self.matched, self.truths + self.detections).value()
    }
}

impl Add for MatchCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            matched: self.matched + other.matched,
            truths: self.truths + other.truths,
            detections: self.detections + other.detections,
        }
    }
}

impl Sum for MatchCounts {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), Add::add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_pooled_before_the_division() {
        // (1 + 0) / (1 + 3) = 1/4, not the mean of 1/1 and 0/3.
        let pooled: Ratio = [Ratio::of_counts(1, 1), Ratio::of_counts(0, 3)]
            .into_iter()
            .sum();
        assert_eq!(pooled.value(), Some(0.25));
    }

    #[test]
    fn precision_recall_and_f1_of_counts() {
        // P = 3/4, R = 3/6, F1 = 2 * .75 * .5 / 1.25 = .6.
        let counts = MatchCounts {
            matched: 3,
            truths: 6,
            detections: 4,
        };
        assert_eq!(counts.precision(), Some(0.75));
        assert_eq!(counts.recall(), Some(0.5));
        assert_eq!(counts.f1(), Some(0.6));
    }

    #[test]
    fn fractions_of_nothing_are_undefined() {
        let nothing = MatchCounts::default();
        assert_eq!(
            (nothing.precision(), nothing.recall(), nothing.f1()),
            (None, None, None)
        );
        let missed = MatchCounts {
            truths: 2,
            ..nothing
        };
        assert_eq!(
            (missed.precision(), missed.recall(), missed.f1()),
            (None, Some(0.0), Some(0.0))
        );
    }
}
