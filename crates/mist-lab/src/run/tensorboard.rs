//! Event files that TensorBoard reads, so that a training can be watched while it runs.
//!
//! A file is a sequence of TFRecords, each a protocol buffer `Event`. The five messages in use are
//! small and frozen, so they are encoded here by hand.

use std::fs::{File, OpenOptions, create_dir_all};
use std::io::{BufWriter, ErrorKind, Result, Write};
use std::path::{Path, PathBuf};

/// Readers take a file for events only if its first record says this.
const FILE_VERSION: &[u8] = b"brain.Event:2";

/// `Summary.Image.colorspace` of red, green, blue.
const RGB: u64 = 3;

/// Field numbers of `Event`.
mod event {
    pub const WALL_TIME: u64 = 1;
    pub const STEP: u64 = 2;
    pub const FILE_VERSION: u64 = 3;
    pub const SUMMARY: u64 = 5;
}

/// Field numbers of `Summary`, and of its `Value` and `Image`.
mod summary {
    pub const VALUE: u64 = 1;
    pub const TAG: u64 = 1;
    pub const SIMPLE_VALUE: u64 = 2;
    pub const IMAGE: u64 = 4;
    pub const HEIGHT: u64 = 1;
    pub const WIDTH: u64 = 2;
    pub const COLOURS: u64 = 3;
    pub const ENCODED: u64 = 4;
}

/// An event file under construction; what is written reaches readers with [`EventFile::flush`].
///
/// Wall times are seconds since 1970.
#[derive(Debug)]
pub struct EventFile {
    path: PathBuf,
    records: BufWriter<File>,
}

impl EventFile {
    /// Starts a file in `directory`, which is made if it is missing.
    ///
    /// A run that is resumed within a second keeps its earlier file: the name takes the next free second,
    /// which also keeps the alphabetical order in which readers open files.
    ///
    /// # Errors
    /// When the directory cannot be written.
    pub fn create(directory: &Path, wall_time: f64) -> Result<Self> {
        create_dir_all(directory)?;
        let mut seconds = wall_time as u64;
        let (path, file) = loop {
            let path = directory.join(format!("events.out.tfevents.{seconds}.mist"));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    seconds = seconds.wrapping_add(1);
                }
                opened => break (path, opened?),
            }
        };
        let mut events = Self {
            path,
            records: BufWriter::new(file),
        };
        let mut version = Message::default();
        version.double(event::WALL_TIME, wall_time);
        version.bytes(event::FILE_VERSION, FILE_VERSION);
        write_record(&mut events.records, &version.0)?;
        events.flush()?;
        Ok(events)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a point to the curve `tag`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn scalar(&mut self, tag: &str, step: u64, wall_time: f64, value: f32) -> Result<()> {
        let mut entry = Message::default();
        entry.bytes(summary::TAG, tag.as_bytes());
        entry.float(summary::SIMPLE_VALUE, value);
        self.summary(step, wall_time, &entry)
    }

    /// Adds a picture, given as the bytes of a PNG file, to the sequence `tag`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn image_png(
        &mut self,
        tag: &str,
        step: u64,
        wall_time: f64,
        width_px: usize,
        height_px: usize,
        png: &[u8],
    ) -> Result<()> {
        let mut image = Message::default();
        image.integer(summary::HEIGHT, height_px as u64);
        image.integer(summary::WIDTH, width_px as u64);
        image.integer(summary::COLOURS, RGB);
        image.bytes(summary::ENCODED, png);
        let mut entry = Message::default();
        entry.bytes(summary::TAG, tag.as_bytes());
        entry.bytes(summary::IMAGE, &image.0);
        self.summary(step, wall_time, &entry)
    }

    /// Hands all events to the operating system.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        self.records.flush()
    }

    fn summary(&mut self, step: u64, wall_time: f64, entry: &Message) -> Result<()> {
        let mut values = Message::default();
        values.bytes(summary::VALUE, &entry.0);
        let mut event = Message::default();
        event.double(event::WALL_TIME, wall_time);
        event.integer(event::STEP, step);
        event.bytes(event::SUMMARY, &values.0);
        write_record(&mut self.records, &event.0)
    }
}

