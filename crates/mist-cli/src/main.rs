//! The `mist` command.

#![forbid(unsafe_code)]

mod cli;
mod commands;
mod console;
mod exit;
mod signals;
mod stdout;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let arguments = cli::Cli::parse();
    match commands::run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::report(&error),
    }
}
