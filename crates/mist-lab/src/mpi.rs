//! Ranks that an MPI launcher started: each speaks through a `mist-mpi` of its own.

use std::env;
use std::io::{BufReader, BufWriter};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use mist::ranks::{Alone, Communicator};
use mist_mpi::{BEAT, Frame};

use crate::error::{Error, Result};

/// Variables in which launchers say how many processes they started: Open MPI's, then those of MPICH, Intel and Slurm's PMI.
const SIZES: [&str; 2] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"];
/// Where the program is that speaks MPI, if it is not beside this one.
const PROGRAM_VARIABLE: &str = "MIST_MPI";
const PROGRAM: &str = "mist-mpi";
/// Bytes of each buffer between the two programs.
const BUFFER: usize = 1 << 16;

/// The ranks that the environment says this process is one of; alone without a launcher.
///
/// # Errors
/// When there is a launcher but no `mist-mpi`, or it cannot reach the others.
pub fn connect() -> Result<Arc<dyn Communicator>> {
    let size = SIZES.iter().find_map(|name| env::var(name).ok());
    match size.and_then(|size| size.parse::<u32>().ok()) {
        None | Some(0 | 1) => Ok(Arc::new(Alone)),
        Some(_) => Ok(Arc::new(MpiCommunicator::start()?)),
    }
}

/// One rank.
#[derive(Debug)]
struct MpiCommunicator {
    rank: usize,
    size: usize,
    to: Arc<Mutex<BufWriter<ChildStdin>>>,
    from: Mutex<BufReader<ChildStdout>>,
    carrier: Mutex<Child>,
    /// Ends the heartbeats when it is dropped.
    _beats: Sender<()>,
}

impl MpiCommunicator {
    fn start() -> Result<Self> {
        let program = program();
        let mut command = Command::new(&program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt;
            // A signal to stop is for mist, which needs its carrier to stop together with the others.
            command.process_group(0);
        }
        let failed = |why: &str| {
            Error::Usage(format!(
                "this is one of several ranks, and {} {why}; build it with scripts/setup-mpi.sh or say where it is with \
                 {PROGRAM_VARIABLE}",
                program.display()
            ))
        };
        let mut carrier = command
            .spawn()
            .map_err(|error| failed(&format!("cannot be started ({error})")))?;
        let (Some(to), Some(from)) = (carrier.stdin.take(), carrier.stdout.take()) else {
            return Err(failed("cannot be spoken to"));
        };
        let mut from = BufReader::with_capacity(BUFFER, from);
        let Ok(Frame::Hello { rank, size }) = Frame::read(&mut from, || ()) else {
            return Err(failed("did not reach the other ranks"));
        };
        let to = Arc::new(Mutex::new(BufWriter::with_capacity(BUFFER, to)));
        let (beats, end) = channel();
        let beat_to = Arc::clone(&to);
        thread::spawn(move || {
            while end.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                if Frame::Beat.write(&mut *lock(&beat_to)).is_err() {
                    break;
                }
            }
        });
        Ok(Self {
            rank: rank as usize,
            size: size as usize,
            to,
            from: Mutex::new(from),
            carrier: Mutex::new(carrier),
            _beats: beats,
        })
    }
}

/// Beside this program unless the environment says otherwise.
fn program() -> PathBuf {
    if let Some(named) = env::var_os(PROGRAM_VARIABLE) {
        return named.into();
    }
    let here = env::current_exe().unwrap_or_default();
    here.with_file_name(PROGRAM)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Communicator for MpiCommunicator {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn exchange(&self, messages: Vec<Vec<u8>>) -> std::result::Result<Vec<Vec<u8>>, mist::Error> {
        let gone = || mist::Error::LostRank(format!("{PROGRAM} of rank {} is gone", self.rank));
        let said = Frame::Messages(messages).write(&mut *lock(&self.to));
        // Even if it does not listen any more it may have said why.
        match Frame::read(&mut *lock(&self.from), || ()) {
            Ok(Frame::Messages(received)) if said.is_ok() => Ok(received),
            Ok(Frame::Lost(why)) => Err(mist::Error::LostRank(why)),
            Ok(_) | Err(_) => Err(gone()),
        }
    }
}

impl Drop for MpiCommunicator {
    fn drop(&mut self) {
        if thread::panicking() {
            return;
        }
        // If it is gone, there is nobody to say goodbye to.
        let _ = Frame::Bye.write(&mut *lock(&self.to));
        let _ = lock(&self.carrier).wait();
    }
}
