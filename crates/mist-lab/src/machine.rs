//! The machine that figures were measured on.

use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

/// What decides how fast things go.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// Name of the processor.
    pub cpu: String,
    /// Threads that were used.
    pub threads: usize,
    /// Operating system.
    pub os: String,
}

impl Machine {
    /// This one.
    pub fn here() -> Self {
        // Where there is no such file, the architecture has to do.
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = info
            .lines()
            .find_map(|line| line.strip_prefix("model name"));
        let name = name.map(|name| name.trim_start_matches(['\t', ' ', ':']).to_owned());
        Self {
            cpu: name.unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            threads: rayon::current_num_threads(),
            os: std::env::consts::OS.to_owned(),
        }
    }
}

/// The commit of the working directory, where git knows one.
pub fn commit() -> Option<String> {
    let output = Command::new("git")
        .args(["rev-parse", "HEAD"])
        .stderr(Stdio::null())
        .output();
    // Results are as good without git.
    let output = output.ok().filter(|output| output.status.success())?;
    let commit = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (!commit.is_empty()).then_some(commit)
}

/// Peak resident memory of this process, where the system tells.
pub fn peak_memory_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").trim().parse().ok()?;
    Some(kilobytes / 1024.0)
}

/// Processor time that the threads of this process which are still there have taken, where the system tells.
pub fn processor_secs() -> Option<f64> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let nanoseconds = tasks.filter_map(|task| {
        let line = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        line.split_whitespace().next()?.parse::<f64>().ok()
    });
    let total: f64 = nanoseconds.sum();
    (total > 0.0).then_some(total * 1e-9)
}
