//! Event files of TensorBoard, with scalars only.
//!
//! A file is a sequence of TFRecords: the length of the data (`u64`), the masked CRC-32C of these eight
//! bytes (`u32`), the data, and their masked CRC-32C; little-endian. The data are a protocol buffer
//! `tensorflow.Event` each. Of its fields `wall_time` (1, double), `step` (2, varint),
//! `file_version` (3, string), `summary` (5) and `session_log` (7) are written. A `Summary` has repeated
//! values (1) with `tag` (1, string) and `simple_value` (2, float).

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use dsokr_nn::onnx::Message;

use super::TENSORBOARD;
use crate::error::Error;

/// `SessionLog.START`: events of this step and later ones in earlier files do not count any more.
const SESSION_START: i64 = 1;

/// The event file that this process writes, created with the first scalars.
#[derive(Clone, Debug)]
pub(super) struct Events {
    /// The folder of event files in the run directory.
    folder: PathBuf,
    /// The steps that were done before a training goes on: readers discard later events of earlier files.
    resumed: Option<u64>,
    file: Option<PathBuf>,
}

impl Events {
    pub fn new(run: &Path) -> Self {
        Self { folder: run.join(TENSORBOARD), resumed: None, file: None }
    }

    /// Notes that a training goes on after `step` steps.
    pub fn resume(&mut self, step: u64) {
        self.resumed = self.folder.exists().then_some(step);
    }

    /// Appends the values of some tags at a step.
    pub fn scalars(&mut self, step: u64, values: &[(String, f64)]) -> Result<(), Error> {
        let mut records = Vec::new();
        if self.file.is_none() {
            fs::create_dir_all(&self.folder).map_err(Error::io(&self.folder))?;
            records.extend(record(event(0).bytes(3, "brain.Event:2")));
            if let Some(step) = self.resumed {
                let session = Message::default().int(1, SESSION_START);
                records.extend(record(event(step + 1).bytes(7, session)));
            }
        }
        let scalar = |summary: Message, (tag, value): &(String, f64)| {
            summary.bytes(1, Message::default().bytes(1, tag).float(2, *value as f32))
        };
        let summary = values.iter().fold(Message::default(), scalar);
        records.extend(record(event(step).bytes(5, summary)));
        let path = self.file.get_or_insert_with(|| {
            let seconds = now().as_secs();
            let process = std::process::id();
            self.folder.join(format!("events.out.tfevents.{seconds:010}.dsokr.{process}"))
        });
        // one write: readers wait for the rest of a record that is torn
        let file = OpenOptions::new().append(true).create(true).open(&*path);
        file.and_then(|mut file| file.write_all(&records)).map_err(Error::io(path))
    }
}

fn now() -> std::time::Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Returns an event of this moment, without contents.
fn event(step: u64) -> Message {
    Message::default().double(1, now().as_secs_f64()).int(2, step as i64)
}

/// Returns the TFRecord of an event.
fn record(event: Message) -> Vec<u8> {
    let data = event.as_ref();
    let length = (data.len() as u64).to_le_bytes();
    let [head, tail] = [&length, data].map(|part: &[u8]| masked(crc_32c(part)).to_le_bytes());
    [&length, &head[..], data, &tail].concat()
}

/// Returns the checksum as records hold it, masked so that checksums of data with checksums in them are not simple ones.
fn masked(sum: u32) -> u32 {
    sum.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Returns the CRC-32C (Castagnoli), bit by bit: records are short.
fn crc_32c(data: &[u8]) -> u32 {
    let step = |sum: u32| if sum & 1 == 1 { sum >> 1 ^ 0x82f6_3b78 } else { sum >> 1 };
    !data.iter().fold(!0, |sum, &byte| (0..8).fold(sum ^ u32::from(byte), |sum, _| step(sum)))
}
