//! Slices split into one part per image or patch.

/// Part `index` of `count` parts of equal length.
pub(super) fn part(values: &[f32], index: usize, count: usize) -> &[f32] {
    let length = values.len() / count;
    &values[index * length..][..length]
}

/// All of `count` parts of equal length.
pub(super) fn parts(mut values: &mut [f32], count: usize) -> Vec<&mut [f32]> {
    let length = values.len() / count.max(1);
    let part = |_| {
        let (part, rest) = std::mem::take(&mut values).split_at_mut(length);
        values = rest;
        part
    };
    (0..count).map(part).collect()
}

/// Zeros for a gradient, or an empty vector if it is not wanted.
pub(super) fn zeros(length: usize, wanted: bool) -> Vec<f32> {
    vec![0.0; if wanted { length } else { 0 }]
}
