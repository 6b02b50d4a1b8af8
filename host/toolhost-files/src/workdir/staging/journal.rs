//! The journal of a commit: the renames, written before the first of them, and what became of them.
//!
//! It is a file of lines of JSON, in the staging directory. The first is the plan, which has each directory once. It
//! is written under another name first, so that a journal is never cut within it. After it come marks. The last
//! whole one counts:
//!
//! - none: the commit has not ended, and its renames are taken back;
//! - `committed`: the staging directory is an undo record;
//! - `undoing`: an undo has begun, and its renames are taken back.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::plan::Plan;
use super::plan_text::{read_plan, write_plan};
use super::step::{Step, reach};
use crate::PrivateFile;

/// Name of the journal, which no staged file has.
pub(super) const NAME: &str = "journal";

/// Its name until the plan is written.
const NEW_NAME: &str = "journal.new";

/// Maximum bytes of a journal: more are neither written nor read. 100,000 removed files take some 7 MiB.
pub(super) const BYTES_MAX: u64 = if cfg!(test) { 1 << 20 } else { 64 << 20 };

/// Bytes of these for the marks behind the plan.
const MARKS_BYTES: u64 = 64 << 10;

/// Bytes at the end of a journal in which its last mark is looked for, unless that is a long one.
const TAIL_BYTES: u64 = 256;

/// A line behind the plan.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) enum Mark {
    /// The commit has ended.
    Committed(Committed),
    /// An undo has begun.
    Undoing,
}

/// The end mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Committed {
    /// Its place among the commits to the workdir.
    pub(super) sequence: u64,
    /// Bytes on disk of what lies in the staging directory.
    pub(super) bytes: u64,
}

/// A journal that was read.
#[derive(Debug)]
pub(super) struct Journal {
    pub(super) plan: Plan,
    /// None where the commit has not ended, or is being undone.
    pub(super) committed: Option<Committed>,
}

/// How far a commit came, as the end of its journal says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// There is no journal.
    NotBegun,
    /// Renames may have been made.
    Unfinished,
    Committed(Committed),
}

/// Writes a number of bytes at most.
struct Bounded<W> {
    to: W,
    left: u64,
}

impl<W: Write> Write for Bounded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.left.checked_sub(bytes.len() as u64);
        self.left = left.ok_or(io::ErrorKind::FileTooLarge)?;
        self.to.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Writes a new journal.
///
/// # Errors
/// Of the kind `FileTooLarge` if it has more than [`BYTES_MAX`].
pub(super) fn write(dir: &Dir, plan: &Plan) -> io::Result<()> {
    let written = write_new(dir, plan);
    if written.is_err() {
        // It may be written again.
        let _ = unlinkat(dir, NEW_NAME, AtFlags::empty());
    }
    written
}

