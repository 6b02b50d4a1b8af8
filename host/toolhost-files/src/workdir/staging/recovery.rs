//! Takes back the commits that a process did not finish before it died.

use std::io;
use std::path::PathBuf;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::fstat;
use rustix::io::Errno;

use super::error::{StagingError, named};
use super::held_list::is_held;
use super::journal::{self, Committed, Journal, Progress};
use super::plan::WorkdirPlace;
use super::records::{committed, progress_of, remove};
use super::renames::Renames;
use super::rollback::{paths, take_back};
use super::root::StagingRoot;
use crate::PrivateDir;

/// What [`StagingRoot::recover`] did.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Recovered {
    /// Commits that were taken back, and undos that were finished: those of processes that died.
    pub taken_back: usize,
    /// Staging directories that were removed: of dead processes that had committed nothing, and undo records
    /// of workdirs that were moved or removed.
    pub removed: usize,
    /// Staging directories that were left as they are.
    pub left: Vec<Unrecovered>,
}

/// A commit that was begun by a process that died, and could not be taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unrecovered {
    /// The staging directory, which holds the former files.
    pub staging: PathBuf,
    /// Why, and what to do.
    pub reason: String,
}

impl StagingRoot {
    /// Takes back the commits of processes that died before they ended, finishes their undos, and removes
    /// what they had staged. Directories of running processes and undo records are left alone, except undo
    /// records of workdirs that were moved or removed. A host calls it when it starts, before its first call.
    ///
    /// # Errors
    /// [`StagingError::Io`] where the staging root cannot be read. What is wrong with a single transaction is
    /// in [`Recovered::left`].
    pub fn recover(&self) -> Result<Recovered, StagingError> {
        let mut recovered = Recovered::default();
        if let Err(error) = self.forget_old_runs() {
            tracing::warn!(%error, "the runs of old calls could not be removed");
        }
        for id in self.ids(None).map_err(|errno| self.failed(errno))? {
            match self.recover_one(&id) {
                Ok(Done::Nothing) => {}
                Ok(Done::TakenBack) => recovered.taken_back += 1,
                Ok(Done::Removed) => recovered.removed += 1,
                Err(reason) => {
                    let staging = self.path().join(&id);
                    tracing::warn!(path = %staging.display(), reason, "a commit could not be taken back");
                    recovered.left.push(Unrecovered { staging, reason });
                }
            }
        }
        Ok(recovered)
    }

    fn recover_one(&self, id: &str) -> Result<Done, String> {
        let opened = self.open_locked(id).map_err(|errno| match errno {
            Errno::NOTDIR | Errno::LOOP => "it is not a directory: move it away".to_owned(),
            errno => errno.to_string(),
        })?;
        let Some(dir) = opened else {
            return Ok(Done::Nothing);
        };
        let done = self.recover_locked(id, &dir);
        self.unlock(&dir);
        done
    }

    /// Removes an undo record whose workdir is not where it was: nobody would ever drop it.
    fn drop_orphan(&self, id: &str, dir: &Dir) -> Done {
        match journal::read(dir) {
            Ok(Some(journal)) if matches!(open_workdir(&journal.plan.workdir, dir), Ok(None)) => {
                remove(self, id, dir);
                Done::Removed
            }
            _ => Done::Nothing,
        }
    }

    fn recover_locked(&self, id: &str, dir: &Dir) -> Result<Done, String> {
        PrivateDir::check(dir, &self.path().join(id)).map_err(|error| error.to_string())?;
        match journal::progress(dir).map_err(|error| error.to_string())? {
            Progress::Committed(_) => return Ok(self.drop_orphan(id, dir)),
            Progress::NotBegun if is_held(dir) => return Ok(Done::Nothing),
            Progress::NotBegun => {
                remove(self, id, dir);
                return Ok(Done::Removed);
            }
            Progress::Unfinished => {}
        }
        let Some(journal) = journal::read(dir)? else {
            return Ok(Done::Nothing);
        };
        let place = &journal.plan.workdir;
        let moved = || {
            format!(
                "its workdir is no longer at {}: move it back there and start again, or remove {}, which holds \
                 files that were in it",
                place.path().display(),
                self.path().join(id).display()
            )
        };
        let workdir = open_workdir(place, dir).map_err(|error| {
            let path = place.path();
            format!("its workdir {} cannot be opened: {error}", path.display())
        })?;
        let workdir = workdir.ok_or_else(moved)?;
        let _lock = self
            .lock_workdir(place.inode)
            .map_err(|_| "another commit to its workdir does not end".to_owned())?;
        finish(self, id, dir, &workdir, &journal)?;
        Ok(Done::TakenBack)
    }
}

