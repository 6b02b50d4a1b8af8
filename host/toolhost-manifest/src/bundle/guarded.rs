//! Protects the files of a bundle against changes by guests.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cap_primitives::fs::MetadataExt;
use cap_std::fs::Dir;
use toolhost_contract::{FileId, Protected};
use toolhost_files::resolve::{Folder, name_beneath, resolve};
use toolhost_files::{Links, ReadError};

use super::cases;
use super::host_files::near_sources;
use super::manifests::MANIFEST;
use crate::lock::LOCK;

/// The files of a bundle, by path in its directory, and their folders.
///
/// The files are looked up again each time: an editor or a build may replace a file by another of the
/// same name, and then the new one must be protected.
#[derive(Debug)]
pub struct WriteGuard {
    dir: Arc<Dir>,
    /// The bundle's directory, all folders above it, and the links on its path.
    folders: Protected,
    /// The manifest, all entries and their sources, and what builds look up by name near the sources.
    files: Vec<(PathBuf, Lookup)>,
    /// The folders of sources. No file may be created there: a build could compile or run it.
    closed: BTreeSet<PathBuf>,
    /// The folders of manifests, beside which case files may lie.
    bundles: BTreeSet<PathBuf>,
    looked: Mutex<Looked>,
}

/// The files that a bundle names, by path in its directory.
#[derive(Debug, Default)]
pub(super) struct BundleFiles {
    pub(super) manifests: Vec<PathBuf>,
    pub(super) entries: Vec<PathBuf>,
    pub(super) sources: Vec<PathBuf>,
}

/// Whether the lookup of a file may fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lookup {
    MustSucceed,
    /// The file may link to any place.
    MayFail,
}

/// The result of the last lookup.
#[derive(Debug, Default)]
struct Looked {
    /// The last known state of each file, and of the path to each folder. It counts while a lookup fails.
    files: HashMap<PathBuf, Protected>,
    folders: HashMap<PathBuf, Protected>,
    /// The whole result, when the lookup ended, and how long it took.
    all: Option<(Arc<Protected>, Instant, Duration)>,
}

/// Maximum number of files that are looked up each time, which takes a few milliseconds. If there are
/// more, a result is reused for `HOLDS_FOR` times as long as the lookup took, so that lookups take only
/// a part of the time.
const FEW: usize = 2_000;

const HOLDS_FOR: u32 = 4;

/// Maximum number of path components and links that one lookup follows.
const STEPS_MAX: usize = 200_000;

impl WriteGuard {
    /// Protects `files` of the directory at `path`. `folders` are the directory and all above it. Also
    /// protects the folders of sources, where no file may be created; there and in every folder above, the
    /// names of [`near_sources`]; and, beside each manifest, the case files and the names [`MANIFEST`] and
    /// [`LOCK`]. Looks them up once, for the times when a lookup fails.
    pub(super) fn new(
        dir: Arc<Dir>,
        path: &Path,
        mut folders: Protected,
        files: BundleFiles,
    ) -> Self {
        let BundleFiles {
            manifests,
            entries,
            sources,
        } = files;
        let bundles = manifests.iter().filter_map(|file| file.parent());
        let bundles: BTreeSet<PathBuf> = bundles.map(Path::to_owned).collect();
        let closed = sources.iter().filter_map(|file| file.parent());
        let closed = closed.map(Path::to_owned).collect();
        let folders_above = sources.iter().flat_map(|file| file.ancestors().skip(1));
        let folders_above: BTreeSet<&Path> =
            folders_above.filter(|folder| !is_package(folder)).collect();
        let looked_up = folders_above.iter().flat_map(|folder| near_sources(folder));
        let looked_up: Vec<PathBuf> = looked_up.collect();
        if !sources.is_empty() {
            // If the path no longer exists, there are no folders above to protect.
            let path = path.canonicalize().unwrap_or_default();
            let folders_above = path.ancestors().skip(1);
            // Where a file is missing, its name is protected.
            folders.add_path_chains(folders_above.flat_map(near_sources));
        }
        // Commands read the manifest of this name if they are passed the directory. A tool that could change the
        // lock could accept its own changes.
        let named = |folder: &PathBuf| [MANIFEST, LOCK].map(|name| folder.join(name));
        let others = bundles.iter().flat_map(named);
        let others: Vec<PathBuf> = others.filter(|path| !manifests.contains(path)).collect();
        let others = others.into_iter().chain(looked_up);
        let others = others.map(|path| (path, Lookup::MayFail));
        let files = manifests.into_iter().chain(entries).chain(sources);
        let files = files.map(|path| (path, Lookup::MustSucceed)).chain(others);
        let guarded = Self {
            dir,
            folders,
            files: files.collect(),
            closed,
            bundles,
            looked: Mutex::default(),
        };
        // An error is reported when a step opens and looks them up again.
        let _ = guarded.now();
        guarded
    }

