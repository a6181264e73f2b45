//! The PyTorch program on the other side of a pipe; see `python/peer/README.md`.

use std::fmt::Display;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use burn::tensor::Tensor;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::{AtPath, Context, Error, Result};

/// A running peer.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// What the peer says of itself.
#[derive(Debug, Deserialize)]
pub struct Hello {
    pub torch: String,
    pub threads: usize,
    pub settings: Vec<String>,
}

const SERVER: &str = "python/peer/serve.py";

impl Peer {
    /// Starts it with a Python that has PyTorch.
    pub fn start(python: &Path) -> Result<Self> {
        if !Path::new(SERVER).exists() {
            return Err(Error::Usage(format!(
                "{SERVER} is not here: run the comparison from the root of the repository"
            )));
        }
        let mut child = Command::new(python)
            .arg(SERVER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .at("start", python)
            .context("`bash scripts/setup-python.sh` sets up PyTorch in .venv")?;
        let (requests, answers) = child
            .stdin
            .take()
            .zip(child.stdout.take())
            .ok_or_else(|| Error::Failed("the peer has no pipes".to_owned()))?;
        Ok(Self {
            child,
            requests,
            answers: BufReader::new(answers),
        })
    }

    fn ask(&mut self, request: &Value) -> Result<Value> {
        let stopped = |reason: &dyn Display| {
            Error::Failed(format!(
                "the peer stopped ({reason}); `python/peer/test_peer.py` shows whether PyTorch works"
            ))
        };
        writeln!(self.requests, "{request}").map_err(|error| stopped(&error))?;
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        if read.map_err(|error| stopped(&error))? == 0 {
            return Err(stopped(&"no answer"));
        }
        let answer: Value = serde_json::from_str(&line).map_err(|error| malformed(&error))?;
        match answer.get("error") {
            Some(error) => Err(Error::Failed(format!("the peer says: {error}"))),
            None => Ok(answer),
        }
    }

    pub fn hello(&mut self) -> Result<Hello> {
        serde_json::from_value(self.ask(&json!({"op": "hello"}))?)
            .map_err(|error| malformed(&error))
    }

    pub fn prepare(&mut self, workload: &str, setting: &str) -> Result<()> {
        self.ask(&json!({"op": "prepare", "workload": workload, "setting": setting}))?;
        Ok(())
    }

    /// Milliseconds of one run.
    pub fn run_ms(&mut self) -> Result<f64> {
        number(&self.ask(&json!({"op": "run"}))?, "ms")
    }

    /// Starts a training of the released recipe from random weights.
    pub fn begin_training(&mut self, setting: &str, seed: u64, instances: usize) -> Result<()> {
        self.ask(&json!({
            "op": "begin_training", "setting": setting, "seed": seed, "instances": instances,
        }))?;
        Ok(())
    }

    /// One step on gray images, `[batch, 1, side, side]`, and their class counts.
    pub fn train(&mut self, images: &Tensor<4>, counts: &[Vec<usize>]) -> Result<()> {
        let images = encoded(images)?;
        self.ask(&json!({"op": "train", "images": images, "counts": counts}))?;
        Ok(())
    }

    /// Left, top, score and label of every box found in gray images, `[batch, 1, side, side]`.
    pub fn detect(&mut self, images: &Tensor<4>) -> Result<Vec<Vec<[f32; 4]>>> {
        let images = encoded(images)?;
        let mut answer = self.ask(&json!({"op": "detect", "images": images}))?;
        serde_json::from_value(answer["found"].take()).map_err(|error| malformed(&error))
    }

    /// Peak memory, and how much of it was there before any work, in MB.
    pub fn memory_mb(&mut self) -> Result<(f64, f64)> {
        let answer = self.ask(&json!({"op": "memory"}))?;
        Ok((number(&answer, "peak_mb")?, number(&answer, "base_mb")?))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // A peer that is gone already needs no ending.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Gray values 0 to 255 in hexadecimal, and the side of the images.
fn encoded(images: &Tensor<4>) -> Result<Value> {
    let [_, _, side, _] = images.dims();
    let values = images
        .clone()
        .try_into_vec_as::<f32>()
        .map_err(mist::Error::from)?;
    let mut bytes = String::with_capacity(2 * values.len());
    for value in values {
        let byte = (value * 255.0).round() as u8;
        for digit in [byte >> 4, byte & 15] {
            bytes.push(char::from_digit(digit.into(), 16).unwrap_or('0'));
        }
    }
    Ok(json!({"side": side, "bytes": bytes}))
}

fn malformed(reason: &dyn Display) -> Error {
    Error::Failed(format!("the peer does not answer as agreed: {reason}"))
}

fn number(answer: &Value, name: &str) -> Result<f64> {
    answer
        .get(name)
        .and_then(Value::as_f64)
        .ok_or_else(|| malformed(&format_args!("no `{name}`")))
}
