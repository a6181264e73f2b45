//! `mist data prepare`

use std::path::PathBuf;

use mist_data::{PrepareRequest, Prepared, cache_root, prepare};
use mist_lab::Result;

use super::fetch::no_home;
use crate::console::Console;
use crate::stdout;

/// Prepares a data set of photographs, says what became of all, and prints the directory.
pub fn run(
    name: &str,
    sources: Vec<PathBuf>,
    seed: u64,
    out: Option<PathBuf>,
    console: &Console,
) -> Result<()> {
    let in_cache = || cache_root().map(|root| root.join(name));
    let out = out.or_else(in_cache).ok_or_else(no_home)?;
    let request = PrepareRequest { sources, out, seed };
    let prepared = prepare(&request)?;
    for line in lines(&prepared) {
        console.line(format_args!("{line}"));
    }
    stdout::write(&format!("{}\n", request.out.display()))
}

fn lines(prepared: &Prepared) -> Vec<String> {
    let [train, valid, test] = prepared.kept;
    let counts = [
        (prepared.looked_at, "photographs looked at"),
        (prepared.without_annotations, "without annotations"),
        (
            prepared.without_objects,
            "without an object of the 20 classes",
        ),
        (prepared.damaged_images, "damaged"),
        (
            prepared.too_large,
            "with an object of over 30 % of the area",
        ),
        (
            prepared.too_narrow,
            "with an object beyond an aspect ratio of 2",
        ),
    ];
    let mut lines: Vec<String> = counts
        .into_iter()
        .map(|(count, what)| format!("{count:7} {what}"))
        .collect();
    lines.push(format!(
        "{:7} kept: {train} train, {valid} valid, {test} test, with {} objects that cover {:.1} % on average",
        train + valid + test,
        prepared.objects,
        100.0 * prepared.mean_cover
    ));
    let warnings = [
        (
            prepared.skipped_boxes,
            "boxes outside of their image, without an area or unreadable: skipped",
        ),
        (
            prepared.missing_images,
            "annotated images are missing: skipped",
        ),
    ];
    let warnings = warnings.into_iter().filter(|(count, _)| *count > 0);
    lines.extend(warnings.map(|(count, what)| format!("warning: {count} {what}")));
    lines
}