    /// Looks up the manifest, the entries, the links and folders on their paths, and every folder above.
    /// The name of a missing file is protected; if a lookup fails, the last known state.
    ///
    /// # Errors
    /// [`ReadError`] if a lookup fails for a file that was never looked up before.
    pub fn now(&self) -> Result<Arc<Protected>, ReadError> {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((protected, at, took)) = &looked.all
            && self.files.len() > FEW
            && at.elapsed() < *took * HOLDS_FOR
        {
            return Ok(Arc::clone(protected));
        }
        let started = Instant::now();
        let protected = Arc::new(self.look(&mut looked)?);
        let now = Instant::now();
        looked.all = Some((Arc::clone(&protected), now, now - started));
        Ok(protected)
    }

    fn look(&self, looked: &mut Looked) -> Result<Protected, ReadError> {
        let mut protected = self.folders.clone();
        let mut steps = STEPS_MAX;
        let mut folders: HashMap<&Path, Option<Folder>> = HashMap::new();
        for (file, lookup) in &self.files {
            let (Some(path), Some(name)) = (file.parent(), file.file_name()) else {
                return Err(ReadError::Outside);
            };
            if !folders.contains_key(path) {
                let mut on_path = Protected::default();
                let folder = resolve(&self.dir, path, Links::Follow, &mut on_path, &mut steps);
                let last = &mut looked.folders;
                folders.insert(path, remember(path, folder, on_path, last, &mut protected)?);
            }
            let mut on_path = Protected::default();
            let lookup_result = match folders.get(path) {
                Some(Some(folder)) => {
                    name_beneath(&self.dir, folder, name, &mut on_path, &mut steps)
                }
                // Its folder is missing, or its lookup failed.
                _ => match looked.files.get(file) {
                    Some(last) => {
                        protected.extend(last);
                        continue;
                    }
                    None => Err(ReadError::NotFound),
                },
            };
            // The name is protected wherever it links to.
            let result = match lookup {
                Lookup::MustSucceed => lookup_result,
                Lookup::MayFail => Ok(()),
            };
            remember(file, result, on_path, &mut looked.files, &mut protected)?;
        }
        for bundle in &self.bundles {
            cases::protect(&self.dir, bundle, &mut protected, &mut steps)?;
        }
        for folder in &self.closed {
            let folder = if folder.as_os_str().is_empty() {
                Path::new(".")
            } else {
                folder
            };
            // If it is missing, its name is protected.
            if let Ok(metadata) = self.dir.metadata(folder) {
                protected.close(FileId {
                    device: metadata.dev(),
                    inode: metadata.ino(),
                });
            }
        }
        Ok(protected)
    }
}

/// Protects the files and links on the path of a lookup; if the lookup failed, those of the last one as well.
/// Returns `None` if the file is missing or its lookup failed.
fn remember<T>(
    path: &Path,
    result: Result<T, ReadError>,
    on_path: Protected,
    last: &mut HashMap<PathBuf, Protected>,
    protected: &mut Protected,
) -> Result<Option<T>, ReadError> {
    protected.extend(&on_path);
    let before = last.get_mut(path);
    let entry = match result {
        Ok(entry) => Some(entry),
        Err(ReadError::NotFound) => None,
        Err(error) => {
            let Some(before) = before else {
                return Err(error);
            };
            tracing::warn!(path = %path.display(), %error, "a file of a bundle could not be looked up: its last known state stays protected");
            protected.extend(before);
            return Ok(None);
        }
    };
    match before {
        Some(before) => *before = on_path,
        None => drop(last.insert(path.to_owned(), on_path)),
    }
    Ok(entry)
}

