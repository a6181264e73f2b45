//! The download clients of this machine.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How often a running client is looked at.
const POLL: Duration = Duration::from_millis(20);

/// How much of a client's complaint is kept.
const MAX_COMPLAINT_BYTES: usize = 600;

/// Where download clients are looked for, and how long each may take.
#[derive(Debug, Clone)]
pub struct Clients {
    /// Directories to look in, in the form of `$PATH`; also what the clients get as theirs.
    pub path: OsString,
    /// A client that runs longer is ended.
    pub time_limit: Duration,
}

impl Clients {
    /// Those on `$PATH`, with ten minutes each.
    pub fn from_env() -> Self {
        Self {
            path: env::var_os("PATH").unwrap_or_default(),
            time_limit: Duration::from_secs(600),
        }
    }

    /// Runs a client in a directory; on failure says why.
    pub(crate) fn run(
        &self,
        name: &str,
        arguments: &[&str],
        directory: &Path,
    ) -> Result<(), String> {
        let program = self.find(name).ok_or("is not installed")?;
        // Files, not pipes: a client that prints much must not wait for a reader.
        let complaints = directory.join("complaints.txt");
        let stderr = File::create(&complaints).map_err(|error| error.to_string())?;
        let child = Command::new(program)
            .args(arguments)
            .current_dir(directory)
            .env("PATH", &self.path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr)
            .spawn()
            .map_err(|error| format!("does not start: {error}"))?;
        let status = self.wait(child)?;
        let complaint = fs::read(&complaints).unwrap_or_default();
        if status.success() {
            Ok(())
        } else {
            let tail = &complaint[complaint.len().saturating_sub(MAX_COMPLAINT_BYTES)..];
            let words = String::from_utf8_lossy(tail);
            Err(format!("{status}: {}", words.trim()))
        }
    }

    fn find(&self, name: &str) -> Option<PathBuf> {
        env::split_paths(&self.path)
            .filter(|directory| directory.is_absolute())
            .map(|directory| directory.join(name))
            .find(|program| program.is_file())
    }

    fn wait(&self, mut child: Child) -> Result<ExitStatus, String> {
        let started = Instant::now();
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if started.elapsed() < self.time_limit => thread::sleep(POLL),
                Ok(None) => {
                    // It may have ended meanwhile; either way it is gone after the wait.
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(format!(
                        "took more than {} s",
                        self.time_limit.as_secs_f32()
                    ));
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }
}
