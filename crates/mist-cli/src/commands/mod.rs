//! One file per verb.

mod bench;
mod completions;
mod data;
mod demo;
mod detect;
mod eval;
mod export;
mod report;
mod reproduce;
mod train;

pub use bench::Workload;

use anyhow::Result;

use crate::cli::{Cli, Command};

/// Runs the verb that was asked for.
pub fn run(arguments: Cli) -> Result<()> {
    let say = Say {
        quiet: arguments.quiet,
    };
    match arguments.command {
        Command::Demo(command) => demo::run(&command, say),
        Command::Data(command) => data::run(command, say),
        Command::Bench(command) => bench::run(&command, say),
        Command::Train(command) => train::run(&command, say),
        Command::Detect(command) => detect::run(&command, say),
        Command::Report(command) => report::run(&command, say),
        Command::Reproduce(command) => reproduce::run(&command, say),
        Command::Export(command) => export::run(&command),
        Command::Eval(command) => eval::run(&command, say),
        Command::Completions { shell } => completions::run(shell),
    }
}

/// Messages for people, on standard error.
#[derive(Clone, Copy)]
pub struct Say {
    quiet: bool,
}

impl Say {
    /// Whether only errors are wanted.
    pub fn is_quiet(self) -> bool {
        self.quiet
    }

    /// Prints one line unless `--quiet`.
    pub fn line(self, text: impl std::fmt::Display) {
        if !self.quiet {
            eprintln!("{text}");
        }
    }
}