/// Returns whether a folder is in `node_modules`, where packages are found by name.
fn is_package(folder: &Path) -> bool {
    let mut parts = folder.components();
    parts.any(|part| part.as_os_str() == "node_modules")
}

/// The ids of the protected files.
#[cfg(test)]
pub(super) fn ids(guarded: &WriteGuard) -> Result<Vec<FileId>, ReadError> {
    Ok(guarded.now()?.ids().collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use cap_std::ambient_authority;
    use toolhost_contract::{FileId, NameChange};

    use super::*;
    use toolhost_files::read_beneath;

    fn guarded(dir: &Path) -> WriteGuard {
        with_sources(dir, Vec::new())
    }

    fn with_sources(path: &Path, sources: Vec<PathBuf>) -> WriteGuard {
        let dir = Dir::open_ambient_dir(path, ambient_authority()).unwrap();
        let files = BundleFiles {
            manifests: vec!["bundle.yaml".into(), "sub/bundle.yaml".into()],
            entries: vec!["tools/x.wasm".into()],
            sources,
        };
        WriteGuard::new(Arc::new(dir), path, Protected::default(), files)
    }

    fn id(path: &Path) -> FileId {
        use std::os::unix::fs::MetadataExt;
        let metadata = fs::symlink_metadata(path).unwrap();
        FileId {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    /// Replaces `tools` by a link to itself, so that lookups beneath it fail.
    fn hide(dir: &Path) {
        fs::rename(dir.join("tools"), dir.join("hidden")).unwrap();
        symlink("tools", dir.join("tools")).unwrap();
    }

    fn bundle_dir() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("tools")).unwrap();
        fs::write(dir.path().join("tools/x.wasm"), "x").unwrap();
        for folder in ["", "sub"] {
            let folder = dir.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("bundle.yaml"), "x").unwrap();
        }
        dir
    }

    #[test]
    fn the_last_known_state_of_a_file_stays_protected_if_a_lookup_fails() {
        let dir = bundle_dir();
        let guarded = guarded(dir.path());
        hide(dir.path());
        let ids = ids(&guarded).unwrap();
        for kept in ["hidden", "hidden/x.wasm", "tools"] {
            assert!(ids.contains(&id(&dir.path().join(kept))), "{kept}");
        }
    }

    #[test]
    fn a_file_that_was_never_looked_up_is_an_error_if_the_lookup_fails() {
        let dir = bundle_dir();
        hide(dir.path());
        assert!(ids(&guarded(dir.path())).is_err());
    }

    /// What guests may not do in the directory of a bundle.
    fn forbids(dir: &Path, folder: &str, name: &str, change: NameChange) -> bool {
        let guarded = guarded(dir).now().unwrap();
        guarded.forbids(id(&dir.join(folder)), name, change)
    }

    #[test]
    fn no_case_file_and_no_folder_of_case_files_can_be_planted() {
        use NameChange::{File, FolderOrLink, NewFolder, Remove};
        let dir = bundle_dir();
        let path = dir.path();
        let check = |folder: &str, name: &str, change, expected| {
            let got = forbids(path, folder, name, change);
            assert_eq!(got, expected, "{folder}/{name} {change:?}");
        };
        // Without a folder of case files.
        for (change, expected) in [
            (NewFolder, false),
            (FolderOrLink, true),
            (File, true),
            (Remove, true),
        ] {
            check("", "tests", change, expected);
        }
        check("tools", "tests", FolderOrLink, false);
        check("sub", "tests", FolderOrLink, true);
        check("tools", "x.yaml", File, false);
        fs::create_dir_all(path.join("tests/other/deep")).unwrap();
        fs::write(path.join("tests/a.yaml"), "").unwrap();
        fs::write(path.join("tests/other/b.yml"), "").unwrap();
        for folder in ["tests", "tests/other"] {
            for name in ["a.yaml", "new.yaml", "new.yml", "NEW.YAML"] {
                for change in [File, FolderOrLink, Remove] {
                    check(folder, name, change, true);
                }
            }
            check(folder, "test_a.py", File, false);
            check(folder, "new", NewFolder, false);
        }
        check("tests", "new", FolderOrLink, true);
        check("tests/other/deep", "x.yaml", File, false);
        check("", "tests", Remove, true);
        let guarded_ids = ids(&guarded(path)).unwrap();
        for file in ["tests", "tests/a.yaml", "tests/other/b.yml"] {
            assert!(guarded_ids.contains(&id(&path.join(file))), "{file}");
        }
        // The folder may be a link to another one of the bundle.
        fs::rename(path.join("tests"), path.join("cases")).unwrap();
        symlink("cases", path.join("tests")).unwrap();
        check("cases", "new.yaml", File, true);
        check("", "tests", Remove, true);
    }

    #[test]
    fn the_manifest_that_commands_read_of_a_directory_cannot_be_planted() {
        let dir = bundle_dir();
        assert!(forbids(dir.path(), "", MANIFEST, NameChange::File));
        assert!(forbids(dir.path(), "sub", MANIFEST, NameChange::File));
        assert!(!forbids(dir.path(), "", "notes.yaml", NameChange::File));
    }

    #[test]
    fn the_lock_of_a_bundle_cannot_be_planted_replaced_or_removed() {
        use NameChange::{File, FolderOrLink, Remove};
        let dir = bundle_dir();
        let path = dir.path();
        for change in [File, FolderOrLink, Remove] {
            assert!(forbids(path, "", LOCK, change), "{change:?}");
            assert!(forbids(path, "sub", LOCK, change), "{change:?}");
        }
        assert!(!forbids(path, "tools", LOCK, File));
        fs::write(path.join(LOCK), "").unwrap();
        assert!(forbids(path, "", LOCK, Remove));
        let guarded_ids = ids(&guarded(path)).unwrap();
        assert!(guarded_ids.contains(&id(&path.join(LOCK))));
    }

    #[test]
    fn the_folder_of_a_missing_file_is_protected() {
        let dir = bundle_dir();
        fs::remove_file(dir.path().join("tools/x.wasm")).unwrap();
        let guarded_ids = ids(&guarded(dir.path())).unwrap();
        assert!(guarded_ids.contains(&id(&dir.path().join("tools"))));
    }

    #[test]
    fn many_files_are_looked_up_for_only_a_part_of_the_time() {
        let dir = bundle_dir();
        let mut guarded = guarded(dir.path());
        let holds = |guarded: &WriteGuard, took| {
            let protected = Arc::new(Protected::default());
            let all = Some((Arc::clone(&protected), Instant::now(), took));
            guarded.looked.lock().unwrap().all = all;
            Arc::ptr_eq(&guarded.now().unwrap(), &protected)
        };
        let hour = Duration::from_secs(3_600);
        assert!(!holds(&guarded, hour), "of few files, never");
        let files = (0..=FEW).map(|n| format!("tools/{n}.ts").into());
        guarded.files = files.map(|path| (path, Lookup::MustSucceed)).collect();
        assert!(holds(&guarded, hour));
        assert!(!holds(&guarded, Duration::ZERO));
    }

    #[test]
    fn links_with_names_that_compilers_read_may_lead_anywhere() {
        let dir = bundle_dir();
        symlink("/nowhere", dir.path().join("node_modules")).unwrap();
        symlink("Cargo.toml", dir.path().join("Cargo.toml")).unwrap();
        let source = vec![PathBuf::from("tools/x.wasm")];
        let guarded = with_sources(dir.path(), source);
        let guarded_ids = ids(&guarded).unwrap();
        for name in ["node_modules", "Cargo.toml", "tools/x.wasm"] {
            assert!(guarded_ids.contains(&id(&dir.path().join(name))), "{name}");
        }
    }

    #[test]
    fn the_number_of_links_on_a_path_is_limited() {
        let dir = bundle_dir();
        // Each leads to the one before, back and forth: far more steps than links.
        let there_and_back = "tools/../".repeat(100);
        symlink("tools/x.wasm", dir.path().join("0")).unwrap();
        for n in 1..=20 {
            let to = format!("{there_and_back}{}", n - 1);
            symlink(to, dir.path().join(n.to_string())).unwrap();
        }
        let directory = Dir::open_ambient_dir(dir.path(), ambient_authority()).unwrap();
        let read = |name: &str| read_beneath(&directory, Path::new(name), Links::Follow, 10);
        assert_eq!(read("1").unwrap(), b"x");
        assert!(matches!(read("20"), Err(ReadError::TooFar)));
    }
}
