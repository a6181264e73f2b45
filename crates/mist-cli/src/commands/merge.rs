//! `mist merge`

use mist_lab::Result;
use mist_lab::detections::{MergeRequest, merge};

use super::detect::finish;
use crate::cli::Merge;
use crate::console::Console;

/// Writes what the shards found, as one detection would have.
pub fn run(command: &Merge, console: &mut Console) -> Result<()> {
    let request = MergeRequest {
        shards: command.shards.clone(),
        out: command.out.clone(),
        counts: command.counts.clone(),
    };
    let stdout = Box::new(std::io::stdout());
    finish(merge(&request, stdout, console), console)
}
