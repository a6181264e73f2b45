//! Exit codes: what went wrong, by whose fault.

use std::error::Error as _;
use std::process::ExitCode;

use mist_lab::Error;

use crate::console;

/// Says what is wrong on standard error and gives the exit code.
pub fn report(error: &Error) -> ExitCode {
    console::print_line(format_args!("error: {}", message(error)));
    ExitCode::from(error.fault().exit_code())
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
