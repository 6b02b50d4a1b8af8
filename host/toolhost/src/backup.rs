//! A copy of a state root, made while processes use it.

mod tree;

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use toolhost_files::PrivateDir;
use toolhost_store::{StoreError, copy_database};

pub use self::tree::Backup;
use self::tree::Copy;

/// What belongs to running processes: their locks, and what transactions stage. The records of commits in `staging` name
/// files by their identity, which a copy does not have.
const OF_PROCESSES: [&str; 2] = ["runs", "staging"];

/// Where rows of the database name files: copied before the database as well, as a changeset that ends meanwhile removes
/// its files.
const NAMED_BY_ROWS: &str = "changesets";

/// Why a state root could not be copied. Nothing is left of the copy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// There is no state root, or it is not this user's alone.
    #[error("the state root {} cannot be read", .path.display())]
    StateRoot {
        /// Its path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The directory to make exists.
    #[error("{} exists: name another directory, or move it away", .0.display())]
    Exists(PathBuf),
    /// The directory to make lies in the state root.
    #[error("{} lies in the state root: name a directory elsewhere", .0.display())]
    Within(PathBuf),
    /// A database could not be copied.
    #[error("a database could not be copied")]
    Database(#[from] StoreError),
    /// Something could not be written.
    #[error("{} cannot be written", .path.display())]
    Write {
        /// Its path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Copies a state root into a directory that this makes, which only this user can read. It appears when it is complete.
///
/// Processes may use the state root meanwhile. Each database is copied as it is at one moment, and other files as they are
/// when they are read: those that a call of a tool changes meanwhile may be copied half. What belongs to running processes
/// is left out, with the records from which calls are undone. Links are copied and not followed. Blocks.
///
/// # Errors
/// [`BackupError`].
pub fn make(state_root: &Path, to: &Path) -> Result<Backup, BackupError> {
    let unreadable = |source| BackupError::StateRoot {
        path: state_root.to_owned(),
        source,
    };
    let root = state_root.canonicalize().map_err(unreadable)?;
    let opened = PrivateDir::open(&root).map_err(unreadable)?;
    let to = target(&root, to)?;
    let partial = {
        let mut name = to.file_name().unwrap_or_default().to_owned();
        name.push(format!(".partial~{}", std::process::id()));
        to.with_file_name(name)
    };
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| BackupError::Write { path, source }
    };
    let made = fs::DirBuilder::new().mode(0o700).create(&partial);
    made.map_err(failed(&partial))?;
    let copied = copy(&opened, &root, &partial).and_then(|backup| {
        sync(&partial).map_err(failed(&partial))?;
        match renameat_with(CWD, &partial, CWD, &to, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(backup),
            Err(rustix::io::Errno::EXIST) => Err(BackupError::Exists(to.clone())),
            Err(error) => Err(failed(&to)(error.into())),
        }
    });
    if copied.is_err() {
        // What remains is named `.partial~`, and no backup.
        let _ = fs::remove_dir_all(&partial);
    }
    copied
}

/// Waits until the copy is on the disk.
#[cfg(target_os = "linux")]
fn sync(dir: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(fs::File::open(dir)?)?)
}

/// Waits until the copy is on the disk.
#[cfg(not(target_os = "linux"))]
fn sync(_: &Path) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

/// Checks the path of the directory to make, and resolves the directory above it.
fn target(root: &Path, to: &Path) -> Result<PathBuf, BackupError> {
    let failed = |source| BackupError::Write {
        path: to.to_owned(),
        source,
    };
    let name = to.file_name().ok_or(io::ErrorKind::InvalidInput.into());
    let name = name.map_err(failed)?;
    let above = match to.parent() {
        Some(above) if above.as_os_str().is_empty() => Path::new("."),
        Some(above) => above,
        None => Path::new("/"),
    };
    let resolved = above.canonicalize().map_err(failed)?.join(name);
    if resolved.symlink_metadata().is_ok() {
        return Err(BackupError::Exists(to.to_owned()));
    }
    if resolved.starts_with(root) {
        return Err(BackupError::Within(to.to_owned()));
    }
    Ok(resolved)
}

fn copy(opened: &PrivateDir, root: &Path, to: &Path) -> Result<Backup, BackupError> {
    let failed = |source| BackupError::Write {
        path: to.to_owned(),
        source,
    };
    let mut copy = Copy::new(to).map_err(failed)?;
    let mut databases = 0;
    let entries = tree::names(opened).map_err(|source| BackupError::StateRoot {
        path: root.to_owned(),
        source,
    })?;
    let is = |name: &Path, end: &str| {
        name.as_os_str()
            .as_encoded_bytes()
            .ends_with(end.as_bytes())
    };
    copy.entry(opened, Path::new(NAMED_BY_ROWS))
        .map_err(failed)?;
    for name in entries.iter().filter(|name| is(name, ".db")) {
        copy_database(&root.join(name), &to.join(name))?;
        databases += 1;
    }
    for name in &entries {
        let is_of_database = [".db", ".db-wal", ".db-shm", ".db-journal", ".new"];
        let is_left_out = OF_PROCESSES.iter().any(|other| name == Path::new(other))
            || is_of_database.iter().any(|end| is(name, end));
        if !is_left_out {
            copy.entry(opened, name).map_err(failed)?;
        }
    }
    Ok(Backup {
        databases,
        ..copy.done
    })
}

#[cfg(test)]
mod tests;
