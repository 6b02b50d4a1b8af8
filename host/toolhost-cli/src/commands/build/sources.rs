//! The files from which the components of a bundle are built.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use toolhost_manifest::bundle::OpenBundle;
use toolhost_manifest::bundle::built::{SOURCE_DEPTH_MAX, Stamp};

use crate::files;

/// Most files of the folders with sources.
const FILES_MAX: usize = 20_000;

/// Largest component whose stamp is read, in bytes.
const COMPONENT_BYTES_MAX: u64 = 256 << 20;

/// Folders that hold no sources, besides those whose names begin with a dot.
const NO_SOURCES: [&str; 3] = ["target", "node_modules", "__pycache__"];

/// Which files are sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sources {
    /// The entries, the files that components were built from, and those that would have been if they existed.
    Built,
    /// Also all others in the folders of the entries.
    All,
}

/// Returns the paths of the sources of a bundle.
pub(crate) fn sources(open: &OpenBundle, which: Sources) -> BTreeSet<PathBuf> {
    let mut paths = BTreeSet::new();
    for source in open.source_entries() {
        let entry = open.dir().join(&source.tool.spec.entry);
        let component = open.dir().join(&source.component);
        let component = files::read("the component", &component, COMPONENT_BYTES_MAX);
        let stamp = component.ok().and_then(|bytes| Stamp::read(&bytes));
        let listed = stamp.iter().flat_map(|stamp| &stamp.sources);
        paths.extend(listed.map(|source| open.dir().join(&source.path)));
        let absent = stamp.iter().flat_map(|stamp| &stamp.absent).flatten();
        paths.extend(absent.map(|path| open.dir().join(path)));
        if which == Sources::All {
            let folder = entry.parent().unwrap_or(open.dir());
            add_folder(folder, SOURCE_DEPTH_MAX, &mut paths);
        }
        paths.insert(entry);
    }
    paths
}

/// Adds the files of a folder, and links in it, without those that builds and editors make.
fn add_folder(folder: &Path, depth: usize, paths: &mut BTreeSet<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // Editors write beside a file, and rename.
        if name.starts_with('.') || name.ends_with('~') || paths.len() >= FILES_MAX {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => {
                if depth > 0 && !NO_SOURCES.contains(&name.as_ref()) {
                    add_folder(&entry.path(), depth - 1, paths);
                }
            }
            Ok(_) => drop(paths.insert(entry.path())),
            Err(_) => {}
        }
    }
}
