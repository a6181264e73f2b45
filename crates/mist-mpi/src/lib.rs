//! What `mist` and the program that carries its messages over MPI say to each other, through the program's standard input and
//! output.
//!
//! MPI lives in a process of its own (`mist-mpi`), so that `mist` is the same program with and without it, and so that somebody is
//! left to tell the others when it dies.

#![forbid(unsafe_code)]

use std::io::{self, Read, Write};
use std::time::Duration;

/// How often each side shows that it is alive.
pub const BEAT: Duration = Duration::from_millis(500);
/// The variable that says after how many seconds of silence a rank is given up.
pub const TIMEOUT_VARIABLE: &str = "MIST_MPI_TIMEOUT_SECS";
/// What it is without the variable.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// Longest message that is believed.
const MAX_LEN: u64 = 1 << 33;

/// One thing said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// To mist, first: number of this rank and of all.
    Hello {
        /// Number of this rank, from 0.
        rank: u32,
        /// Number of ranks.
        size: u32,
    },
    /// From mist: one message for each rank. To mist: the one from each.
    Messages(Vec<Vec<u8>>),
    /// From mist: it is alive.
    Beat,
    /// From mist: it ends, and has told the others why if that is not the plan.
    Bye,
    /// To mist: the training cannot go on.
    Lost(String),
}

impl Frame {
    /// Writes it and flushes.
    ///
    /// # Errors
    /// When the other side is gone.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut bytes = |kind: u8, parts: &[&[u8]]| -> io::Result<()> {
            to.write_all(&[kind])?;
            to.write_all(&(parts.len() as u64).to_le_bytes())?;
            for part in parts {
                to.write_all(&(part.len() as u64).to_le_bytes())?;
                to.write_all(part)?;
            }
            to.flush()
        };
        match self {
            Self::Hello { rank, size } => bytes(0, &[&rank.to_le_bytes(), &size.to_le_bytes()]),
            Self::Messages(messages) => {
                let parts: Vec<&[u8]> = messages.iter().map(Vec::as_slice).collect();
                bytes(1, &parts)
            }
            Self::Beat => bytes(2, &[]),
            Self::Bye => bytes(3, &[]),
            Self::Lost(why) => bytes(4, &[why.as_bytes()]),
        }
    }

    /// Reads the next one; `heard` is called whenever something came, however little.
    ///
    /// # Errors
    /// When the other side is gone or says what is none.
    pub fn read(from: &mut impl Read, mut heard: impl FnMut()) -> io::Result<Self> {
        let [kind] = exactly(from, &mut heard)?;
        let count = u64::from_le_bytes(exactly(from, &mut heard)?);
        let mut parts = Vec::new();
        for _ in 0..count {
            let length = u64::from_le_bytes(exactly(from, &mut heard)?);
            if length > MAX_LEN {
                return Err(io::Error::other("a message of impossible length"));
            }
            let mut part = vec![0; usize::try_from(length).map_err(io::Error::other)?];
            fill(&mut part, from, &mut heard)?;
            parts.push(part);
        }
        let number = |part: &[u8]| Some(u32::from_le_bytes(part.try_into().ok()?));
        match (kind, parts.as_slice()) {
            (0, [rank, size]) => match (number(rank), number(size)) {
                (Some(rank), Some(size)) => Ok(Self::Hello { rank, size }),
                _ => Err(io::ErrorKind::InvalidData.into()),
            },
            (1, _) => Ok(Self::Messages(parts)),
            (2, []) => Ok(Self::Beat),
            (3, []) => Ok(Self::Bye),
            (4, [why]) => Ok(Self::Lost(String::from_utf8_lossy(why).into_owned())),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

fn exactly<const N: usize>(from: &mut impl Read, heard: &mut impl FnMut()) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    fill(&mut bytes, from, heard)?;
    Ok(bytes)
}

fn fill(mut bytes: &mut [u8], from: &mut impl Read, heard: &mut impl FnMut()) -> io::Result<()> {
    while !bytes.is_empty() {
        match from.read(bytes) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => bytes = &mut bytes[read..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        heard();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_heard() {
        let said = [
            Frame::Hello { rank: 3, size: 4 },
            Frame::Messages(vec![vec![1, 2, 3], Vec::new(), vec![7; 100_000]]),
            Frame::Beat,
            Frame::Bye,
            Frame::Lost("rank 2 is silent".to_owned()),
        ];
        let mut bytes = Vec::new();
        for frame in &said {
            frame.write(&mut bytes).unwrap();
        }
        let mut from = bytes.as_slice();
        let mut heard = 0;
        for frame in said {
            assert_eq!(Frame::read(&mut from, || heard += 1).unwrap(), frame);
        }
        assert!(heard > 10 && Frame::read(&mut from, || ()).is_err());
        bytes[0] = 9;
        assert!(Frame::read(&mut bytes.as_slice(), || ()).is_err());
    }
}
