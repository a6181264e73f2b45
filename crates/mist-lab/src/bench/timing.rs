//! Wall-clock medians.

use std::time::Instant;

use crate::error::Result;

/// Median seconds of `rounds` runs, after one that warms up.
pub fn median_secs(rounds: u16, mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    run()?;
    let mut seconds = Vec::with_capacity(rounds.into());
    for _ in 0..rounds {
        let start = Instant::now();
        run()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    Ok(median(&mut seconds))
}

/// The middle value, the upper of two; zero of nothing.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
