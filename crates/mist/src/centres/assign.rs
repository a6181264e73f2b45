//! Which candidates are the objects that were counted.

/// Gives the labels of `counts[label]` objects to candidates, the greatest gain first, each candidate one at most; what is
/// left gets the label after the last. `gains[candidate][label]` says how much better a label is than none.
pub(super) fn assign(gains: &[Vec<f32>], counts: &[usize]) -> Vec<usize> {
    let mut left = counts.to_vec();
    let mut labels = vec![counts.len(); gains.len()];
    let all = |(candidate, gains): (usize, &Vec<f32>)| {
        let pairs = gains.iter().take(counts.len()).enumerate();
        let pairs = pairs.map(|(label, &gain)| (gain, candidate, label));
        pairs.collect::<Vec<_>>()
    };
    let mut pairs: Vec<(f32, usize, usize)> = gains.iter().enumerate().flat_map(all).collect();
    pairs.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (_, candidate, label) in pairs {
        if labels[candidate] == counts.len() && left[label] > 0 {
            labels[candidate] = label;
            left[label] -= 1;
        }
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_candidates_get_a_label_as_were_counted() {
        let gains = [
            vec![0.9, 0.8],
            vec![0.7, 0.1],
            vec![0.2, 0.85],
            vec![0.6, 0.0],
        ];
        assert_eq!(assign(&gains, &[2, 1]), [0, 0, 1, 2]);
        assert_eq!(assign(&gains, &[1, 2]), [0, 1, 1, 2]);
        assert_eq!(assign(&gains, &[0, 0]), [2; 4]);
        assert_eq!(assign(&gains, &[9, 0]), [0; 4]);
        assert!(assign(&[], &[3]).is_empty());
    }
}
