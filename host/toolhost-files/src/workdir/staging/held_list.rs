//! The list of changes that wait for consent, beside what was staged, and the digest of both.

use std::collections::HashSet;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, fstat, openat, readlinkat, statat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toolhost_contract::FileId;
use toolhost_contract::text::hex;

use super::change_set::{ChangeSet, RenameOp};
use super::contents::{names, open_dir};
use super::journal::BYTES_MAX;
use super::plan::{WorkdirPlace, is_path, is_staged_name};
use super::stamp::{FileKind, Stamp};
use crate::PrivateFile;
use crate::platform::{device, mode};
use crate::workdir::WorkdirHandle;
use crate::workdir::tree_path::TreePath;

/// Name of the list, which no staged file has.
const NAME: &str = "held";

/// The version that is written.
const VERSION: u32 = 1;

/// The list.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct HeldText {
    version: u32,
    workdir: WorkdirPlace,
    ops: Vec<OpText>,
    read: Vec<SeenText>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum OpText {
    Put {
        staged: String,
        path: String,
    },
    Take {
        path: String,
        staged: String,
        expected: StampText,
    },
    Exchange {
        staged: String,
        path: String,
        expected: StampText,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeenText {
    path: String,
    stamp: StampText,
}

/// A stamp. Devices get other numbers when a machine starts again: that of the workdir is left out.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StampText {
    inode: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device: Option<u64>,
    kind: FileKind,
    size: u64,
    mtime: (i64, i64),
    ctime: (i64, i64),
}

impl StampText {
    fn of(stamp: &Stamp, workdir: u64) -> Self {
        let FileId { device, inode } = stamp.id;
        Self {
            inode,
            device: (device != workdir).then_some(device),
            kind: stamp.kind,
            size: stamp.size,
            mtime: stamp.mtime,
            ctime: stamp.ctime,
        }
    }

    fn read(&self, workdir: u64) -> Stamp {
        Stamp {
            id: FileId {
                device: self.device.unwrap_or(workdir),
                inode: self.inode,
            },
            kind: self.kind,
            size: self.size,
            mtime: self.mtime,
            ctime: self.ctime,
        }
    }
}

impl HeldText {
    fn of(set: &ChangeSet, workdir: WorkdirPlace, device: u64) -> Self {
        let op = |op: &RenameOp| match op {
            RenameOp::Put { staged, path } => OpText::Put {
                staged: staged.clone(),
                path: path.to_string(),
            },
            RenameOp::Take {
                path,
                staged,
                expected,
            } => OpText::Take {
                path: path.to_string(),
                staged: staged.clone(),
                expected: StampText::of(expected, device),
            },
            RenameOp::Exchange {
                staged,
                path,
                expected,
            } => OpText::Exchange {
                staged: staged.clone(),
                path: path.to_string(),
                expected: StampText::of(expected, device),
            },
        };
        let seen = |(path, stamp): &(TreePath, Stamp)| SeenText {
            path: path.to_string(),
            stamp: StampText::of(stamp, device),
        };
        Self {
            version: VERSION,
            workdir,
            ops: set.ops.iter().map(op).collect(),
            read: set.read.iter().map(seen).collect(),
        }
    }

    /// Returns the change set. None if a name in it could not have been written by this program.
    fn change_set(&self, device: u64) -> Option<ChangeSet> {
        let tree_path = |path: &str| is_path(path).then(|| TreePath::from(path));
        let name = |staged: &str| is_staged_name(staged).then(|| staged.to_owned());
        let op = |op: &OpText| {
            Some(match op {
                OpText::Put { staged, path } => RenameOp::Put {
                    staged: name(staged)?,
                    path: tree_path(path)?,
                },
                OpText::Take {
                    path,
                    staged,
                    expected,
                } => RenameOp::Take {
                    path: tree_path(path)?,
                    staged: name(staged)?,
                    expected: expected.read(device),
                },
                OpText::Exchange {
                    staged,
                    path,
                    expected,
                } => RenameOp::Exchange {
                    staged: name(staged)?,
                    path: tree_path(path)?,
                    expected: expected.read(device),
                },
            })
        };
        let seen = |seen: &SeenText| Some((tree_path(&seen.path)?, seen.stamp.read(device)));
        Some(ChangeSet {
            ops: self.ops.iter().map(op).collect::<Option<_>>()?,
            read: self.read.iter().map(seen).collect::<Option<_>>()?,
        })
    }
}

/// Writes the list of changes. Returns their digest, and the bytes of the staged files. None if the list is longer than
/// one that is read.
pub(super) fn write_list(
    dir: &Dir,
    workdir: &WorkdirHandle,
    set: &ChangeSet,
) -> io::Result<Option<(String, u64)>> {
    let place = WorkdirPlace::of(workdir)?;
    let text = HeldText::of(set, place, device_of(&workdir.dir)?);
    let text = serde_json::to_vec(&text)?;
    if text.len() as u64 > BYTES_MAX {
        return Ok(None);
    }
    write(dir, &text)?;
    digest_of(dir, &text, set).map(Some)
}

/// Whether the list of held changes lies in a staging directory.
pub(super) fn is_held(dir: &Dir) -> bool {
    statat(dir, NAME, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}

/// Removes the list: what is left is an undo record, or belongs to nobody.
pub(super) fn forget(dir: &Dir) -> io::Result<()> {
    match unlinkat(dir, NAME, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

fn write(dir: &Dir, text: &[u8]) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = openat(dir, NAME, flags, Mode::RUSR | Mode::WUSR)?;
    io::Write::write_all(&mut File::from(file), text)
}

/// Reads the list. None if it is another one than that of the digest, or for another workdir.
pub(super) fn read_list(
    dir: &Dir,
    workdir: &WorkdirHandle,
    place: &WorkdirPlace,
    digest: &str,
) -> io::Result<Option<ChangeSet>> {
    let mut text = Vec::new();
    let file = PrivateFile::open_in(dir, NAME, Path::new(NAME), OFlags::RDONLY)?.into_file();
    file.take(BYTES_MAX).read_to_end(&mut text)?;
    let Ok(held) = serde_json::from_slice::<HeldText>(&text) else {
        return Ok(None);
    };
    let is_it = held.version == VERSION && held.workdir.is_same(place);
    let Some(set) = held.change_set(device_of(&workdir.dir)?).filter(|_| is_it) else {
        return Ok(None);
    };
    let same = match digest_of(dir, &text, &set) {
        Ok((now, _)) => now == digest,
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    Ok(same.then_some(set))
}

fn device_of(dir: &Dir) -> io::Result<u64> {
    Ok(device(&fstat(dir)?))
}

/// Returns the SHA-256 of a list and of all that was staged for it, and the bytes of the staged files.
fn digest_of(dir: &Dir, text: &[u8], set: &ChangeSet) -> io::Result<(String, u64)> {
    let (mut hasher, mut bytes) = (Sha256::new(), 0);
    add(&mut hasher, text);
    let mut taken = HashSet::new();
    for op in &set.ops {
        match op {
            RenameOp::Take { staged, .. } => {
                taken.insert(staged.as_str());
            }
            // What the commit itself moves is named by the list.
            RenameOp::Put { staged, .. } | RenameOp::Exchange { staged, .. }
                if taken.contains(staged.as_str()) => {}
            RenameOp::Put { staged, .. } | RenameOp::Exchange { staged, .. } => {
                add_staged(&mut hasher, dir, staged, &mut bytes)?;
            }
        }
    }
    let digest = hex(&hasher.finalize());
    Ok((digest, bytes))
}

/// Adds bytes after their length, so that no two lists of texts are alike.
fn add(hasher: &mut Sha256, bytes: &[u8]) {
    hasher.update((bytes.len() as u64).to_le_bytes());
    hasher.update(bytes);
}

/// Adds a file, directory or link: its name, what it is, its mode and what it holds. Sums the bytes of files.
fn add_staged(hasher: &mut Sha256, dir: &Dir, name: &str, bytes: &mut u64) -> io::Result<()> {
    let top = CString::new(name)?;
    // Each directory with the names in it that were not read yet.
    let mut levels = vec![(None, vec![top])];
    while let Some((here, rest)) = levels.last_mut() {
        let Some(name) = rest.pop() else {
            add(hasher, b"..");
            levels.pop();
            continue;
        };
        let here: &Dir = here.as_ref().unwrap_or(dir);
        let stat = statat(here, &name, AtFlags::SYMLINK_NOFOLLOW)?;
        add(hasher, name.as_bytes());
        hasher.update(mode(&stat).to_le_bytes());
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => add(hasher, readlinkat(here, &name, Vec::new())?.as_bytes()),
            FileType::RegularFile => {
                let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let mut file = File::from(openat(here, &name, flags, Mode::empty())?);
                let size = file.metadata()?.len();
                hasher.update(size.to_le_bytes());
                let mut buffer = [0; 16 << 10];
                loop {
                    let read = file.read(&mut buffer)?;
                    match buffer.get(..read) {
                        None | Some([]) => break,
                        Some(part) => hasher.update(part),
                    }
                    *bytes += read as u64;
                }
            }
            FileType::Directory => {
                let next = open_dir(here, &name)?;
                let mut inside: Vec<_> = names(&next)?.into_iter().map(|(name, _)| name).collect();
                inside.sort_unstable_by(|one, other| other.cmp(one));
                levels.push((Some(next), inside));
            }
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => return Err(io::ErrorKind::InvalidData.into()),
        }
    }
    Ok(())
}
