//! The thread that writes, and the files.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

use super::{Batch, Lost, Shared, line};

const FILE_NAME: &str = "events.jsonl";
const OLD_FILE_NAME: &str = "events.jsonl.1";

/// Bytes gathered for one file before they are written.
const WRITE_BYTES: usize = 1 << 20;

/// Files whose losses are remembered: of directories that are gone for good, they never can be said.
const UNSAID_MAX: usize = 1024;

/// Writes until the log is closed and nothing is left.
pub(super) fn run(shared: &Shared, file_bytes: u64) {
    /// Also where the thread panics: nobody is to wait for it.
    struct Ending<'a>(&'a Shared);
    impl Drop for Ending<'_> {
        fn drop(&mut self) {
            self.0.end();
        }
    }
    let ending = Ending(shared);
    let mut writer = Writer {
        file_bytes,
        unsaid: HashMap::new(),
    };
    while let Some(batch) = shared.take() {
        writer.write(batch);
    }
    drop(ending);
}

struct Writer {
    file_bytes: u64,
    /// Losses that could not be said yet.
    unsaid: HashMap<Arc<Path>, Lost>,
}

/// Lines of one file.
#[derive(Default)]
struct Lines {
    text: Vec<u8>,
    count: u64,
}

impl Writer {
    /// Writes a batch: each file once or, where there is much, a few times.
    fn write(&mut self, batch: Batch) {
        let mut files: HashMap<Arc<Path>, Lines> = HashMap::new();
        let mut last = None;
        for (directory, event) in batch.events {
            last = Some(event.timestamp);
            let lines = files.entry(Arc::clone(&directory)).or_default();
            line::event(&mut lines.text, &event);
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
            self.lose(&directory, lost);
            self.say_lost(&directory);
        }
        for flush in batch.flushes {
            // Whoever asked may have gone.
            let _ = flush.send(());
        }
    }

    /// Writes lines to the end of a file, after what is to be said of earlier ones.
    fn append(&mut self, directory: &Arc<Path>, lines: Lines, at: super::Timestamp) {
        if lines.count == 0 {
            return;
        }
        self.say_lost(directory);
        if let Err(error) = append(directory, &lines.text, self.file_bytes) {
            if !self.unsaid.contains_key(directory) {
                let directory = directory.display();
                tracing::warn!(target: "toolhost::events", %directory, %error, "events are lost");
            }
            let count = lines.count;
            self.lose(directory, Lost { count, at });
        }
    }

    fn lose(&mut self, directory: &Arc<Path>, lost: Lost) {
        if let Some(known) = self.unsaid.get_mut(directory) {
            known.count += lost.count;
            known.at = lost.at;
        } else if self.unsaid.len() < UNSAID_MAX {
            self.unsaid.insert(Arc::clone(directory), lost);
        }
    }

    fn say_lost(&mut self, directory: &Arc<Path>) {
        let Some(lost) = self.unsaid.get(directory) else {
            return;
        };
        let mut text = Vec::new();
        line::lost(&mut text, lost.count, lost.at);
        if append(directory, &text, self.file_bytes).is_ok() {
            self.unsaid.remove(directory);
        }
    }
}

/// Appends whole lines, in a new file where the old one is full.
///
/// The file is opened for each batch, so that a thousand instances hold no descriptors, and whoever
/// moves or removes it is no harm.
fn append(directory: &Path, lines: &[u8], file_bytes: u64) -> io::Result<()> {
    let mut file = open(directory)?;
    let length = file.metadata()?.len();
    if length > 0 && length.saturating_add(lines.len() as u64) > file_bytes {
        fs::rename(directory.join(FILE_NAME), directory.join(OLD_FILE_NAME))?;
        file = open(directory)?;
    } else if length > 0 && !ends_a_line(&file, length)? {
        // The process, or the disk's room, ended in the middle of a line: it stays alone.
        file.write_all(b"\n")?;
    }
    file.write_all(lines)
}

fn ends_a_line(file: &File, length: u64) -> io::Result<bool> {
    let mut last = [0];
    file.read_exact_at(&mut last, length.saturating_sub(1))?;
    Ok(last == *b"\n")
}

/// Opens a file that is a regular one, no link, and for this user alone.
fn open(directory: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR
        | OFlags::APPEND
        | OFlags::CREATE
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let file = File::from(rustix::fs::open(directory.join(FILE_NAME), flags, mode)?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        let not_a_file = "events.jsonl is not a regular file";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, not_a_file));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(file)
}
