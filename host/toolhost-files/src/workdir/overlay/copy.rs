//! Copies files of the lower layer into the staging directory, once, before they are changed.

use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::fs::{
    AtFlags, FileType, Gid, Mode, OFlags, SeekFrom, Stat, Timespec, Timestamps, Uid, fstat,
};
use rustix::io::Errno;
use toolhost_contract::FileId;

use super::open_lower::OpenLower;
use super::state::{Shown, State};
use super::view::Overlay;
use crate::platform::{self, PATH_ONLY, clone_file, device, nanoseconds, read_link_of, set_times};
use crate::workdir::beneath::open_path;
use crate::workdir::entry::{Entry, NameIn};
use crate::workdir::error::{FileError, errno_of};
use crate::workdir::identity::id_of;
use crate::workdir::staging::{FileKind, of_stat};

/// Counts bytes that are about to be copied, or refuses.
pub(crate) type Charge<'a> = &'a dyn Fn(u64) -> Result<(), Errno>;

/// Maximum bytes of one step of a copy.
const STEP: u64 = 16 << 20;

impl Overlay {
    /// Copies what a path led to, if it is a file or a symlink of the lower layer, and opens the copy with
    /// `O_PATH`. None if it is staged already.
    ///
    /// # Errors
    /// `ENOTSUP` for a directory of the lower layer: its handle stays the one of the lower layer.
    pub(crate) fn copy_entry(
        &self,
        entry: &Entry,
        charge: Charge<'_>,
    ) -> Result<Option<File>, Errno> {
        let mut state = self.change()?;
        if entry.is_staged() {
            return Ok(None);
        }
        if entry.metadata.is_dir() {
            return Err(Errno::NOTSUP);
        }
        let home = Some(self.home(entry)?);
        let copied = self.copy(&mut state, &entry.handle, u64::MAX, home, charge)?;
        Ok(Some(copied))
    }

    /// Returns the name that shows a file or a symlink of the lower layer.
    pub(super) fn home(&self, entry: &Entry) -> Result<NameIn, Errno> {
        if let Some(place) = &entry.place {
            return place.home.clone().ok_or(Errno::NOTSUP);
        }
        // The kernel resolved the path, as nothing was changed: it is the name that the lower layer has.
        let path = self.path_in_lower(&entry.handle)?;
        let (above, name) = path.rsplit_once('/').unwrap_or((".", &path));
        let above = open_path(&self.lower, above, OFlags::DIRECTORY | OFlags::NOFOLLOW);
        Ok(NameIn {
            dir: id_of(&above.map_err(FileError::errno)?)?,
            name: name.to_owned(),
        })
    }

    /// Notes the directory of the name of a lower file, found by the file's own path.
    pub(super) fn ensure_home(
        &self,
        state: &mut State,
        home: &NameIn,
        file: impl AsFd,
    ) -> Result<(), Errno> {
        state.note_lower_dir(home.dir, |_| {
            // Without an entry, the name is the one that the lower layer has.
            let path = self.path_in_lower(file)?;
            Ok(path.rsplit_once('/').map_or("", |(above, _)| above).into())
        })
    }

    /// Copies the lower file of open handles, which read and write the copy from then on. Only the first
    /// `keep` bytes are copied.
    pub(super) fn copy_open(
        &self,
        file: &OpenLower,
        keep: u64,
        charge: Charge<'_>,
    ) -> Result<(), Errno> {
        let mut state = self.change()?;
        if file.is_staged() {
            return Ok(());
        }
        let lower = file.current();
        let home = state.files.get(&file.id).and_then(|file| file.home.clone());
        if let Some(home) = &home
            && let Some(copy) = self.copy_at(&state, home, file.id)?
        {
            return file.switch_to(&copy);
        }
        self.copy(&mut state, &*lower, keep, home, charge)?;
        Ok(())
    }

    /// Opens the copy of a lower file that a name shows: it was made, but not all handles could switch to it.
    fn copy_at(&self, state: &State, home: &NameIn, lower: FileId) -> Result<Option<File>, Errno> {
        let Some(flat) = state.flat(home.dir, &home.name) else {
            return Ok(None);
        };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let copy = rustix::fs::openat(&**state.staging()?.dir(), flat, flags, Mode::empty())?;
        let copy = File::from(copy);
        Ok((state.origins.get(&id_of(&copy)?) == Some(&lower)).then_some(copy))
    }

    /// Copies a file or a symlink of the lower layer into the staging directory. `home` is the name that shows
    /// it; without one, the copy gets no name.
    pub(super) fn copy(
        &self,
        state: &mut State,
        lower: impl AsFd,
        keep: u64,
        home: Option<NameIn>,
        charge: Charge<'_>,
    ) -> Result<File, Errno> {
        let stat = fstat(&lower)?;
        if device(&stat) != self.device {
            return Err(Errno::XDEV);
        }
        let stamp = of_stat(&stat);
        if let Some(home) = &home {
            self.ensure_home(state, home, &lower)?;
        }
        let staging = Arc::clone(state.staging()?.dir());
        let flat = state.staging()?.new_name();
        let (copied, kind) = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => {
                let target = read_link_of(&lower)?;
                rustix::fs::symlinkat(target, &*staging, &*flat)?;
                let flags = PATH_ONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let made = rustix::fs::openat(&*staging, &*flat, flags, Mode::empty())?;
                set_times(&made, &times(&stat))?;
                (File::from(made), FileKind::Link)
            }
            FileType::RegularFile => {
                let keep = keep.min(size(&stat));
                let on_disk = u64::try_from(stat.st_blocks)
                    .unwrap_or(0)
                    .saturating_mul(512);
                charge(keep.min(on_disk))?;
                let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let made = rustix::fs::openat(&*staging, &*flat, flags, Mode::RUSR | Mode::WUSR)?;
                let made = File::from(made);
                if let Err(errno) = fill(&lower, &made, keep, &stat) {
                    let _ = rustix::fs::unlinkat(&*staging, &*flat, AtFlags::empty());
                    return Err(errno);
                }
                (made, FileKind::File)
            }
            // They are not opened.
            FileType::Directory
            | FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => return Err(Errno::PERM),
        };
        let staged_id = id_of(&copied)?;
        state.origins.insert(staged_id, stamp.id);
        match home {
            Some(home) => {
                let is_plain = state.entry(home.dir, &home.name).is_none();
                let hides = is_plain.then_some(stamp);
                state.show(&home, hides, Shown::Staged { flat, kind });
            }
            None => rustix::fs::unlinkat(&*staging, &*flat, AtFlags::empty())?,
        }
        if let Some(file) = state.files.get(&stamp.id) {
            file.switch_to(&copied)?;
        }
        Ok(copied)
    }
}

