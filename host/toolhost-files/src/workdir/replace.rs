//! Puts whole files into a directory, all of them or none: the commit of a changeset.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use cap_primitives::fs::{MetadataExt, OpenOptionsExt};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use rustix::fs::{AtFlags, OFlags, linkat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use toolhost_contract::FileChanges;

use super::Workdir;
use super::staging::{
    ChangeSet, CommitClock, CommitError, CommitOptions, RenameOp, Staging, StagingError,
    StagingRoot, Stamp, Step, UndoError, reach,
};

/// A file of a directory that is to be created, replaced or deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileReplacement {
    /// Its path in the directory: names with `/` between them, without `.`, `..` and links.
    pub path: String,
    /// The name of the new content in the directory of contents; none if the file is to be deleted.
    pub content: Option<String>,
    /// The SHA-256 digest that the file must have now; none if there must be none.
    pub expected: Option<[u8; 32]>,
}

/// Why files were not replaced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplaceFilesError {
    /// They cannot be staged. Nothing was changed.
    #[error(transparent)]
    Staging(#[from] StagingError),
    /// They could not be committed.
    #[error(transparent)]
    Commit(#[from] CommitError),
}

/// The files that were replaced. The former ones are kept as an undo record, as those of any commit.
#[derive(Debug)]
pub struct ReplacedFiles {
    workdir: Workdir,
    root: StagingRoot,
    /// None if the limits allow no record of its size.
    record: Option<String>,
}

impl StagingRoot {
    /// Checks that files of a directory can be replaced: that renames between both are possible.
    ///
    /// # Errors
    /// [`StagingError`] names both paths and the way out.
    pub fn check(&self, dir: &Workdir) -> Result<(), StagingError> {
        Staging::create(self, dir).map(drop)
    }
}

impl Workdir {
    /// Creates, replaces and deletes files of this directory, all of them or none. The contents are files of
    /// the directory `contents`, on the file system of `root`, and stay there. A replaced file keeps its
    /// permissions. Folders are created where they are missing, and none is removed. `label` names the commit in
    /// its undo record. Blocks for as long as the renames take.
    ///
    /// # Errors
    /// [`CommitError::Conflict`] with the files that are not as expected, or whose place is taken;
    /// other errors where the system refuses a step.
    pub fn replace_files(
        &self,
        root: &StagingRoot,
        contents: &Path,
        files: &[FileReplacement],
        label: &str,
    ) -> Result<ReplacedFiles, ReplaceFilesError> {
        let failed = |step: &str| {
            let step = step.to_owned();
            |source: io::Error| CommitError::failed(step, source)
        };
        let contents = Dir::open_ambient_dir(contents, ambient_authority());
        let contents = contents.map_err(failed("opening the directory of contents"))?;
        let staging = Staging::create(root, self)?;
        let stager = Stager {
            dir: &self.dir,
            contents: &contents,
            staging: &staging,
        };
        let ops = match stager.ops(files) {
            Ok(Ok(ops)) => ops,
            Ok(Err(files)) => return Err(CommitError::Conflict { files }.into()),
            Err(error) => return Err(failed("staging the files")(error).into()),
        };
        let read = Vec::new();
        let changes = ChangeSet { ops, read };
        let options = CommitOptions {
            label: label.to_owned(),
            ..CommitOptions::default()
        };
        let committed = staging.commit(
            self,
            (&changes, &FileChanges::default()),
            &options,
            CommitClock::start(options.time),
        )?;
        Ok(ReplacedFiles {
            workdir: self.clone(),
            root: root.clone(),
            record: committed.undo,
        })
    }
}

impl ReplacedFiles {
    /// Puts the former files back.
    ///
    /// # Errors
    /// [`UndoError`] if that is not possible any more, or no record was kept.
    pub fn undo(self) -> Result<(), UndoError> {
        let record = self.record.as_deref().ok_or(UndoError::Nothing)?;
        self.root.undo(&self.workdir, Some(record)).map(drop)
    }
}

/// Stages files, and makes the list of renames that puts them into a directory.
struct Stager<'a> {
    dir: &'a Dir,
    contents: &'a Dir,
    staging: &'a Staging,
}