fn write_new(dir: &Dir, plan: &Plan) -> io::Result<()> {
    // Changes that are held may have one of a process that died.
    let _ = unlinkat(dir, NEW_NAME, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    let file = File::from(openat(dir, NEW_NAME, flags, mode)?);
    let mut file = BufWriter::new(Bounded {
        to: file,
        left: BYTES_MAX - MARKS_BYTES,
    });
    write_plan(plan, &mut file)?;
    file.write_all(b"\n")?;
    file.flush()?;
    reach(Step::JournalWritten)?;
    renameat(dir, NEW_NAME, dir, NAME)?;
    reach(Step::JournalNamed)
}

/// Opens the journal of a staging directory. Returns `None` where there is none.
fn open_file(dir: &Dir, access: OFlags) -> io::Result<Option<File>> {
    match PrivateFile::open_in(dir, NAME, Path::new(NAME), access) {
        // A mark would change the file of the other name, too.
        Ok(file) if file.metadata()?.nlink() > 1 => Err(io::ErrorKind::PermissionDenied.into()),
        Ok(file) => Ok(Some(file.into_file())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Adds a mark to the journal, in one write. Where that fails, it is not in it.
pub(super) fn append(dir: &Dir, mark: Mark) -> io::Result<()> {
    let file = open_file(dir, OFlags::RDWR | OFlags::APPEND)?;
    let mut file = file.ok_or(Errno::NOENT)?;
    let length = cut(&mut file)?;
    let line = line(&mark)?;
    if length.saturating_add(line.len() as u64) > BYTES_MAX {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let written = file.write_all(&line);
    if written.is_err() {
        file.set_len(length)?;
    }
    written
}

/// Removes the part of a mark whose writer died. Returns the length of the journal.
fn cut(file: &mut File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let mut last = [0; 1];
    file.seek(SeekFrom::Start(length.saturating_sub(1)))?;
    file.read_exact(&mut last)?;
    if last == *b"\n" {
        return Ok(length);
    }
    let mut bytes = Vec::new();
    file.rewind()?;
    Read::by_ref(file).take(BYTES_MAX).read_to_end(&mut bytes)?;
    let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |end| end + 1) as u64;
    file.set_len(whole)?;
    Ok(whole)
}

/// Waits until the journal is on the disk.
pub(super) fn sync(dir: &Dir) -> io::Result<()> {
    let file = open_file(dir, OFlags::RDONLY)?;
    file.ok_or(Errno::NOENT)?.sync_all()
}

/// Returns when the last mark was written.
pub(super) fn written(dir: &Dir) -> io::Result<SystemTime> {
    let file = open_file(dir, OFlags::RDONLY)?;
    file.ok_or(Errno::NOENT)?.metadata()?.modified()
}

/// Removes the journal. What is in the staging directory then belongs to nobody.
pub(super) fn remove(dir: &Dir) -> Result<(), Errno> {
    match unlinkat(dir, NAME, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Reads the journal of a staging directory. None where there is none. Leaves out a mark that was cut when its
/// writer died.
///
/// # Errors
/// Why it was not written by this program, or cannot be read.
pub(super) fn read(dir: &Dir) -> Result<Option<Journal>, String> {
    let opened = open_file(dir, OFlags::RDONLY).map_err(|error| {
        if error.kind() == io::ErrorKind::PermissionDenied {
            "its journal is not a private file of this user".to_owned()
        } else {
            error.to_string()
        }
    })?;
    let Some(mut file) = opened else {
        return Ok(None);
    };
    let mut bytes = Vec::new();
    let read = Read::by_ref(&mut file)
        .take(BYTES_MAX)
        .read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |end| end + 1);
    let mut lines = bytes
        .get(..whole)
        .unwrap_or_default()
        .split(|byte| *byte == b'\n');
    let of_line = |error: serde_json::Error| format!("its journal is invalid: {error}");
    let plan = read_plan(lines.next().unwrap_or_default());
    let plan = plan.map_err(|fault| format!("its journal is invalid: {fault}"))?;
    let mut journal = Journal {
        plan,
        committed: None,
    };
    for line in lines.filter(|line| !line.is_empty()) {
        match serde_json::from_slice(line).map_err(of_line)? {
            Mark::Committed(committed) => journal.committed = Some(committed),
            Mark::Undoing => journal.committed = None,
        }
    }
    Ok(Some(journal))
}

/// Returns how far the commit came, from the end of its journal. A journal that is not this program's counts
/// as unfinished: whoever finishes it finds out.
pub(super) fn progress(dir: &Dir) -> io::Result<Progress> {
    let mut file = match open_file(dir, OFlags::RDONLY) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(Progress::NotBegun),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Ok(Progress::Unfinished);
        }
        Err(error) => return Err(error),
    };
    let last = last_mark(&mut file).ok().flatten();
    Ok(match last {
        Some(Mark::Committed(committed)) => Progress::Committed(committed),
        Some(Mark::Undoing) | None => Progress::Unfinished,
    })
}

/// Returns the last whole line if it is a short mark.
fn last_mark(file: &mut File) -> io::Result<Option<Mark>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut tail)?;
    let whole = memchr::memrchr(b'\n', &tail).and_then(|end| tail.get(..end));
    let line = whole.and_then(|whole| {
        let start = memchr::memrchr(b'\n', whole)? + 1;
        whole.get(start..)
    });
    Ok(line.and_then(|line| serde_json::from_slice(line).ok()))
}
