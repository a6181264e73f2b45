//! Wall-clock medians.

use std::time::Instant;

use anyhow::Result;

/// Median seconds of `rounds` runs, after one that warms up.
pub fn median_secs(rounds: u16, mut run: impl FnMut() -> Result<()>) -> Result<f64> {
    run()?;
    let mut seconds = Vec::with_capacity(rounds.into());
    for _ in 0..rounds {
        let start = Instant::now();
        run()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    seconds.sort_by(f64::total_cmp);
    Ok(seconds[seconds.len() / 2])
}
