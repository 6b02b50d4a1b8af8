//! The journal of a commit: the renames, written before the first of them, and what became of them.
//!
//! It is a file of lines of JSON, in the staging directory. The first is the plan, which has each directory once. It
//! is written under another name first, so that a journal is never cut within it. After it come marks. The last whole one counts:
//!
//! - none: the commit has not ended, and its renames are taken back;
//! - `committed`: the staging directory is an undo record;
//! - `undoing`: an undo has begun, and its renames are taken back.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};
use toolhost_system::ffi::{OsStrExt, OsStringExt};
use toolhost_system::fs::{AtFlags, Mode, OFlags, fstat, openat, renameat, unlinkat};
use toolhost_system::io::Errno;

use super::plan_text::{read_plan, write_plan};
use super::private::open_file;
use super::step::{Step, reach};
use super::tree::Left;
use crate::platform::birth_time;
use crate::workdir::WorkdirHandle;
use crate::workdir::tree_path::TreePath;

/// Name of the journal, which no staged file has.
pub(super) const NAME: &str = "journal";

/// Its name until the plan is written.
const NEW_NAME: &str = "journal.new";

/// Maximum bytes of a journal: more are neither written nor read. 100,000 removed files take some 8 MiB.
pub(super) const BYTES_MAX: u64 = if cfg!(test) { 1 << 20 } else { 64 << 20 };

/// Bytes of these for the marks behind the plan.
const MARKS_BYTES: u64 = 64 << 10;

/// Bytes at the end of a journal in which its last mark is looked for, unless that is a long one.
const TAIL_BYTES: u64 = 256;

/// The first line of a journal.
#[derive(Debug, Clone)]
pub(super) struct Plan {
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JournalOp {
    /// From the staging directory to a free path.
    Put {
        staged: String,
        path: TreePath,
        inode: u64,
    },
    /// From a path to the staging directory.
    Take {
        path: TreePath,
        staged: String,
        inode: u64,
    },
    /// The staged `inode` for `replaced`, which is at the path.
    Exchange {
        staged: String,
        path: TreePath,
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
            workdir,
            label,
            ops,
            left,
        }
    }

    /// Returns the first paths that it changes, sorted.
    pub(super) fn files(&self, most: usize) -> Vec<String> {
        let paths: BTreeSet<_> = self.ops.iter().map(JournalOp::path).collect();
        let paths = paths.into_iter().take(most);
        let mut paths: Vec<_> = paths.map(TreePath::to_string).collect();
        paths.sort_unstable();
        paths
    }

    /// Returns how many paths it changes.
    pub(super) fn count(&self) -> usize {
        let paths: HashSet<_> = self.ops.iter().map(JournalOp::path).collect();
        paths.len()
    }

    /// Writes a new journal.
    ///
    /// # Errors
    /// Of the kind `FileTooLarge` if it has more than [`BYTES_MAX`].
    pub(super) fn write(&self, dir: &Dir) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = File::from(openat(dir, NEW_NAME, flags, mode)?);
        let mut file = BufWriter::new(Bounded {
            to: file,
            left: BYTES_MAX - MARKS_BYTES,
        });
        write_plan(self, &mut file)?;
        file.write_all(b"\n")?;
        file.flush()?;
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

    pub(super) fn path(&self) -> &TreePath {
        match self {
            Self::Put { path, .. } | Self::Take { path, .. } | Self::Exchange { path, .. } => path,
        }
    }
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

fn line(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}

/// Whether it is a name that a transaction gives to staged files.
pub(super) fn is_staged_name(name: &str) -> bool {
    let number = name.strip_prefix('f').unwrap_or_default();
    (1..=20).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether each part of a path is the name of an entry.
pub(super) fn is_path(path: &str) -> bool {
    path.split('/').all(is_name)
}

/// Whether each part of a path is the name of an entry.
pub(super) fn is_tree_path(path: &TreePath) -> bool {
    let above = path.above();
    (above.is_empty() || is_path(above)) && !path.name().contains('/') && is_name(path.name())
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains('\0')
}

/// Adds a mark to the journal, in one write. Where that fails, it is not in it.
pub(super) fn append(dir: &Dir, mark: Mark) -> io::Result<()> {
    let file = open_file(dir, NAME, OFlags::RDWR | OFlags::APPEND)?;
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
