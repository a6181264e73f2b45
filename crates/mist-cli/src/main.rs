//! The `mist` command.

#![forbid(unsafe_code)]

mod batches;
mod cli;
mod commands;
mod detections;
mod dictionary;
mod evaluation;
mod exit;
mod figures;
mod machine;
mod models;
mod mosaic;
mod notes;
mod patches;
mod plot;
mod recipe;
mod report;
mod results;
mod run;
mod stdout;
mod tables;
mod training;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let arguments = cli::Cli::parse();
    match commands::run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => exit::report(&error),
    }
}
