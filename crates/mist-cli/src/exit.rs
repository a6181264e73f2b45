//! Exit codes: what went wrong, by whose fault.

use std::process::ExitCode;

use mist_data::{Error as DataError, RequestError};
use mist_kernels::network::NetworkError;

/// A command line or a recipe that cannot be followed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Usage(pub String);

/// A training whose loss is no number any more.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Diverged(pub String);

/// No checkpoint of a run is whole.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DamagedCheckpoint(pub String);

/// Ended by a signal, after saving.
#[derive(Debug, thiserror::Error)]
#[error("stopped by signal {0}; `--resume` continues")]
pub struct Interrupted(pub i32);

/// How the command ends when it does not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    /// Finished with failures.
    Failed,
    /// The command line or a setting is wrong.
    Usage,
    /// A file is missing, unreadable or damaged.
    Input,
    /// The loss is no number any more.
    Diverged,
    /// No checkpoint is whole.
    DamagedCheckpoint,
    /// Ended by a signal.
    Signal(i32),
}

impl Failure {
    fn code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Input => 3,
            Self::Diverged => 4,
            Self::DamagedCheckpoint => 5,
            Self::Signal(number) => 128u8.saturating_add(u8::try_from(number).unwrap_or(0)),
        }
    }
}

/// Says what is wrong on standard error and gives the exit code.
pub fn report(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {}", message(error));
    ExitCode::from(classify(error).code())
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
    for cause in error.chain() {
        if let Some(interrupted) = cause.downcast_ref::<Interrupted>() {
            return Failure::Signal(interrupted.0);
        }
        if cause.is::<Diverged>() {
            return Failure::Diverged;
        }
        if cause.is::<DamagedCheckpoint>() {
            return Failure::DamagedCheckpoint;
        }
        if cause.is::<Usage>() {
            return Failure::Usage;
        }
    }
    let data = error.chain().find_map(|cause| cause.downcast_ref());
    match data {
        Some(DataError::Request(RequestError::MnistNotFound { .. })) => Failure::Input,
        Some(DataError::Request(_)) => Failure::Usage,
        Some(DataError::Cancelled(_)) => Failure::Signal(signal_hook::consts::SIGINT),
        Some(DataError::Input(_) | DataError::System(_)) => Failure::Input,
        Some(_) => Failure::Failed,
        None if error.chain().any(is_weights_error) => Failure::Input,
        None if error.chain().any(is_settings_error) => Failure::Usage,
        None if error.chain().any(|cause| cause.is::<std::io::Error>()) => Failure::Input,
        None => Failure::Failed,
    }
}

fn is_settings_error(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause.is::<mist::Error>() || cause.is::<NetworkError>()
}

fn is_weights_error(cause: &(dyn std::error::Error + 'static)) -> bool {
    use mist::Error::{MissingTensor, NonFiniteTensor, TensorShape, UnknownTensor, WeightsFormat};
    matches!(
        cause.downcast_ref(),
        Some(
            WeightsFormat(_)
                | MissingTensor { .. }
                | UnknownTensor { .. }
                | TensorShape { .. }
                | NonFiniteTensor { .. }
        )
    )
}
