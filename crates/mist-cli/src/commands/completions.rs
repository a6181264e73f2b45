//! `mist completions`: shell completion scripts.

use anyhow::Result;
use clap::CommandFactory;

use crate::cli::Cli;
use crate::stdout;

/// Prints the script.
pub fn run(shell: clap_complete::Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "mist", &mut script);
    stdout::write(&String::from_utf8_lossy(&script))
}
