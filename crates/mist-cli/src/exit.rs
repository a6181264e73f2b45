//! Exit codes: what went wrong, by whose fault.

use std::error::Error as _;
use std::process::ExitCode;

use mist_lab::{Error, Fault};

use crate::console;

/// Says what is wrong on standard error and gives the exit code.
pub fn report(error: &Error) -> ExitCode {
    console::print_line(format_args!("error: {}", message(error)));
    ExitCode::from(code(error.fault()))
}

fn code(fault: Fault) -> u8 {
    match fault {
        Fault::Failed => 1,
        Fault::Usage => 2,
        Fault::Input => 3,
        Fault::Diverged => 4,
        Fault::DamagedCheckpoint => 5,
        Fault::Interrupted(signal) => 128u8.saturating_add(u8::try_from(signal).unwrap_or(0)),
    }
}

/// The error and its causes, leaving out a cause that an outer message quotes already.
fn message(error: &Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let told = cause.to_string();
        if !text.contains(&told) {
            text = format!("{text}: {told}");
        }
        next = cause.source();
    }
    text
}