fn size(stat: &Stat) -> u64 {
    u64::try_from(stat.st_size).unwrap_or(0)
}

fn times(stat: &Stat) -> Timestamps {
    let of = |tv_sec: i64, tv_nsec: i64| Timespec { tv_sec, tv_nsec };
    Timestamps {
        last_access: of(stat.st_atime, nanoseconds(stat.st_atime_nsec)),
        last_modification: of(stat.st_mtime, nanoseconds(stat.st_mtime_nsec)),
    }
}

/// Copies bytes, owner, mode and times.
fn fill(lower: impl AsFd, made: &File, keep: u64, stat: &Stat) -> Result<(), Errno> {
    if keep > 0 {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let source = File::from(platform::open_again(&lower, flags)?);
        let is_whole = keep == size(stat);
        if !is_whole || clone_file(made, &source).is_err() {
            copy_data(&source, made, keep)?;
        }
    }
    let has_owner = |made: &Stat| (made.st_uid, made.st_gid) == (stat.st_uid, stat.st_gid);
    let mut owner = fstat(made)?;
    if !has_owner(&owner) {
        // Only root can give a file away.
        let (uid, gid) = (Uid::from_raw(stat.st_uid), Gid::from_raw(stat.st_gid));
        let _ = rustix::fs::fchown(made, Some(uid), Some(gid));
        owner = fstat(made)?;
    }
    rustix::fs::fchmod(made, copied_mode(stat, has_owner(&owner)))?;
    rustix::fs::futimens(made, &times(stat))
}

/// Returns the mode of a copy. A program that runs as its owner or its group must not run as another one.
fn copied_mode(stat: &Stat, has_owner: bool) -> Mode {
    let bits = if has_owner { 0o7777 } else { 0o1777 };
    Mode::from_raw_mode(stat.st_mode) & Mode::from_bits_truncate(bits)
}

/// Copies the first bytes of a file. Holes stay holes.
fn copy_data(source: &File, made: &File, keep: u64) -> Result<(), Errno> {
    rustix::fs::ftruncate(made, keep)?;
    let mut at = 0;
    while at < keep {
        let start = match rustix::fs::seek(source, SeekFrom::Data(at)) {
            Ok(start) => start,
            // Nothing but a hole is left.
            Err(Errno::NXIO) => return Ok(()),
            // The file system knows no holes.
            Err(_) => at,
        };
        let end = rustix::fs::seek(source, SeekFrom::Hole(start)).unwrap_or(keep);
        let end = end.min(keep);
        copy_range(source, made, start, end)?;
        at = end.max(start.saturating_add(1));
    }
    Ok(())
}

fn copy_range(source: &File, made: &File, start: u64, end: u64) -> Result<(), Errno> {
    let mut from = start;
    while from < end {
        let length = usize::try_from((end - from).min(STEP)).unwrap_or(usize::MAX);
        match platform::copy_range(source, made, &mut from, length) {
            // Another program has cut the file: the commit will notice.
            Ok(0) => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::NOSYS | Errno::XDEV | Errno::INVAL | Errno::OPNOTSUPP | Errno::PERM) => {
                return copy_by_reading(source, made, from, end);
            }
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

fn copy_by_reading(source: &File, made: &File, start: u64, end: u64) -> Result<(), Errno> {
    use std::os::unix::fs::FileExt;
    let mut buffer = vec![0; 64 << 10];
    let mut at = start;
    while at < end {
        let length = usize::try_from(end - at)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let part = buffer.get_mut(..length).unwrap_or_default();
        let read = rustix::io::pread(source, &mut *part, at)?;
        if read == 0 {
            return Ok(());
        }
        let part = part.get(..read).unwrap_or_default();
        let written = made.write_all_at(part, at);
        written.map_err(|error| errno_of(&error))?;
        at += read as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_copy_that_belongs_to_somebody_else_runs_as_nobody() {
        let dir = tempfile::tempdir().unwrap();
        let file = File::create(dir.path().join("f")).unwrap();
        for (mode, other) in [
            (0o4755, 0o755),
            (0o2755, 0o755),
            (0o6711, 0o711),
            (0o644, 0o644),
        ] {
            file.set_permissions(std::fs::Permissions::from_mode(mode))
                .unwrap();
            let stat = fstat(&file).unwrap();
            assert_eq!(copied_mode(&stat, false), Mode::from_raw_mode(other));
            assert_eq!(copied_mode(&stat, true), Mode::from_raw_mode(mode));
        }
    }
}
