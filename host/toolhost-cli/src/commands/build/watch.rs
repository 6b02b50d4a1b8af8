//! Notices when the sources of a bundle change.
//!
//! Looks at the metadata of the files five times a second, so that it works on every file system.

use std::collections::BTreeMap;
use std::fs::{Metadata, metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use toolhost::LoadError;
use toolhost::manifest::YamlSource;
use toolhost_manifest::bundle::MANIFEST;
use toolhost_manifest::bundle::built::FOLDER;

use super::sources::{Sources, sources};
use crate::base::Base;
use crate::files::spawn_blocking;

/// Time between two looks at the files.
const INTERVAL: Duration = Duration::from_millis(200);

/// How long the files must stay as they are before they are built.
const SETTLED: Duration = Duration::from_millis(50);

/// Longest wait until the files have settled.
const SETTLING_MAX: Duration = Duration::from_secs(3);

/// The file that cargo writes while it builds.
const CARGO_LOCK: &str = "Cargo.lock";

/// Watches the sources of a bundle from one build to the next.
#[derive(Debug)]
pub(super) struct SourceWatch<'a> {
    bundle: &'a Path,
    base: &'a Arc<Base>,
    /// The files before the build.
    before: Files,
}

impl<'a> SourceWatch<'a> {
    /// Looks at the files. Do this before the build, so that no change is missed.
    pub(super) async fn new(bundle: &'a Path, base: &'a Arc<Base>) -> anyhow::Result<Self> {
        let before = look(bundle, base).await?;
        Ok(Self {
            bundle,
            base,
            before,
        })
    }

    /// Waits, after the build, until a file differs from the one that was built.
    pub(super) async fn changed(self) -> anyhow::Result<()> {
        let baseline = baseline(self.before, look(self.bundle, self.base).await?);
        changed(self.bundle, &baseline, self.base).await
    }
}

/// The states of files. A file that does not exist has none.
type Files = BTreeMap<PathBuf, FileState>;

/// What changes when a file does.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FileState {
    modified: Option<SystemTime>,
    bytes: u64,
    inode: u64,
}

impl FileState {
    fn of(metadata: &Metadata) -> Self {
        Self {
            modified: metadata.modified().ok(),
            bytes: metadata.len(),
            inode: metadata.ino(),
        }
    }
}

/// Waits until a file differs from the baseline, and the files have settled.
async fn changed(bundle: &Path, baseline: &Files, base: &Arc<Base>) -> anyhow::Result<()> {
    loop {
        tokio::time::sleep(INTERVAL).await;
        let mut now = look(bundle, base).await?;
        if now == *baseline {
            continue;
        }
        let started = Instant::now();
        while started.elapsed() < SETTLING_MAX {
            tokio::time::sleep(SETTLED).await;
            let next = look(bundle, base).await?;
            if next == now {
                break;
            }
            now = next;
        }
        return Ok(());
    }
}

/// Returns the files that were built, from looks before and after the build. A file that was found only
/// afterwards, such as a source outside the bundle, is as it was then.
fn baseline(mut before: Files, after: Files) -> Files {
    for (path, state) in after {
        let is_written = path.file_name().is_some_and(|name| name == CARGO_LOCK);
        match before.get(&path) {
            Some(_) if !is_written => {}
            Some(_) | None => drop(before.insert(path, state)),
        }
    }
    before
}

async fn look(bundle: &Path, base: &Arc<Base>) -> anyhow::Result<Files> {
    let (bundle, base) = (bundle.to_owned(), base.clone());
    spawn_blocking(move || Ok(files_of(&bundle, &base))).await
}