impl Stager<'_> {
    /// Returns the renames, or the files that are not as expected.
    fn ops(&self, files: &[FileReplacement]) -> io::Result<Result<Vec<RenameOp>, Vec<String>>> {
        let (mut conflicts, mut stamps) = (BTreeSet::new(), BTreeMap::new());
        for file in files {
            match self.stamp(&file.path)? {
                Some((stamp, Some(digest))) if file.expected == Some(digest) => {
                    stamps.insert(file.path.as_str(), stamp);
                }
                None if file.expected.is_none() => {}
                _ => {
                    conflicts.insert(file.path.clone());
                }
            }
        }
        if !conflicts.is_empty() {
            return Ok(Err(conflicts.into_iter().collect()));
        }
        let mut ops = Vec::new();
        for file in files.iter().filter(|file| file.content.is_none()) {
            if let Some(expected) = stamps.get(file.path.as_str()) {
                ops.push(RenameOp::Take {
                    path: file.path.as_str().into(),
                    staged: self.staging.new_name(),
                    expected: *expected,
                });
            }
        }
        let deleted = files.iter().filter(|file| file.content.is_none());
        let deleted: BTreeSet<&str> = deleted.map(|file| file.path.as_str()).collect();
        // The folders that are missing, with the directory that is staged for each.
        let mut folders: BTreeMap<&str, String> = BTreeMap::new();
        for file in files {
            let (Some(content), path) = (&file.content, file.path.as_str()) else {
                continue;
            };
            if let Some(expected) = stamps.get(path) {
                let staged = self.staging.new_name();
                self.link(content, &staged)?;
                match self.copy_permissions(path, &staged) {
                    // Another program was faster.
                    Err(error) if is_absent(&error) => return Ok(Err(vec![path.to_owned()])),
                    copied => copied?,
                }
                ops.push(RenameOp::Exchange {
                    staged,
                    path: path.into(),
                    expected: *expected,
                });
                continue;
            }
            let Some(folder) = self.missing_folder(path, &deleted)? else {
                let staged = self.staging.new_name();
                self.link(content, &staged)?;
                let path = path.into();
                ops.push(RenameOp::Put { staged, path });
                continue;
            };
            let staged = folders
                .entry(folder)
                .or_insert_with(|| self.staging.new_name());
            let rest = path.strip_prefix(folder).unwrap_or_default();
            let staged_path = format!("{staged}{rest}");
            if let Some((above, _)) = staged_path.rsplit_once('/') {
                self.staging.dir().create_dir_all(above)?;
            }
            self.link(content, &staged_path)?;
        }
        let put = |(path, staged): (&str, String)| RenameOp::Put {
            staged,
            path: path.into(),
        };
        ops.extend(folders.into_iter().map(put));
        Ok(Ok(ops))
    }

    /// Returns the stamp and the digest of what is at a path; none if there is nothing. What is not a regular file, or
    /// not any more, has no digest.
    fn stamp(&self, path: &str) -> io::Result<Option<(Stamp, Option<[u8; 32]>)>> {
        let found = match self.dir.symlink_metadata(path) {
            Ok(found) => found,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let stamp = Stamp::of(&found);
        if !found.is_file() {
            return Ok(Some((stamp, None)));
        }
        let mut options = OpenOptions::new();
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
        options.read(true).custom_flags(flags.bits().cast_signed());
        reach(Step::Hashing)?;
        let mut file = match self.dir.open_with(path, &options) {
            // Another program was faster: a link took its place, or it is gone.
            Err(error) if is_absent(&error) || is_link(&error) => {
                return Ok(Some((stamp, None)));
            }
            file => file?,
        };
        let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 16]);
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                read => hash.update(buffer.get(..read).unwrap_or_default()),
            }
        }
        Ok(Some((stamp, Some(hash.finalize().into()))))
    }

    /// Returns the first folder on a path that is missing, or will be once the deleted files are.
    fn missing_folder<'p>(
        &self,
        path: &'p str,
        deleted: &BTreeSet<&str>,
    ) -> io::Result<Option<&'p str>> {
        for (end, _) in path.match_indices('/') {
            let folder = path.get(..end).unwrap_or_default();
            match self.dir.symlink_metadata(folder) {
                Ok(_) if deleted.contains(folder) => return Ok(Some(folder)),
                Ok(_) => {}
                Err(error) if is_absent(&error) => return Ok(Some(folder)),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    fn link(&self, content: &str, staged: &str) -> io::Result<()> {
        let staging = self.staging.dir();
        linkat(self.contents, content, staging, staged, AtFlags::empty())?;
        Ok(())
    }

    fn copy_permissions(&self, path: &str, staged: &str) -> io::Result<()> {
        let mode = self.dir.symlink_metadata(path)?.mode();
        let file = self.staging.dir().open(staged)?.into_std();
        // Not to run as the owner or the group: that was granted to the former content.
        file.set_permissions(Permissions::from_mode(mode & 0o777))
    }
}

fn is_link(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::LOOP)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}
