//! Whether a training fits into memory, asked before it starts.

use mist_kernels::network::{Network, Shape};

use crate::error::{Error, Result};
use crate::recipe::Recipe;
use mist_data::ImageSize;

const MEGABYTE: f64 = 1024.0 * 1024.0;
/// The unit of `/proc/self/statm` on the usual systems.
const PAGE_BYTES: f64 = 4096.0;
/// The program itself, its data and the optimisers' work.
const BASE_MB: f64 = 200.0;

/// Refuses a recipe that needs more memory than this machine has free.
///
/// # Errors
/// When it does.
pub fn check(recipe: &Recipe, size: ImageSize) -> Result<()> {
    let needed = needed_mb(recipe, size)?;
    // A system that does not tell its free memory refuses nothing.
    match available_mb() {
        Some(available) if needed > available => Err(Error::Usage(format!(
            "this training needs about {needed:.0} MB of memory and {available:.0} MB are free; a smaller \
             `batch` needs less (`--set batch={}`)",
            (recipe.batch as f64 * available / needed / 1.2).max(1.0) as usize
        ))),
        _ => Ok(()),
    }
}

/// What the tapes of both networks hold at once, generously.
fn needed_mb(recipe: &Recipe, size: ImageSize) -> Result<f64> {
    let model = &recipe.model;
    if model.backbone.is_some() {
        // Features are kept, and the networks on them are small.
        return Ok(BASE_MB);
    }
    let channels = model.image_channels();
    let values = |network: &Network, height_px: usize, width_px: usize| -> Result<f64> {
        let shapes = network.shapes(Shape::new(channels, height_px, width_px))?;
        // A residual block keeps about five maps of its size, counted as one in the description.
        Ok(shapes.iter().map(|shape| shape.len() as f64).sum::<f64>() * 5.0)
    };
    let mut detector = 0.0;
    for scale in model.scales.values() {
        let multiple_px = model.detector.side_multiple_px();
        let scaled = |side_px: usize| {
            let seen_px = (side_px as f32 / scale).round().max(1.0) as usize;
            seen_px.next_multiple_of(multiple_px)
        };
        let (height_px, width_px) = (scaled(size.height_px), scaled(size.width_px));
        detector += values(&model.detector.network()?, height_px, width_px)?;
    }
    let patch_px = model.geometry.patch_px;
    let task = values(&model.task.network()?, patch_px, patch_px)?;
    let per_image = detector + task * model.extractor.instances as f64;
    Ok(BASE_MB + per_image * recipe.batch as f64 * 4.0 / MEGABYTE)
}

/// Free memory by the system's own account, less where a container or a limit of the process (`ulimit -v`) allows less.
pub(crate) fn available_mb() -> Option<f64> {
    [system_mb(), address_space_mb()]
        .into_iter()
        .flatten()
        .reduce(f64::min)
}

/// Addresses that this process may still take.
fn address_space_mb() -> Option<f64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max address space"))?;
    let most: f64 = line.split_whitespace().next()?.parse().ok()?;
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let taken: f64 = pages.split_whitespace().next()?.parse().ok()?;
    Some((most - taken * PAGE_BYTES).max(0.0) / MEGABYTE)
}

fn system_mb() -> Option<f64> {
    let info = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").trim().parse().ok()?;
    let free = kilobytes / 1024.0;
    Some(container_mb().map_or(free, |container| container.min(free)))
}

fn container_mb() -> Option<f64> {
    let read = |name: &str| std::fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok();
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let (most, used) = (
        number(&read("memory.max")?)?,
        number(&read("memory.current")?)?,
    );
    // Cached files count as used, yet the system gives them up.
    let cached = read("memory.stat").and_then(|text| {
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("inactive_file "))?;
        number(line)
    });
    Some((most - used + cached.unwrap_or(0.0)) / MEGABYTE)
}