/// Looks at the manifest, the folders of the entries, and the sources of the components that were built.
fn files_of(bundle: &Path, base: &Base) -> Files {
    let mut files = Files::new();
    add(&mut files, bundle.to_owned());
    add(&mut files, bundle.join(MANIFEST));
    let open = match base.open(bundle) {
        Ok(open) => open,
        Err(LoadError::Invalid { sources, .. }) => {
            // One of the bundles that it includes may have the error.
            let names = sources.iter().map(YamlSource::name);
            names.for_each(|name| add(&mut files, PathBuf::from(name)));
            return files;
        }
        Err(_) => return files,
    };
    for path in open.paths() {
        // The build writes the components in this folder.
        let is_built = path.components().any(|part| part.as_os_str() == FOLDER);
        if !is_built {
            add(&mut files, path);
        }
    }
    for path in sources(&open, Sources::All) {
        add(&mut files, path);
    }
    files
}

/// Adds a file. Follows links: the target is what is built.
fn add(files: &mut Files, path: PathBuf) {
    if let Ok(metadata) = metadata(&path)
        && metadata.is_file()
    {
        files.insert(path, FileState::of(&metadata));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn bundle() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let manifest = "{apiVersion: goondan.ai/v1, kind: Tool, metadata: {name: notes}, \
                        spec: {entry: ./src/tool.py, exports: [{name: count}]}}";
        fs::write(dir.path().join(MANIFEST), manifest).unwrap();
        for folder in [
            "src/own/__pycache__",
            "src/node_modules",
            "other",
            "src/.venv",
        ] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        fs::write(dir.path().join("src/tool.py"), "handlers = {}").unwrap();
        dir
    }

    #[test]
    fn changes_of_the_manifest_and_of_sources_are_noticed_and_others_are_not() {
        let dir = bundle();
        for (path, is_source) in [
            (MANIFEST, true),
            ("src/tool.py", true),
            ("src/own/new.py", true),
            ("src/requirements.txt", true),
            ("src/own/__pycache__/x.pyc", false),
            ("src/node_modules/x.js", false),
            ("src/.venv/x.py", false),
            ("src/.tool.py.swp", false),
            ("src/tool.py~", false),
            ("other/x.py", false),
        ] {
            let before = files_of(dir.path(), &Base::default());
            let path = dir.path().join(path);
            let mut text = fs::read_to_string(&path).unwrap_or_default();
            text.push_str("\n# more");
            fs::write(&path, text).unwrap();
            assert_eq!(
                files_of(dir.path(), &Base::default()) != before,
                is_source,
                "{path:?}"
            );
        }
    }

    #[test]
    fn an_included_manifest_is_watched_also_while_it_has_an_error() {
        let (top, included) = (tempfile::tempdir().unwrap(), bundle());
        let inner = top.path().join("inner");
        fs::rename(included.path(), &inner).unwrap();
        fs::write(top.path().join(MANIFEST), "include: [./inner]").unwrap();
        for text in ["kind: [", "kind: Nothing", "{}"] {
            let before = files_of(top.path(), &Base::default());
            fs::write(inner.join(MANIFEST), text).unwrap();
            assert_ne!(files_of(top.path(), &Base::default()), before, "{text}");
        }
    }

    #[test]
    fn a_removed_source_is_a_change() {
        let dir = bundle();
        let before = files_of(dir.path(), &Base::default());
        fs::remove_file(dir.path().join("src/tool.py")).unwrap();
        assert_ne!(
            baseline(before, files_of(dir.path(), &Base::default())),
            files_of(dir.path(), &Base::default())
        );
    }

    #[test]
    fn the_lock_file_of_the_build_itself_is_no_change() {
        let state = |bytes| FileState {
            modified: None,
            bytes,
            inode: 0,
        };
        let files = |list: &[(&str, u64)]| -> Files {
            let files = list.iter();
            files
                .map(|(path, bytes)| (PathBuf::from(path), state(*bytes)))
                .collect()
        };
        let before = files(&[("a/lib.rs", 1), ("a/Cargo.lock", 1)]);
        let after = files(&[("a/lib.rs", 2), ("a/Cargo.lock", 2), ("../other.rs", 2)]);
        let expected = files(&[("a/lib.rs", 1), ("a/Cargo.lock", 2), ("../other.rs", 2)]);
        assert_eq!(baseline(before, after), expected);
    }
}
