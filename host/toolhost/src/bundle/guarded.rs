//! What of a bundle no guest may change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;
use toolhost_sandbox::FileId;

use super::read::ids_beneath;

/// The files of a bundle, by name beneath its directory, and the folders they lie in.
///
/// Asked for identities whenever they are needed: an editor or a build replaces a file by another of
/// the same name, which is then what must be kept.
#[derive(Debug)]
pub(crate) struct Guarded {
    pub(super) dir: Arc<Dir>,
    /// The bundle's directory and all above it.
    pub(super) folders: Vec<FileId>,
    /// The manifest and every entry.
    pub(super) files: Vec<PathBuf>,
}

impl Guarded {
    /// Manifest, entries, what leads to them, and every folder above, as they are now. A file that
    /// is gone has no identity.
    pub(crate) fn ids(&self) -> Vec<FileId> {
        let of = |file: &PathBuf| ids_beneath(&self.dir, Path::new(file)).unwrap_or_default();
        let files = self.files.iter().flat_map(of);
        self.folders.iter().copied().chain(files).collect()
    }
}
