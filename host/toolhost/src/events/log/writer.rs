//! The files of the log.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::OFlags;
use serde::Serialize;
use toolhost_contract::Timestamp;
use toolhost_contract::text::escape_json;
use toolhost_files::PrivateFile;

use super::super::event::RuntimeEvent;
use super::super::worker::Batch;

const FILE_NAME: &str = "events.jsonl";
const OLD_FILE_NAME: &str = "events.jsonl.1";

/// Bytes collected for one file before they are written.
const WRITE_BYTES: usize = 1 << 20;

/// Directories whose lost events are counted until they can be logged. Bounds memory: a removed
/// directory stays in the map.
const UNREPORTED_MAX: usize = 1024;

/// An event, and the directory of its log.
pub(super) type LogEvent = (Arc<Path>, Arc<RuntimeEvent>);

/// Events that were dropped because the queue was full, by the directory of their log.
pub(super) type LostEvents = HashMap<Arc<Path>, Lost>;

/// Queued events, which the writer takes at once.
pub(super) type LogBatch = Batch<LogEvent, LostEvents>;

/// Lost events of one directory.
pub(super) struct Lost {
    pub(super) count: u64,
    /// Time of the last lost event.
    pub(super) at: Timestamp,
}

pub(super) struct Writer {
    file_bytes: u64,
    /// Lost events that are not logged yet.
    unreported: HashMap<Arc<Path>, Lost>,
}

/// The line that reports lost events.
#[derive(Serialize)]
struct LostLine {
    r#type: &'static str,
    timestamp: Timestamp,
    count: u64,
}

/// Lines for one file.
#[derive(Default)]
struct Lines {
    text: Vec<u8>,
    count: u64,
}

impl Writer {
    pub(super) fn new(file_bytes: u64) -> Self {
        Self {
            file_bytes,
            unreported: HashMap::new(),
        }
    }

    /// Writes a batch: one write per file and [`WRITE_BYTES`].
    pub(super) fn write(&mut self, batch: LogBatch) {
        let mut files: HashMap<Arc<Path>, Lines> = HashMap::new();
        let mut last = None;
        for (directory, event) in batch.items {
            last = Some(event.timestamp);
            let lines = files.entry(Arc::clone(&directory)).or_default();
            add_line(&mut lines.text, &*event);
            lines.count += 1;
            if lines.text.len() >= WRITE_BYTES {
                let lines = std::mem::take(lines);
                self.append(&directory, lines, event.timestamp);
            }
        }
        if let Some(at) = last {
            for (directory, lines) in files {
                self.append(&directory, lines, at);
            }
        }
        for (directory, lost) in batch.lost {
            self.add_lost(&directory, lost);
            self.report_lost(&directory);
        }
    }

    /// Appends lines to a file, after the report of earlier lost events.
    fn append(&mut self, directory: &Arc<Path>, lines: Lines, at: Timestamp) {
        if lines.count == 0 {
            return;
        }
        self.report_lost(directory);
        if let Err(error) = append(directory, &lines.text, self.file_bytes) {
            if !self.unreported.contains_key(directory) {
                let directory = directory.display();
                tracing::warn!(target: "toolhost::events", %directory, %error, "cannot write events.jsonl; events are lost");
            }
            let count = lines.count;
            self.add_lost(directory, Lost { count, at });
        }
    }

    fn add_lost(&mut self, directory: &Arc<Path>, lost: Lost) {
        if let Some(entry) = self.unreported.get_mut(directory) {
            entry.count += lost.count;
            entry.at = lost.at;
        } else if self.unreported.len() < UNREPORTED_MAX {
            self.unreported.insert(Arc::clone(directory), lost);
        }
    }

    fn report_lost(&mut self, directory: &Arc<Path>) {
        let Some(lost) = self.unreported.get(directory) else {
            return;
        };
        let mut text = Vec::new();
        let line = LostLine {
            r#type: "log.lost",
            timestamp: lost.at,
            count: lost.count,
        };
        add_line(&mut text, &line);
        if append(directory, &text, self.file_bytes).is_ok() {
            self.unreported.remove(directory);
        }
    }
}

/// Adds a value as a line of JSON. Line separators in texts are escaped.
fn add_line(lines: &mut Vec<u8>, value: &impl Serialize) {
    // Serializing texts and numbers does not fail.
    if let Ok(json) = serde_json::to_string(value) {
        lines.extend_from_slice(escape_json(&json).as_bytes());
        lines.push(b'\n');
    }
}

/// Appends whole lines. Starts a new file if the old one is full.
///
/// Opens the file for each batch: instances hold no descriptors, and the file may be moved or removed.
fn append(directory: &Path, lines: &[u8], file_bytes: u64) -> io::Result<()> {
    let mut file = open(directory)?;
    let length = file.metadata()?.len();
    if length > 0 && length.saturating_add(lines.len() as u64) > file_bytes {
        fs::rename(directory.join(FILE_NAME), directory.join(OLD_FILE_NAME))?;
        file = open(directory)?;
    } else if length > 0 && !ends_a_line(&file, length)? {
        // An earlier write was cut in the middle of a line.
        file.write_all(b"\n")?;
    }
    file.write_all(lines)
}

fn ends_a_line(file: &File, length: u64) -> io::Result<bool> {
    let mut last = [0];
    file.read_exact_at(&mut last, length.saturating_sub(1))?;
    Ok(last == *b"\n")
}

/// Opens the file, and makes it where it is missing.
fn open(directory: &Path) -> io::Result<File> {
    let access = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE;
    let file = PrivateFile::open_and_restrict(&directory.join(FILE_NAME), access)?;
    Ok(file.into_file())
}
