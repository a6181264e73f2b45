//! What can go wrong, and by whose fault.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use burn::tensor::TensorReadError;
use mist::metrics::PixelError;
use mist_data::RequestError;
use mist_kernels::network::NetworkError;
use mist_kernels::simd::IsaError;

use crate::draw::DrawError;

/// What every fallible function of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any failure of this crate; the text says what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A request, a recipe or a setting that cannot be followed.
    #[error("{0}")]
    Usage(String),
    /// A file that holds something else than it should.
    #[error("{}: {reason}", .path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", .path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On which path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A training whose loss, heatmap or weights are not finite any more.
    #[error("{0}")]
    Diverged(String),
    /// No checkpoint of a run is whole.
    #[error("{0}")]
    DamagedCheckpoint(String),
    /// A training that was asked to stop, and saved before it did.
    #[error("stopped by signal {0}; `--resume` continues")]
    Interrupted(i32),
    /// Work that was asked to stop, and left nothing behind.
    #[error("stopped by signal {0}; nothing was written")]
    Stopped(i32),
    /// Networks, weights and devices.
    #[error(transparent)]
    Model(#[from] mist::Error),
    /// Scenes, data sets and pictures.
    #[error(transparent)]
    Data(#[from] mist_data::Error),
    /// A picture that cannot be drawn.
    #[error(transparent)]
    Draw(#[from] DrawError),
    /// Images that cannot be compared.
    #[error("a redrawn image cannot be compared with its original: {0}")]
    Pixels(#[from] PixelError),
    /// A value that cannot be written as JSON.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Some images, or all, could not be done; each was told, and the others are done.
    #[error("{failed} of {all} images could not be done; each is named above")]
    Incomplete {
        /// How many failed.
        failed: u64,
        /// Of how many.
        all: u64,
    },
    /// Something else, in words.
    #[error("{0}")]
    Failed(String),
    /// Another failure and where it happened.
    #[error("{context}: {source}")]
    Context {
        /// What was being done, or to which file.
        context: String,
        /// The failure.
        source: Box<Error>,
    },
}

/// Whose fault a failure is, for exit codes and the like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request or a setting is wrong.
    Usage,
    /// A file is missing, unreadable or damaged.
    Input,
    /// The training diverged.
    Diverged,
    /// No checkpoint is whole.
    DamagedCheckpoint,
    /// Ended by this signal.
    Interrupted(i32),
    /// None of these.
    Failed,
}

impl Fault {
    /// What a process ends with.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Input => 3,
            Self::Diverged => 4,
            Self::DamagedCheckpoint => 5,
            Self::Interrupted(signal) => 128u8.saturating_add(u8::try_from(signal).unwrap_or(0)),
        }
    }

    /// Whose fault it was that another process ended so.
    pub fn of_exit_code(code: u8) -> Self {
        match code {
            2 => Self::Usage,
            3 => Self::Input,
            4 => Self::Diverged,
            5 => Self::DamagedCheckpoint,
            129.. => Self::Interrupted(i32::from(code - 128)),
            _ => Self::Failed,
        }
    }
}

impl Error {
    /// Whether other ranks know of it, or cannot be told any more.
    pub fn is_of_another_rank(&self) -> bool {
        match self {
            Self::Model(error) => matches!(
                error,
                mist::Error::RankStopped { .. } | mist::Error::LostRank(_)
            ),
            Self::Context { source, .. } => source.is_of_another_rank(),
            _ => false,
        }
    }

    /// Whose fault it is.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Usage(_) => Fault::Usage,
            Self::Input { .. } | Self::Io { .. } | Self::Pixels(_) => Fault::Input,
            Self::Diverged(_) => Fault::Diverged,
            Self::DamagedCheckpoint(_) => Fault::DamagedCheckpoint,
            Self::Interrupted(signal) | Self::Stopped(signal) => Fault::Interrupted(*signal),
            Self::Model(error) => fault_of_model(error),
            Self::Data(error) => fault_of_data(error),
            Self::Draw(_) => Fault::Usage,
            Self::Incomplete { failed, all } if failed == all => Fault::Input,
            Self::Incomplete { .. } | Self::Json(_) | Self::Failed(_) => Fault::Failed,
            Self::Context { source, .. } => source.fault(),
        }
    }

    /// A file that holds something else than it should.
    pub(crate) fn input(path: &Path, reason: impl Display) -> Self {
        Self::Input {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}

fn fault_of_model(error: &mist::Error) -> Fault {
    use mist::Error as E;
    match error {
        E::WeightsFormat(_)
        | E::MissingTensor { .. }
        | E::UnknownTensor { .. }
        | E::TensorShape { .. }
        | E::NonFiniteTensor { .. }
        | E::NonFiniteOutput { .. }
        | E::NonFiniteHeatmap { .. } => Fault::Input,
        E::RankStopped { code, .. } => Fault::of_exit_code(*code),
        E::Read(_) | E::Executor(_) | E::NoGradient | E::Memory(_) | E::LostRank(_) => {
            Fault::Failed
        }
        _ => Fault::Usage,
    }
}

fn fault_of_data(error: &mist_data::Error) -> Fault {
    use mist_data::Error as E;
    match error {
        E::Request(RequestError::MnistNotFound { .. }) => Fault::Input,
        E::Request(_) => Fault::Usage,
        E::Input(_) | E::System(_) => Fault::Input,
        _ => Fault::Failed,
    }
}

impl From<NetworkError> for Error {
    fn from(error: NetworkError) -> Self {
        Self::Model(error.into())
    }
}

impl From<IsaError> for Error {
    fn from(error: IsaError) -> Self {
        Self::Model(error.into())
    }
}

impl From<TensorReadError> for Error {
    fn from(error: TensorReadError) -> Self {
        Self::Model(error.into())
    }
}

/// Gives an I/O error what was tried and the path it happened on.
pub(crate) trait AtPath<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T>;
}

impl<T> AtPath<T> for io::Result<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T> {
        self.map_err(|source| Error::Io {
            action,
            path: path.to_owned(),
            source,
        })
    }
}

/// Says where a failure happened.
pub(crate) trait Context<T> {
    fn context(self, context: impl Display) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for Result<T, E> {
    fn context(self, context: impl Display) -> Result<T> {
        self.map_err(|error| Error::Context {
            context: context.to_string(),
            source: Box::new(error.into()),
        })
    }
}
