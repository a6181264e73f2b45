//! The threshold between objects and background (Otsu, 1979).

const BINS: usize = 256;

/// The value in `[0, 1]`, where greater ones count as 1, that divides values into two groups with the greatest variance between them.
pub(super) fn otsu(values: &[f32]) -> f32 {
    let mut bins = [0_u64; BINS];
    for value in values {
        bins[((value * BINS as f32) as usize).min(BINS - 1)] += 1;
    }
    let weighted = |(bin, &count): (usize, &u64)| bin as f64 * count as f64;
    let total: f64 = bins.iter().enumerate().map(weighted).sum();
    let (mut below, mut sum) = (0.0, 0.0);
    let (mut best, mut threshold) = (0.0, 1.0);
    for (bin, &count) in bins.iter().enumerate() {
        below += count as f64;
        sum += bin as f64 * count as f64;
        let above = values.len() as f64 - below;
        if below == 0.0 || above == 0.0 {
            continue;
        }
        let between = below * above * (sum / below - (total - sum) / above).powi(2);
        if between > best {
            best = between;
            threshold = (bin + 1) as f32 / BINS as f32;
        }
    }
    threshold
}
