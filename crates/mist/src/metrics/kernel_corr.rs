//! How much the one pattern behind many redrawn patches looks like the true one, for Gabor noise.

/// Rounds of the power iteration; the patterns of interest stand out, so few are enough.
const ROUNDS: usize = 50;

/// The absolute correlation of `kernel` with the direction that most patches share (their first principal direction
/// through zero: patches of a kernel with weights of both signs have it as theirs).
///
/// `None` when a patch is of another size, when there is no patch, or when either pattern is flat.
pub fn kernel_corr(patches: &[Vec<f32>], kernel: &[f32]) -> Option<f64> {
    if patches.iter().any(|patch| patch.len() != kernel.len()) {
        return None;
    }
    let wide = |values: &[f32]| -> Vec<f64> { values.iter().map(|&value| value.into()).collect() };
    let patches: Vec<Vec<f64>> = patches.iter().map(|patch| wide(patch)).collect();
    let energy = |patch: &&Vec<f64>| dot(patch, patch);
    let strongest = patches
        .iter()
        .max_by(|a, b| energy(a).total_cmp(&energy(b)))?;
    let mut direction = strongest.clone();
    for _ in 0..ROUNDS {
        let mut next = vec![0.0; direction.len()];
        for patch in &patches {
            let weight = dot(patch, &direction);
            for (sum, value) in next.iter_mut().zip(patch) {
                *sum += weight * value;
            }
        }
        let length = dot(&next, &next).sqrt();
        if !(length > 0.0 && length.is_finite()) {
            return None;
        }
        direction = next.iter().map(|value| value / length).collect();
    }
    let (direction, kernel) = (centred(&direction), centred(&wide(kernel)));
    let lengths = (dot(&direction, &direction) * dot(&kernel, &kernel)).sqrt();
    (lengths > 0.0).then(|| dot(&direction, &kernel).abs() / lengths)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn centred(values: &[f64]) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter().map(|value| value - mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: [f32; 4] = [1.0, -1.0, 0.5, 0.0];

    fn weighted(weights: &[f32]) -> Vec<Vec<f32>> {
        weights
            .iter()
            .map(|weight| KERNEL.iter().map(|value| weight * value).collect())
            .collect()
    }

    #[test]
    fn weights_of_both_signs_share_the_kernel() {
        let corr = kernel_corr(&weighted(&[0.5, -0.3, 1.0]), &KERNEL).unwrap();
        assert!((corr - 1.0).abs() < 1e-12, "{corr}");
    }

    #[test]
    fn another_pattern_correlates_less() {
        // Means 0.125 and 0.5: centred (.875, -1.125, .375, -.125) and (.5, .5, -.5, -.5), whose product is -0.25.
        let patches = vec![vec![1.0, 1.0, 0.0, 0.0]];
        let corr = kernel_corr(&patches, &KERNEL).unwrap();
        assert!((corr - 0.25 / 2.1875_f64.sqrt()).abs() < 1e-12, "{corr}");
    }

    #[test]
    fn nothing_to_compare_is_none() {
        assert_eq!(kernel_corr(&[], &KERNEL), None);
        assert_eq!(kernel_corr(&[vec![1.0]], &KERNEL), None);
        assert_eq!(kernel_corr(&weighted(&[0.0]), &KERNEL), None);
        assert_eq!(kernel_corr(&weighted(&[1.0]), &[2.0; 4]), None);
    }
}
