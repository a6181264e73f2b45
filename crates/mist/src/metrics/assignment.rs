//! Rectangular linear assignment by shortest augmenting paths (the Hungarian method), O(n^2 m) for
//! `n <= m`.

use super::pairing::Pair;

/// The one-to-one pairs with the greatest total weight, in the order of the truths.
///
/// `weight` is `None` for a pair that cannot match; so is a weight that is not finite or not
/// positive, as leaving both sides free costs nothing.
pub(super) fn heaviest_pairs(
    truth_count: usize,
    detection_count: usize,
    weight: impl Fn(usize, usize) -> Option<f64>,
) -> Vec<Pair> {
    // The augmenting paths need at least as many columns as rows.
    let is_transposed = truth_count > detection_count;
    let (row_count, column_count) = if is_transposed {
        (detection_count, truth_count)
    } else {
        (truth_count, detection_count)
    };
    let pair_at = |row, column| {
        if is_transposed {
            Pair {
                truth: column,
                detection: row,
            }
        } else {
            Pair {
                truth: row,
                detection: column,
            }
        }
    };
    let mut costs = CostMatrix {
        column_count,
        values: vec![0.0; row_count * column_count],
    };
    for row in 0..row_count {
        for column in 0..column_count {
            let Pair { truth, detection } = pair_at(row, column);
            let usable = weight(truth, detection).filter(|w| w.is_finite() && *w > 0.0);
            costs.values[row * column_count + column] = -usable.unwrap_or(0.0);
        }
    }

    let mut pairs: Vec<_> = cheapest_rows(&costs, row_count)
        .into_iter()
        .enumerate()
        .filter_map(|(column, row)| Some((row?, column)))
        .filter(|&(row, column)| costs.at(row, column) < 0.0)
        .map(|(row, column)| pair_at(row, column))
        .collect();
    pairs.sort_unstable_by_key(|pair| pair.truth);
    pairs
}

struct CostMatrix {
    column_count: usize,
    values: Vec<f64>,
}

impl CostMatrix {
    fn at(&self, row: usize, column: usize) -> f64 {
        self.values[row * self.column_count + column]
    }
}

/// For each column the row assigned to it at the least total cost; every row gets a column.
///
/// Rows enter one at a time. Each starts in an extra column behind the real ones, from which a
/// shortest path over the reduced costs leads to a free column; the rows on it each move on by one.
fn cheapest_rows(costs: &CostMatrix, row_count: usize) -> Vec<Option<usize>> {
    let extra = costs.column_count;
    let mut row_potential = vec![0.0; row_count];
    let mut column_potential = vec![0.0; extra + 1];
    let mut row_of: Vec<Option<usize>> = vec![None; extra + 1];

    for entering in 0..row_count {
        row_of[extra] = Some(entering);
        let mut distance = vec![f64::INFINITY; extra];
        let mut previous = vec![extra; extra];
        let mut is_reached = vec![false; extra + 1];
        let mut column = extra;
        while let Some(row) = row_of[column] {
            is_reached[column] = true;
            let mut nearest = extra;
            let mut step = f64::INFINITY;
            for next in (0..extra).filter(|&next| !is_reached[next]) {
                let reduced = costs.at(row, next) - row_potential[row] - column_potential[next];
                if reduced < distance[next] {
                    distance[next] = reduced;
                    previous[next] = column;
                }
                if distance[next] < step {
                    step = distance[next];
                    nearest = next;
                }
            }
            for reached in 0..=extra {
                if is_reached[reached] {
                    column_potential[reached] -= step;
                    if let Some(row) = row_of[reached] {
                        row_potential[row] += step;
                    }
                } else {
                    distance[reached] -= step;
                }
            }
            column = nearest;
        }
        while column != extra {
            row_of[column] = row_of[previous[column]];
            column = previous[column];
        }
    }
    row_of.truncate(extra);
    row_of
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// The best total over all ways of giving each truth from `truth` on a free detection or none.
    fn exhaustive_total(weights: &[Vec<Option<f64>>], truth: usize, used: &mut [bool]) -> f64 {
        let Some(row) = weights.get(truth) else {
            return 0.0;
        };
        let mut best = exhaustive_total(weights, truth + 1, used);
        for (detection, weight) in row.iter().enumerate() {
            if let Some(weight) = weight
                && !used[detection]
            {
                used[detection] = true;
                best = best.max(weight + exhaustive_total(weights, truth + 1, used));
                used[detection] = false;
            }
        }
        best
    }

    #[test]
    fn gives_up_the_best_pair_for_a_better_total() {
        // .9 alone, or .8 + .7 = 1.5.
        let weights = [[Some(0.9), Some(0.8)], [Some(0.7), None]];
        let pairs = heaviest_pairs(2, 2, |truth, detection| weights[truth][detection]);
        let expected = [
            Pair {
                truth: 0,
                detection: 1,
            },
            Pair {
                truth: 1,
                detection: 0,
            },
        ];
        assert_eq!(pairs, expected);
    }

    #[test]
    fn empty_sides_and_unusable_weights_give_no_pairs() {
        assert!(heaviest_pairs(0, 3, |_, _| Some(1.0)).is_empty());
        assert!(heaviest_pairs(3, 0, |_, _| Some(1.0)).is_empty());
        for weight in [f64::NAN, f64::INFINITY, -1.0, 0.0] {
            assert!(heaviest_pairs(2, 3, |_, _| Some(weight)).is_empty());
        }
    }

    fn weight() -> impl Strategy<Value = Option<f64>> {
        prop_oneof![
            1 => Just(None),
            1 => (1_u8..=4).prop_map(|quarter| Some(f64::from(quarter) / 4.0)),
            3 => (0.01_f64..1.0).prop_map(Some),
        ]
    }

    fn weights() -> impl Strategy<Value = Vec<Vec<Option<f64>>>> {
        (0_usize..=6, 0_usize..=6)
            .prop_flat_map(|(truths, detections)| vec(vec(weight(), detections), truths))
    }

    proptest! {
        #[test]
        fn equals_an_exhaustive_search(weights in weights()) {
            let detection_count = weights.first().map_or(0, Vec::len);
            let pairs =
                heaviest_pairs(weights.len(), detection_count, |row, column| weights[row][column]);
            let total: Option<f64> =
                pairs.iter().map(|pair| weights[pair.truth][pair.detection]).sum();
            let best = exhaustive_total(&weights, 0, &mut vec![false; detection_count]);
            prop_assert!((total.unwrap() - best).abs() < 1e-12);
            let mut detections: Vec<_> = pairs.iter().map(|pair| pair.detection).collect();
            detections.sort_unstable();
            detections.dedup();
            prop_assert_eq!(detections.len(), pairs.len());
            prop_assert!(pairs.is_sorted_by(|a, b| a.truth < b.truth));
        }
    }
}
