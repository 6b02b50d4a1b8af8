//! The journal of a commit: the renames, written before the first of them, and what became of them.
//!
//! It is a file of lines of JSON, in the staging directory. The first is the plan. It is written under another
//! name first, so that a journal is never cut within it. After it come marks. The last whole one counts:
//!
//! - none: the commit has not ended, and its renames are taken back;
//! - `committed`: the staging directory is an undo record;
//! - `undoing`: an undo has begun, and its renames are taken back.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};
use toolhost_system::ffi::{OsStrExt, OsStringExt};
use toolhost_system::fs::{AtFlags, Mode, OFlags, fstat, openat, renameat, unlinkat};
use toolhost_system::io::Errno;

use super::private::open_file;
use super::step::{Step, reach};
use super::tree::Left;
use crate::platform::birth_time;
use crate::workdir::WorkdirHandle;

/// The version of the form of journals.
const VERSION: u32 = 1;

/// Name of the journal, which no staged file has.
pub(super) const NAME: &str = "journal";

/// Its name until the plan is written.
const NEW_NAME: &str = "journal.new";

/// Maximum bytes of a journal that is read.
const BYTES_MAX: u64 = 256 << 20;

/// Bytes at the end of a journal in which its last mark is looked for, unless that is a long one.
const TAIL_BYTES: u64 = 256;

/// The first line of a journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Plan {
    version: u32,
    pub(super) workdir: WorkdirPlace,
    /// Which call it was, for whoever undoes it.
    pub(super) label: String,
    /// The renames.
    pub(super) ops: Vec<JournalOp>,
    /// What the commit gives a name in the workdir, as it is before the first rename and after the last one.
    pub(super) left: Vec<Left>,
}

/// Which directory a workdir is, and where it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct WorkdirPlace {
    path: PathText,
    /// Devices get other numbers when a machine starts again; workdir and staging directory share theirs.
    pub(super) inode: u64,
    /// When it was made, where the file system knows: inodes are used again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    born: Option<(i64, u32)>,
}

/// A rename, with the inodes of what is renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) enum JournalOp {
    /// From the staging directory to a free path.
    Put {
        staged: String,
        path: String,
        inode: u64,
    },
    /// From a path to the staging directory.
    Take {
        path: String,
        staged: String,
        inode: u64,
    },
    /// The staged `inode` for `replaced`, which is at the path.
    Exchange {
        staged: String,
        path: String,
        inode: u64,
        replaced: u64,
    },
}

/// A path that may be none of UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum PathText {
    Text(String),
    Bytes(Vec<u8>),
}

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

impl WorkdirPlace {
    pub(super) fn of(workdir: &WorkdirHandle) -> io::Result<Self> {
        Self::of_dir(&workdir.dir, &workdir.real_path().unwrap_or_default())
    }

    /// The place of an open directory that lies at `path`.
    pub(super) fn of_dir(dir: &Dir, path: &Path) -> io::Result<Self> {
        let path = match path.to_str() {
            Some(text) => PathText::Text(text.to_owned()),
            None => PathText::Bytes(path.as_os_str().as_bytes().to_owned()),
        };
        let born = birth_time(dir);
        let inode = fstat(dir)?.st_ino;
        Ok(Self { path, inode, born })
    }

    pub(super) fn path(&self) -> PathBuf {
        match &self.path {
            PathText::Text(text) => text.into(),
            PathText::Bytes(bytes) => OsString::from_vec(bytes.clone()).into(),
        }
    }

    /// Whether it is the same directory, at the same path or moved, and not one that got the inode of one that
    /// was removed. The path decides only where the file system keeps no times of creation.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let is_it = match (self.born, other.born) {
            (Some(born), Some(other_born)) => born == other_born,
            (None, _) | (_, None) => self.path == other.path,
        };
        self.inode == other.inode && is_it
    }
}

impl Plan {
    pub(super) fn new(
        workdir: WorkdirPlace,
        label: String,
        ops: Vec<JournalOp>,
        left: Vec<Left>,
    ) -> Self {
        Self {
            version: VERSION,
            workdir,
            label,
            ops,
            left,
        }
    }

    /// Returns why it is no plan of this program, if so. No name of a valid plan leads out of the staging
    /// directory or the workdir.
    fn fault(&self) -> Option<String> {
        if self.version != VERSION {
            return Some(format!("version {} is unknown", self.version));
        }
        let invalid = |op: &&JournalOp| !is_staged_name(op.staged()) || !is_path(op.path());
        if let Some(op) = self.ops.iter().find(invalid) {
            return Some(format!(
                "`{}` or `{}` is not a valid name",
                op.staged().escape_debug(),
                op.path().escape_debug()
            ));
        }
        let left = self.left.iter().find(|left| !is_path(&left.path))?;
        Some(format!(
            "`{}` is not a valid name",
            left.path.escape_debug()
        ))
    }

    /// Writes a new journal.
    pub(super) fn write(&self, dir: &Dir) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let mut file = File::from(openat(dir, NEW_NAME, flags, mode)?);
        file.write_all(&line(self)?)?;
        reach(Step::JournalWritten)?;
        renameat(dir, NEW_NAME, dir, NAME)?;
        reach(Step::JournalNamed)
    }
}

impl JournalOp {
    pub(super) fn staged(&self) -> &str {
        match self {
            Self::Put { staged, .. }
            | Self::Take { staged, .. }
            | Self::Exchange { staged, .. } => staged,
        }
    }

    pub(super) fn path(&self) -> &str {
        match self {
            Self::Put { path, .. } | Self::Take { path, .. } | Self::Exchange { path, .. } => path,
        }
    }
}

fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Whether it is a name that a transaction gives to staged files.
fn is_staged_name(name: &str) -> bool {
    let number = name.strip_prefix('f').unwrap_or_default();
    (1..=20).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether each part of a path is the name of an entry.
pub(super) fn is_path(path: &str) -> bool {
    path.split('/')
        .all(|name| !name.is_empty() && name != "." && name != ".." && !name.contains('\0'))
}

/// Adds a mark to the journal, in one write. Where that fails, it is not in it.
pub(super) fn append(dir: &Dir, mark: Mark) -> io::Result<()> {
    let file = open_file(dir, NAME, OFlags::RDWR | OFlags::APPEND)?;
    let mut file = file.ok_or(Errno::NOENT)?;
    let length = cut(&mut file)?;
    let written = file.write_all(&line(&mark)?);
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
    let file = open_file(dir, NAME, OFlags::RDONLY)?;
    file.ok_or(Errno::NOENT)?.sync_all()
}

/// Returns when the last mark was written.
pub(super) fn written(dir: &Dir) -> io::Result<SystemTime> {
    let file = open_file(dir, NAME, OFlags::RDONLY)?;
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
    let opened = open_file(dir, NAME, OFlags::RDONLY).map_err(|errno| match errno {
        Errno::PERM | Errno::LOOP | Errno::ISDIR | Errno::NXIO => {
            "its journal is not a private file of this user".to_owned()
        }
        errno => errno.to_string(),
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
    let plan: Plan = serde_json::from_slice(lines.next().unwrap_or_default()).map_err(of_line)?;
    if let Some(fault) = plan.fault() {
        return Err(format!("its journal is invalid: {fault}"));
    }
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
pub(super) fn progress(dir: &Dir) -> Result<Progress, Errno> {
    let mut file = match open_file(dir, NAME, OFlags::RDONLY) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(Progress::NotBegun),
        Err(Errno::NOTDIR | Errno::PERM | Errno::LOOP) => return Ok(Progress::Unfinished),
        Err(errno) => return Err(errno),
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
