//! The files that guests have open.

use std::fs::File;
use std::ops::Deref;
use std::sync::Arc;

use cap_primitives::fs::MetadataExt;
use cap_std::fs::Metadata;
use rustix::io::Errno;

use super::copy::Charge;
use super::open_lower::OpenLower;
use super::state::ReadPath;
use super::view::Overlay;
use crate::workdir::entry::Entry;
use crate::workdir::staging::Stamp;

/// An open file: of a direct call or staged, or of the lower layer of a transaction.
pub(crate) enum WorkdirFile {
    /// What is changed is this file.
    Own(File),
    /// What is changed is a copy.
    Merged(Arc<Overlay>, Arc<OpenLower>),
}

/// The system's file behind a [`WorkdirFile`], at the moment.
pub(crate) enum FileRef<'a> {
    Own(&'a File),
    Merged(Arc<File>),
}

impl Deref for FileRef<'_> {
    type Target = File;

    fn deref(&self) -> &File {
        match self {
            Self::Own(file) => file,
            Self::Merged(file) => file,
        }
    }
}

impl WorkdirFile {
    pub(crate) fn get(&self) -> FileRef<'_> {
        match self {
            Self::Own(file) => FileRef::Own(file),
            Self::Merged(_, file) => FileRef::Merged(file.current()),
        }
    }

    /// Makes sure that the file may be changed: copies the first `keep` bytes of a file of the lower layer,
    /// unless that was done.
    pub(crate) fn copy_up(&self, keep: u64, charge: Charge<'_>) -> Result<(), Errno> {
        match self {
            Self::Own(_) => Ok(()),
            Self::Merged(overlay, file) if file.is_staged() => {
                overlay.note_change();
                Ok(())
            }
            Self::Merged(overlay, file) => overlay.copy_open(file, keep, charge),
        }
    }

    /// Returns how many names the file has for its call.
    pub(crate) fn links(&self, metadata: &Metadata) -> Result<u64, Errno> {
        match self {
            Self::Merged(overlay, file) if !file.is_staged() => overlay.links(metadata),
            Self::Own(_) | Self::Merged(..) => Ok(metadata.nlink()),
        }
    }
}

impl Overlay {
    /// Takes a regular file that was opened for reading, and notes it for the commit; one that the guest writes
    /// also with the name at which a copy will be put. `given` is the path from the workdir by which the kernel
    /// found it.
    pub(crate) fn opened(
        self: &Arc<Self>,
        file: File,
        entry: &Entry,
        writes: bool,
        given: Option<&str>,
    ) -> Result<WorkdirFile, Errno> {
        if entry.is_staged() {
            if writes {
                // What is written to it later is not seen here.
                self.note_change();
            }
            return Ok(WorkdirFile::Own(file));
        }
        let id = entry.file_id();
        let home = writes.then(|| self.home(entry)).transpose()?;
        let given = given.filter(|path| is_plain(path));
        let is_noted = self.lock()?.opened.contains_key(&id);
        let real = match (is_noted, given) {
            (false, None) => Some(self.path_in_lower(&file)?),
            (true, _) | (_, Some(_)) => None,
        };
        let mut state = self.lock()?;
        if !is_noted {
            state.take_memory()?;
            let path = match (&real, given) {
                (None, Some(path)) => ReadPath::Opened(state.path(path)),
                (path, _) => ReadPath::Real(state.path(path.as_deref().unwrap_or_default())),
            };
            state.note_opened(id, path, Stamp::of(&entry.metadata));
        }
        let opened = Arc::new(OpenLower::new(file, id, writes));
        let known = state.files.entry(id).or_default();
        known.open.retain(|open| open.strong_count() > 0);
        known.open.push(Arc::downgrade(&opened));
        if home.is_some() {
            known.home = home;
        }
        Ok(WorkdirFile::Merged(Arc::clone(self), opened))
    }
}

/// Whether a path is made of names only, as the paths of the lower layer are.
fn is_plain(path: &str) -> bool {
    path.split('/').all(|name| !matches!(name, "" | "." | ".."))
}
