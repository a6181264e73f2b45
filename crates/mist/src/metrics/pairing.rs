//! Pairs of a truth and a detection, and the released evaluator's greedy way of forming them.

/// Positions of a truth and of the detection it was matched with, in their image's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Position among the truths.
    pub truth: usize,
    /// Position among the detections.
    pub detection: usize,
}

/// Gives each truth, in order, the best detection that is still free; the first one among equals.
///
/// `quality` is `None` for a pair that cannot match.
pub(super) fn greedy_pairs(
    truth_count: usize,
    detection_count: usize,
    quality: impl Fn(usize, usize) -> Option<f64>,
) -> Vec<Pair> {
    let mut is_free = vec![true; detection_count];
    let mut pairs = Vec::new();
    for truth in 0..truth_count {
        let mut best: Option<(usize, f64)> = None;
        for detection in (0..detection_count).filter(|&detection| is_free[detection]) {
            let Some(candidate) = quality(truth, detection) else {
                continue;
            };
            if best.is_none_or(|(_, quality)| candidate > quality) {
                best = Some((detection, candidate));
            }
        }
        if let Some((detection, _)) = best {
            is_free[detection] = false;
            pairs.push(Pair { truth, detection });
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_early_truth_takes_what_a_later_one_needs() {
        // Truth 0 likes both and prefers detection 1, the only one truth 1 could have had.
        let quality = [[Some(0.6), Some(0.7)], [None, Some(0.9)]];
        let pairs = greedy_pairs(2, 2, |truth, detection| quality[truth][detection]);
        assert_eq!(
            pairs,
            [Pair {
                truth: 0,
                detection: 1
            }]
        );
    }

    #[test]
    fn the_first_of_equals_wins() {
        let pairs = greedy_pairs(1, 3, |_, detection| (detection > 0).then_some(0.5));
        assert_eq!(
            pairs,
            [Pair {
                truth: 0,
                detection: 1
            }]
        );
    }
}
