//! Exit codes: what went wrong, by whose fault.

use std::process::ExitCode;

use mist_data::{Error as DataError, RequestError};

/// How the command ends when it does not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    /// Finished with failures.
    Failed = 1,
    /// The command line or a setting is wrong.
    Usage = 2,
    /// A file is missing, unreadable or damaged.
    Input = 3,
}

/// Says what is wrong on standard error and gives the exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {}", message(error));
    ExitCode::from(classify(error) as u8)
}

/// The error and its causes, leaving out a cause that an outer message quotes already.
fn message(error: &anyhow::Error) -> String {
    error
        .chain()
        .skip(1)
        .fold(error.to_string(), |text, cause| {
            let cause = cause.to_string();
            if text.contains(&cause) {
                text
            } else {
                format!("{text}: {cause}")
            }
        })
}

fn classify(error: &anyhow::Error) -> Failure {
    let data = error.chain().find_map(|cause| cause.downcast_ref());
    match data {
        Some(DataError::Request(RequestError::MnistNotFound { .. })) => Failure::Input,
        Some(DataError::Request(_)) => Failure::Usage,
        Some(DataError::Input(_) | DataError::System(_)) => Failure::Input,
        Some(_) => Failure::Failed,
        None if error.chain().any(|cause| cause.is::<mist::Error>()) => Failure::Usage,
        None => Failure::Failed,
    }
}
