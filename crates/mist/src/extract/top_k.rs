//! Selection of the K strongest pixels.

/// Indices of the `k` largest scores, survivors first, each group in descending order; ties go to the lower index.
pub(super) fn top_k(scores: &[f32], survivors: &[bool], k: usize) -> Vec<usize> {
    let strongest = |survived: bool, k: usize| {
        let mut indices: Vec<usize> = (0..scores.len())
            .filter(|&index| survivors[index] == survived)
            .collect();
        let descending =
            |a: &usize, b: &usize| scores[*b].total_cmp(&scores[*a]).then_with(|| a.cmp(b));
        if k < indices.len() {
            indices.select_nth_unstable_by(k, descending);
            indices.truncate(k);
        }
        indices.sort_unstable_by(descending);
        indices
    };
    let mut picked = strongest(true, k);
    if picked.len() < k {
        picked.extend(strongest(false, k - picked.len()));
    }
    picked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strongest_survivors_come_first_and_ties_by_position() {
        let scores = [0.5, 0.9, 0.5, 0.7];
        assert_eq!(top_k(&scores, &[true; 4], 3), [1, 3, 0]);
        assert_eq!(top_k(&scores, &[true, false, true, false], 3), [0, 2, 1]);
        assert_eq!(top_k(&scores, &[true; 4], 0), [0usize; 0]);
    }
}
