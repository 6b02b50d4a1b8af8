//! What of a bundle no guest may change.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use cap_std::fs::{Dir, MetadataExt};
use toolhost_sandbox::{FileId, Protected};

use super::read::{ReadError, way_beneath};

/// What compilers and bundlers look for by its name, in the folder of a source and in those above it:
/// some of it is code that they run.
const NOTICED: [&str; 10] = [
    ".cargo/config.toml",
    ".cargo/config",
    "rust-toolchain.toml",
    "rust-toolchain",
    "Cargo.toml",
    "Cargo.lock",
    "package.json",
    "tsconfig.json",
    "jsconfig.json",
    "node_modules",
];

/// The files of a bundle, by name beneath its directory, and the folders they lie in.
///
/// Looked up whenever that is needed: an editor or a build replaces a file by another of the same
/// name, which is then what must be kept.
#[derive(Debug)]
pub(crate) struct Guarded {
    dir: Arc<Dir>,
    /// The bundle's directory, all above it, and the links that led there.
    folders: Protected,
    /// The manifest, every entry, and what it was built of.
    files: Vec<PathBuf>,
    /// The folders that hold sources: what is made there may be built into a tool, or run by a build.
    closed: BTreeSet<PathBuf>,
    /// What was found of each file the last time it could be looked at.
    last: Mutex<HashMap<PathBuf, Protected>>,
}

impl Guarded {
    /// Guards these; what they are now is looked up for the times when it cannot be.
    pub(super) fn new(dir: Arc<Dir>, folders: Protected, files: Vec<PathBuf>) -> Self {
        let guarded = Self {
            dir,
            folders,
            files,
            closed: BTreeSet::new(),
            last: Mutex::default(),
        };
        // Where it fails, it fails again when a step opens, which then knows what to do.
        let _ = guarded.add_to(&mut Protected::default());
        guarded
    }

    /// Guards what entries were built of as well: these files beneath the directory, which is at
    /// `path`; the folders they lie in, where nothing may be made; and, there and in every folder above,
    /// what a compiler takes notice of by its name.
    pub(super) fn with_sources(mut self, files: Vec<PathBuf>, path: &Path) -> Self {
        if files.is_empty() {
            return self;
        }
        let folders = files.iter().filter_map(|file| file.parent());
        self.closed = folders.map(Path::to_owned).collect();
        let above: BTreeSet<&Path> = files
            .iter()
            .flat_map(|file| file.ancestors().skip(1))
            .filter(|folder| !is_package(folder))
            .collect();
        let noticed = above
            .iter()
            .flat_map(|folder| NOTICED.map(|name| folder.join(name)));
        self.files.extend(noticed);
        self.files.extend(files);
        // A path that leads nowhere any more has no folders above.
        let path = path.canonicalize().unwrap_or_default();
        for folder in path.ancestors().skip(1) {
            for name in NOTICED {
                // What is missing is kept by its name.
                let _ = self.folders.add_way(&folder.join(name));
            }
        }
        let _ = self.add_to(&mut Protected::default());
        self
    }

    /// Adds the manifest, the entries, what leads to them, and every folder above, as they are now; of
    /// a file that is gone, the name. Of one that cannot be looked at, what was last known of it.
    ///
    /// # Errors
    /// Where a file could never be looked at.
    pub(crate) fn add_to(&self, all: &mut Protected) -> Result<(), ReadError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(&self.folders);
        for file in &self.files {
            let mut met = Protected::default();
            let found = way_beneath(&self.dir, file, &mut met);
            all.extend(&met);
            match (found, last.get(file)) {
                (Ok(()) | Err(ReadError::NotFound), _) => {
                    last.insert(file.clone(), met);
                }
                (Err(error), Some(known)) => {
                    tracing::warn!(?file, %error, "a file of a bundle cannot be looked at: what it was is kept from tools");
                    all.extend(known);
                }
                (Err(error), None) => return Err(error),
            }
        }
        for folder in &self.closed {
            let folder = match folder.as_os_str().is_empty() {
                true => Path::new("."),
                false => folder,
            };
            // One that is gone is kept by its name.
            if let Ok(found) = self.dir.metadata(folder) {
                all.close(FileId {
                    device: found.dev(),
                    inode: found.ino(),
                });
            }
        }
        Ok(())
    }
}

/// Whether a folder is beneath that of a package manager, whose packages are looked up by their names.
fn is_package(folder: &Path) -> bool {
    let mut parts = folder.components();
    parts.any(|part| part.as_os_str() == "node_modules")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use cap_std::ambient_authority;
    use toolhost_sandbox::FileId;

    use super::*;

    fn ids(guarded: &Guarded) -> Result<Vec<FileId>, ReadError> {
        let mut all = Protected::default();
        guarded.add_to(&mut all)?;
        Ok(all.ids().collect())
    }

    fn guarded(dir: &Path) -> Guarded {
        let dir = Dir::open_ambient_dir(dir, ambient_authority()).unwrap();
        Guarded::new(
            Arc::new(dir),
            Protected::default(),
            vec!["tools/x.wasm".into()],
        )
    }

    fn id(path: &Path) -> FileId {
        use std::os::unix::fs::MetadataExt;
        let metadata = fs::symlink_metadata(path).unwrap();
        FileId {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    /// Replaces `tools` by a link that leads to itself, which nobody can look beneath.
    fn hide(dir: &Path) {
        fs::rename(dir.join("tools"), dir.join("hidden")).unwrap();
        symlink("tools", dir.join("tools")).unwrap();
    }

    fn furnished() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("tools")).unwrap();
        fs::write(dir.path().join("tools/x.wasm"), "x").unwrap();
        dir
    }

    #[test]
    fn of_a_file_that_cannot_be_looked_at_what_was_known_is_kept() {
        let dir = furnished();
        let guarded = guarded(dir.path());
        hide(dir.path());
        let ids = ids(&guarded).unwrap();
        for kept in ["hidden", "hidden/x.wasm", "tools"] {
            assert!(ids.contains(&id(&dir.path().join(kept))), "{kept}");
        }
    }

    #[test]
    fn a_file_that_could_never_be_looked_at_is_an_error() {
        let dir = furnished();
        hide(dir.path());
        assert!(ids(&guarded(dir.path())).is_err());
    }

    #[test]
    fn of_a_file_that_is_gone_the_way_to_it_is_kept() {
        let dir = furnished();
        fs::remove_file(dir.path().join("tools/x.wasm")).unwrap();
        let tools = id(&dir.path().join("tools"));
        assert_eq!(ids(&guarded(dir.path())).unwrap(), [tools]);
    }
}
