//! Opens single names of either layer, without following links.

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;

use cap_primitives::fs::MetadataExt;
use cap_std::fs::Metadata;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use toolhost_contract::FileId;

use super::state::{Shown, State};
use super::view::Overlay;
use crate::platform::{PATH_ONLY, path_of};
use crate::workdir::beneath::open_path;
use crate::workdir::error::{FileError, FileResult};
use crate::workdir::file_system::kernel_file_system;
use crate::workdir::identity::{file_id, id_of};
use crate::workdir::tree_path::TreePath;

/// An entry of the merged view, opened with `O_PATH`.
pub(super) struct Child {
    pub(super) handle: File,
    pub(super) metadata: Metadata,
    /// Whether it lies in the staging directory.
    pub(super) is_staged: bool,
    /// Whether it is no entry of the directory in which it is shown.
    pub(super) is_redirect: bool,
}

impl Child {
    pub(super) fn id(&self) -> FileId {
        file_id(&self.metadata)
    }
}

impl Overlay {
    /// Opens what a name of the merged view shows.
    pub(super) fn child(
        &self,
        state: &State,
        dir: impl AsFd,
        dir_id: FileId,
        name: &[u8],
    ) -> FileResult<Child> {
        if state.is_removed(dir_id) {
            return Err(Errno::NOENT.into());
        }
        let utf8 = std::str::from_utf8(name).ok();
        let entry = utf8.and_then(|name| state.entry(dir_id, name));
        let Some(entry) = entry else {
            return self.plain(dir, name, state.is_staged(dir_id), false);
        };
        match entry.shows.as_ref().ok_or(Errno::NOENT)? {
            Shown::Staged { flat, .. } => {
                let staging = state.staging()?;
                self.plain(&**staging.dir(), flat.as_bytes(), true, true)
            }
            Shown::Moved { path, stamp } => {
                let found = self.lower_entry(path)?;
                // Another program has put something else there, or moved it.
                if found.id() != stamp.id {
                    return Err(Errno::NOENT.into());
                }
                Ok(found)
            }
        }
    }

    /// Opens a path of the lower layer, on which there are no links.
    fn lower_entry(&self, path: &TreePath) -> FileResult<Child> {
        let mut here: Option<Child> = None;
        let above = path.above().split('/').filter(|name| !name.is_empty());
        for name in above.chain([path.name()]) {
            let found = match &here {
                None => self.plain(&*self.lower, name.as_bytes(), false, true),
                Some(above) => self.plain(&above.handle, name.as_bytes(), false, true),
            };
            here = Some(found?);
        }
        Ok(here.ok_or(Errno::NOENT)?)
    }

    /// Opens an entry of a directory of one layer.
    fn plain(
        &self,
        dir: impl AsFd,
        name: &[u8],
        is_staged: bool,
        is_redirect: bool,
    ) -> FileResult<Child> {
        let flags = PATH_ONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle: File = rustix::fs::openat(dir, name, flags, Mode::empty())?.into();
        let metadata = Metadata::from_file(&handle)?;
        if metadata.dev() != self.device && kernel_file_system(&handle)?.is_some() {
            return Err(FileError::Outside);
        }
        Ok(Child {
            handle,
            metadata,
            is_staged,
            is_redirect,
        })
    }

    /// Returns the path of an open file or directory of the lower layer.
    ///
    /// # Errors
    /// `ENOENT` if another program has removed it or moved it out of the workdir, `EILSEQ` if the path is not
    /// UTF-8.
    pub(super) fn path_in_lower(&self, file: impl AsFd) -> Result<String, Errno> {
        let file = file.as_fd();
        let path = path_of(file)?.into_bytes();
        if path.ends_with(b" (deleted)") && rustix::fs::fstat(file)?.st_nlink == 0 {
            return Err(Errno::NOENT);
        }
        let root = path_of(&*self.lower)?.into_bytes();
        let beneath = path.strip_prefix(&*root).ok_or(Errno::NOENT)?;
        let beneath = match beneath {
            b"" => beneath,
            beneath => beneath.strip_prefix(b"/").ok_or(Errno::NOENT)?,
        };
        let beneath = std::ffi::OsString::from_vec(beneath.to_vec());
        beneath.into_string().map_err(|_| Errno::ILSEQ)
    }

    /// Returns the path in the lower layer of the file to which a path from the workdir leads, if that is the file
    /// with this identity.
    pub(super) fn resolved(&self, path: &str, id: FileId) -> Result<String, Errno> {
        let found = open_path(&self.lower, path, OFlags::empty());
        let found = found.map_err(FileError::errno)?;
        if id_of(&found)? == id {
            self.path_in_lower(found)
        } else {
            Err(Errno::STALE)
        }
    }
}
