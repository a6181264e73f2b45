//! Threshold and probabilities from judged boxes, which come in order of their scores.

use super::Judged;

/// The score from which on boxes have the highest F1.
pub(super) fn best_threshold(sorted: &[Judged], truths: usize) -> f32 {
    let mut right = sorted.iter().filter(|judged| judged.right).count();
    let (mut best, mut best_f1) = (f32::INFINITY, -1.0);
    for (index, judged) in sorted.iter().enumerate() {
        let found = sorted.len() - index;
        let f1 = 2.0 * right as f64 / (found + truths) as f64;
        let is_first = index == 0 || sorted[index - 1].score < judged.score;
        if is_first && f1 > best_f1 {
            (best, best_f1) = (judged.score, f1);
        }
        right -= usize::from(judged.right);
    }
    best
}

/// The shares of right boxes that rise with the score and fit best (pool adjacent violators), each with its first score.
pub(super) fn isotonic(sorted: &[Judged]) -> Vec<(f32, f32)> {
    let mut pools: Vec<(f32, usize, usize)> = Vec::new();
    for judged in sorted {
        let mut pool = (judged.score, usize::from(judged.right), 1);
        while let Some(&(score, right, count)) = pools.last() {
            // Shares compared as whole numbers.
            if right * pool.2 < pool.1 * count && score < pool.0 {
                break;
            }
            pool = (score, right + pool.1, count + pool.2);
            pools.pop();
        }
        pools.push(pool);
    }
    let share = |(score, right, count): (f32, usize, usize)| (score, right as f32 / count as f32);
    pools.into_iter().map(share).collect()
}
