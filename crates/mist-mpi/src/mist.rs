//! The `mist` that started this process.

use std::io::{self, BufReader, BufWriter, Stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

use mist_mpi::Frame;

/// What came from it.
pub enum Heard {
    /// It said something.
    Frame(Frame),
    /// It is gone.
    End,
}

/// Both ends of the line.
pub struct Mist {
    frames: Receiver<Frame>,
    /// What `wait` found.
    waiting: Option<Heard>,
    to: BufWriter<Stdout>,
    begun: Instant,
    /// Milliseconds after the beginning.
    last_heard: Arc<AtomicU64>,
}

impl Mist {
    /// Greets it and listens.
    pub fn listen(rank: usize, size: usize) -> Self {
        let (sender, frames) = channel();
        let (begun, last_heard) = (Instant::now(), Arc::new(AtomicU64::new(0)));
        let mark = Arc::clone(&last_heard);
        thread::spawn(move || {
            let mut from = BufReader::with_capacity(1 << 16, io::stdin());
            let heard = || mark.store(begun.elapsed().as_millis() as u64, Ordering::Relaxed);
            // The end of the channel says that nothing more will come.
            while let Ok(frame) = Frame::read(&mut from, heard) {
                if sender.send(frame).is_err() {
                    break;
                }
            }
        });
        let mut mist = Self {
            frames,
            waiting: None,
            to: BufWriter::new(io::stdout()),
            begun,
            last_heard,
        };
        let hello = Frame::Hello {
            rank: rank as u32,
            size: size as u32,
        };
        // Whoever does not hear it is noticed by its silence.
        let _ = mist.say(&hello);
        mist
    }

    pub fn say(&mut self, frame: &Frame) -> Result<(), String> {
        let said = frame.write(&mut self.to);
        said.map_err(|error| format!("mist does not listen any more: {error}"))
    }

    /// What came, if something did.
    pub fn next(&mut self) -> Option<Heard> {
        if let Some(heard) = self.waiting.take() {
            return Some(heard);
        }
        match self.frames.try_recv() {
            Ok(frame) => Some(Heard::Frame(frame)),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Heard::End),
        }
    }

    /// Waits until something comes, but not for long.
    pub fn wait(&mut self, most: Duration) {
        match self.frames.recv_timeout(most) {
            Ok(frame) => self.waiting = Some(Heard::Frame(frame)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => thread::sleep(most),
        }
    }

    /// How long nothing has come.
    pub fn silence(&self) -> Duration {
        let last = Duration::from_millis(self.last_heard.load(Ordering::Relaxed));
        self.begun.elapsed().saturating_sub(last)
    }
}
