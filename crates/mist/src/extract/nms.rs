//! Non-maximum suppression.

/// Marks every pixel that is at least as large as all others in the window around it; ties survive.
pub(super) fn local_maxima(scores: &[f32], width: usize, window_px: usize) -> Vec<bool> {
    let radius = window_px / 2;
    let rows: Vec<f32> = scores
        .chunks_exact(width)
        .flat_map(|row| (0..width).map(move |x| max_around(x, width, radius, |i| row[i])))
        .collect();
    let height = scores.len() / width;
    (0..scores.len())
        .map(|index| {
            let (x, y) = (index % width, index / width);
            scores[index] >= max_around(y, height, radius, |i| rows[i * width + x])
        })
        .collect()
}

fn max_around(centre: usize, length: usize, radius: usize, value: impl Fn(usize) -> f32) -> f32 {
    let first = centre.saturating_sub(radius);
    let last = (centre + radius).min(length - 1);
    (first..=last).map(value).fold(f32::NEG_INFINITY, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_window_s_maximum_survives() {
        #[rustfmt::skip]
        let scores = [
            0.1, 0.2, 0.1, 0.0,
            0.2, 0.9, 0.3, 0.0,
            0.1, 0.3, 0.2, 0.8,
        ];
        let kept = local_maxima(&scores, 4, 3);
        let indices: Vec<usize> = (0..12).filter(|&i| kept[i]).collect();
        assert_eq!(indices, [5, 11]);
    }

    #[test]
    fn ties_survive_and_a_window_of_one_keeps_all() {
        assert_eq!(local_maxima(&[1.0, 1.0, 0.0], 3, 3), [true, true, false]);
        assert_eq!(local_maxima(&[1.0, 2.0, 0.0], 3, 1), [true; 3]);
    }
}