/// Opens a workdir. It lies on the file system of its staging directory. None if it is no longer where it was.
fn open_workdir(place: &WorkdirPlace, staging: &Dir) -> io::Result<Option<Dir>> {
    let path = place.path();
    let is_gone = |error: &io::Error| {
        matches!(
            error.kind(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
        )
    };
    let workdir = match Dir::open_ambient_dir(&path, ambient_authority()) {
        Err(error) if is_gone(&error) => return Ok(None),
        opened => opened?,
    };
    let is_here = fstat(&workdir)?.st_dev == fstat(staging)?.st_dev;
    let is_it = is_here && place.is_same(&WorkdirPlace::of_dir(&workdir, &path)?);
    Ok(is_it.then_some(workdir))
}

/// What was done with one staging directory.
enum Done {
    Nothing,
    TakenBack,
    Removed,
}

/// Finishes what dead processes left of a workdir, and returns its undo records, the newest first. Called under
/// its lock: a commit sees whole states only.
pub(super) fn finish_dead(
    root: &StagingRoot,
    workdir: &Dir,
    place: &WorkdirPlace,
) -> Result<Vec<(String, Committed)>, Errno> {
    let all = progress_of(root, place.inode)?;
    for (id, _) in all
        .iter()
        .filter(|(_, progress)| *progress == Progress::Unfinished)
    {
        let Ok(Some(dir)) = root.open_locked(id) else {
            continue;
        };
        let finished = match journal::read(&dir) {
            // Another workdir may have got the inode of one that was removed.
            Ok(Some(journal))
                if journal.committed.is_none() && journal.plan.workdir.is_same(place) =>
            {
                finish(root, id, &dir, workdir, &journal)
            }
            Ok(_) => Ok(()),
            Err(reason) => Err(reason),
        };
        if let Err(reason) = finished {
            let path = root.path().join(id);
            tracing::warn!(path = %path.display(), reason, "a commit could not be taken back");
        }
        root.unlock(&dir);
    }
    Ok(committed(all))
}

/// Takes back an unfinished commit, or finishes an undo, and removes the staging directory; or leaves in it the changes
/// that are held.
fn finish(
    root: &StagingRoot,
    id: &str,
    dir: &Dir,
    workdir: &Dir,
    journal: &Journal,
) -> Result<(), String> {
    take_back_renames(dir, workdir, journal)?;
    if is_held(dir) {
        return journal::remove(dir).map_err(|errno| errno.to_string());
    }
    remove(root, id, dir);
    Ok(())
}

/// Takes back the commit of held changes that a dead process has not finished. Called under the lock of the workdir.
pub(super) fn take_back_unfinished(dir: &Dir, workdir: &Dir) -> Result<(), String> {
    match journal::read(dir)? {
        Some(journal) if journal.committed.is_none() => {
            take_back_renames(dir, workdir, &journal)?;
            journal::remove(dir).map_err(|errno| errno.to_string())
        }
        Some(_) | None => Ok(()),
    }
}

fn take_back_renames(dir: &Dir, workdir: &Dir, journal: &Journal) -> Result<(), String> {
    let renames = Renames {
        workdir,
        staging: dir,
    };
    let stuck = take_back(&renames, &journal.plan).map_err(|error| error.to_string())?;
    let Some(first) = stuck.first() else {
        return Ok(());
    };
    Err(format!(
        "{} could not be put back, as {}: move away what is there, and start again",
        named(&paths(&stuck)),
        first.error
    ))
}
