//! What a guest learns of a file or directory, and the times that it sets.

use cap_std::fs::{Dir, Metadata};
use rustix::fs::{OFlags, Timestamps};
use rustix::io::Errno;
use toolhost_contract::FileId;

use super::descriptor::Descriptor;
use super::files::CallFiles;
use crate::workdir::FileResult;

impl CallFiles {
    /// Reads the metadata of what a path leads to. A last symlink is followed unless `flags` has `O_NOFOLLOW`.
    pub fn metadata(&self, dir: &Dir, path: &str, flags: OFlags) -> FileResult<Metadata> {
        self.tree.metadata(dir, path, flags)
    }

    /// Returns how many names a file or directory has for the guest.
    pub fn links(&self, metadata: &Metadata) -> Result<u64, Errno> {
        self.tree.links(metadata)
    }

    /// Returns the identity by which the guest knows a file or directory.
    pub fn identity(&self, metadata: &Metadata) -> Result<FileId, Errno> {
        self.tree.identity(metadata)
    }

    /// Returns how many names an open file or directory has for the guest.
    pub fn open_links(&self, open: &Descriptor, metadata: &Metadata) -> Result<u64, Errno> {
        match open {
            Descriptor::File(file) => file.file.links(metadata),
            Descriptor::Dir { .. } => self.tree.links(metadata),
        }
    }

    /// Sets the times of an open file or directory.
    pub fn set_open_times(&self, open: &Descriptor, times: &Timestamps) -> FileResult<()> {
        self.check_writable()?;
        self.check_unprotected_now(open.identity()?)?;
        match open {
            Descriptor::File(file) => {
                file.set_times(times)?;
                self.record_changed(&*file.file.get());
            }
            Descriptor::Dir { dir, .. } => {
                self.tree.set_dir_times(dir, times)?;
                self.record_changed(dir);
            }
        }
        Ok(())
    }

    /// Sets the times of what a path leads to.
    pub fn set_times(
        &self,
        dir: &Dir,
        path: &str,
        flags: OFlags,
        times: &Timestamps,
    ) -> FileResult<()> {
        self.check_writable()?;
        let entry = self.tree.find(dir, path, flags)?;
        self.check_path_unprotected(path, &entry)?;
        let charge = |bytes| self.budget.stage(bytes);
        self.tree.set_times(&entry, times, &charge)?;
        self.record_changed(&entry.handle);
        Ok(())
    }

    /// Returns where the symlink of a path leads.
    ///
    /// # Errors
    /// `EPERM` for an absolute path, which would show a path of the host.
    pub fn read_link(&self, dir: &Dir, path: &str) -> FileResult<String> {
        let target = self.tree.find(dir, path, OFlags::NOFOLLOW)?.read_link()?;
        if target.starts_with(b"/") {
            return Err(Errno::PERM.into());
        }
        String::from_utf8(target).map_err(|_| Errno::ILSEQ.into())
    }
}
