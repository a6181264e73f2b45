//! `mist completions`: shell completion scripts.

use clap::CommandFactory;
use mist_lab::Result;

use crate::cli::Cli;
use crate::stdout;

/// Prints the script.
pub fn run(shell: clap_complete::Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "mist", &mut script);
    stdout::write(&String::from_utf8_lossy(&script))
}
