//! One file per verb.

mod bench;
mod calibrate;
mod completions;
mod data;
mod demo;
mod detect;
mod eval;
mod export;
mod merge;
mod recipe;
mod report;
mod reproduce;
mod train;

use mist_lab::Result;

use crate::cli::{Cli, Command};
use crate::console::Console;

/// Runs the verb that was asked for.
pub fn run(arguments: Cli) -> Result<()> {
    let mut console = Console::new(arguments.quiet);
    let console = &mut console;
    match arguments.command {
        Command::Demo(command) => demo::run(&command, console),
        Command::Data(command) => data::run(command, console),
        Command::Recipe(command) => recipe::run(&command),
        Command::Bench(command) => bench::run(&command, console),
        Command::Train(command) => train::run(&command, console),
        Command::Calibrate(command) => calibrate::run(&command, console),
        Command::Detect(command) => detect::run(&command, console),
        Command::Merge(command) => merge::run(&command, console),
        Command::Report(command) => report::run(&command, console),
        Command::Reproduce(command) => reproduce::run(&command, console),
        Command::Export(command) => export::run(&command),
        Command::Eval(command) => eval::run(&command, console),
        Command::Completions { shell } => completions::run(shell),
    }
}