/// The length and the data of a TFRecord, each followed by its checksum.
fn write_record(records: &mut impl Write, data: &[u8]) -> Result<()> {
    let length = (data.len() as u64).to_le_bytes();
    for part in [&length, data] {
        records.write_all(part)?;
        records.write_all(&masked_crc(part).to_le_bytes())?;
    }
    Ok(())
}

/// TFRecords turn their checksums, so that data which itself holds checksums stays well checked.
fn masked_crc(data: &[u8]) -> u32 {
    crc32c::crc32c(data)
        .rotate_right(15)
        .wrapping_add(0xa282_ead8)
}

/// A protocol buffer message: keys (field number and wire type) and values.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn integer(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    fn double(&mut self, field: u64, value: f64) {
        self.varint(field << 3 | 1);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, value: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend(value);
    }

    fn float(&mut self, field: u64, value: f32) {
        self.varint(field << 3 | 5);
        self.0.extend(value.to_le_bytes());
    }

    /// Seven bits per byte, the lowest first; the highest bit says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `RecordWriter` and `event_pb2.Event` of the Python package tensorboard 2.21.0 wrote these, from
    /// `Event(wall_time=1.5, file_version="brain.Event:2")`,
    const VERSION: &str =
        "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c";
    /// `Event(wall_time=2.5, step=300, summary=[Value(tag="loss", simple_value=0.25)])` and
    const SCALAR: &str =
        "1b000000000000001a0d9e1309000000000000044010ac022a0d0a0b0a046c6f7373150000803e205d3896";
    /// `Event(wall_time=3.5, step=7, summary=[Value(tag="sheet", image=Image(2, 3, 3, b"PNG"))])`.
    const IMAGE: &str = "2300000000000000b09f7743090000000000000c4010072a160a140a057368656574220b\
                         0802100318032203504e475a11218c";

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn bytes_are_those_of_tensorboard() {
        let directory = tempfile::tempdir().unwrap();
        let mut events = EventFile::create(&directory.path().join("new"), 1.5).unwrap();
        let path = directory.path().join("new/events.out.tfevents.1.mist");
        assert_eq!(hex(&std::fs::read(&path).unwrap()), VERSION);
        events.scalar("loss", 300, 2.5, 0.25).unwrap();
        events.image_png("sheet", 7, 3.5, 3, 2, b"PNG").unwrap();
        events.flush().unwrap();
        let whole = [VERSION, SCALAR, IMAGE].concat();
        assert_eq!(hex(&std::fs::read(path).unwrap()), whole);
    }

    #[test]
    fn records_are_framed_and_checked() {
        let mut record = Vec::new();
        write_record(&mut record, b"123456789").unwrap();
        assert_eq!(record.len(), 8 + 4 + 9 + 4);
        assert_eq!(record[..8], 9_u64.to_le_bytes());
        assert_eq!(&record[12..21], b"123456789");
        // 0xe3069283 is the check value of CRC-32C (RFC 3720).
        let masked = 0xe306_9283_u32.rotate_right(15).wrapping_add(0xa282_ead8);
        assert_eq!(record[21..], masked.to_le_bytes());
    }

    #[test]
    fn integers_take_as_many_bytes_as_they_need() {
        let length = |value| {
            let mut message = Message::default();
            message.varint(value);
            message.0.len()
        };
        assert_eq!([0, 127, 128, 1 << 14].map(length), [1, 1, 2, 3]);
        assert_eq!(length(u64::MAX), 10);
    }

    #[test]
    fn earlier_files_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        for _ in 0..3 {
            EventFile::create(directory.path(), 1_700_000_000.9).unwrap();
        }
        for second in 1_700_000_000..1_700_000_003_u64 {
            let name = format!("events.out.tfevents.{second}.mist");
            assert!(directory.path().join(name).is_file());
        }
        let blocked = directory.path().join("events.out.tfevents.1700000000.mist");
        assert!(EventFile::create(&blocked, 0.0).is_err());
    }
}
