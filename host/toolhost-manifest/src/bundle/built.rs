//! Components built from source: their paths, and the stamp that lists their sources.
//!
//! `toolhost build` writes them, and the loader reads them. The stamp is a custom section at the end of
//! the component, so that one rename replaces both, and a component never has the stamp of another.

mod section;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use cap_std::fs::Dir;
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toolhost_contract::ResourceName;

use super::read::{ReadError, read_beneath};

/// The folder of built components, in the bundle's directory.
pub const FOLDER: &str = ".toolhost";

/// Maximum number of sources of one component.
pub const SOURCES_MAX: usize = 10_000;

/// Maximum bytes of sources that are read for one bundle, for all its components together. The bundle
/// may be untrusted.
pub const SOURCE_BYTES_MAX: u64 = 256 << 20;

/// Maximum size of a source, in bytes: each is read whole.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Maximum number of components of a source's path from the bundle's directory.
pub const SOURCE_DEPTH_MAX: usize = 32;

/// Bytes of the budget that the lookup of a file costs, whatever its size.
const PER_FILE: u64 = 8 << 10;

/// Bytes of the budget that a folder costs: it is checked after each change that a tool makes.
const PER_FOLDER: u64 = 128 << 10;

/// The language of a source entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Language {
    /// A Cargo package: the entry is its `Cargo.toml`.
    Rust,
    /// A module in TypeScript or JavaScript that exports `handlers`.
    TypeScript,
    /// A module in Python with `handlers`.
    Python,
}

impl Language {
    /// The language that an entry is written in; none where it is no source that can be built.
    #[must_use]
    pub fn of(entry: &str) -> Option<Self> {
        let path = Path::new(entry);
        if path.file_name().is_some_and(|name| name == "Cargo.toml") {
            return Some(Self::Rust);
        }
        match path.extension()?.to_str()? {
            "ts" | "tsx" | "mts" | "js" | "jsx" | "mjs" => Some(Self::TypeScript),
            "py" => Some(Self::Python),
            _ => None,
        }
    }
}

/// Where the component of a Tool is, beneath the bundle's directory.
#[must_use]
pub fn component_path(tool: &ResourceName) -> PathBuf {
    Path::new(FOLDER).join(format!("{tool}.wasm"))
}

/// A file that a component was built of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its path from the bundle's directory. One that begins with `..` lies outside: only who builds
    /// looks at it.
    pub path: String,
    /// SHA-256 of its bytes, in hexadecimal digits.
    pub sha256: String,
}

impl Source {
    /// Says of a file what it is now.
    #[must_use]
    pub fn new(path: impl Into<String>, bytes: &[u8]) -> Self {
        Self {
            path: path.into(),
            sha256: digest(bytes),
        }
    }

    /// Whether it lies beneath the bundle's directory, as far as its path says.
    #[must_use]
    pub fn is_inside(&self) -> bool {
        let path = Path::new(&self.path);
        !path.is_absolute() && !path.starts_with("..")
    }
}

/// What a component was built of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// `spec.entry`, as the manifest says it.
    pub entry: String,
    /// What built it, and how: of meaning to the builder alone. A component of an older kit is as good
    /// as it was.
    pub kit: String,
    /// The files.
    pub sources: Vec<Source>,
}

impl Stamp {
    /// Stamps a component.
    ///
    /// # Errors
    /// Where the stamp cannot be written as JSON.
    pub fn put_on(&self, component: &mut Vec<u8>) -> serde_json::Result<()> {
        section::append(component, &serde_json::to_vec(self)?);
        Ok(())
    }

    /// Reads the stamp of a component; none where it has none that can be read.
    #[must_use]
    pub fn read(component: &[u8]) -> Option<Self> {
        let stamp: Self = serde_json::from_slice(section::find(component)?).ok()?;
        (stamp.sources.len() <= SOURCES_MAX).then_some(stamp)
    }

    /// Whether a loader compares so many sources, in so many folders and as deep; their size aside.
    #[must_use]
    pub fn is_compared(&self) -> bool {
        let budget = Budget::default();
        self.sources.len() <= SOURCES_MAX && self.look_for(&budget).is_ok() && budget.left() > 0
    }

    fn inside(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(|source| source.is_inside())
    }

    /// Takes from the budget what it costs to look for the sources.
    fn look_for(&self, budget: &Budget) -> Result<(), Stale> {
        for source in self.inside() {
            let path = Path::new(&source.path);
            if path.components().count() > SOURCE_DEPTH_MAX {
                return Err(Stale::TooMuch);
            }
            budget.look_for(path);
        }
        Ok(())
    }

    /// Compares the sources beneath the bundle's directory with what is there now.
    pub(super) fn check(&self, dir: &Dir, budget: &Budget) -> Result<(), Stale> {
        self.look_for(budget)?;
        for source in self.inside() {
            check_source(source, dir, Path::new(&source.path), budget)?;
        }
        Ok(())
    }
}

/// Compares one source with what is at `path` beneath `dir`.
pub(super) fn check_source(
    source: &Source,
    dir: &Dir,
    path: &Path,
    budget: &Budget,
) -> Result<(), Stale> {
    if budget.left() == 0 {
        return Err(Stale::TooMuch);
    }
    let bytes = match read_beneath(dir, path, budget.left().min(FILE_BYTES_MAX)) {
        Ok(bytes) => bytes,
        Err(ReadError::TooLarge { .. }) => return Err(Stale::TooMuch),
        Err(error) => {
            let path = source.path.clone();
            return Err(Stale::Unreadable {
                path,
                source: error,
            });
        }
    };
    budget.take(bytes.len() as u64);
    if digest(&bytes) == source.sha256 {
        return Ok(());
    }
    let path = source.path.clone();
    Err(Stale::Changed { path })
}

/// SHA-256 of files and their names, in hexadecimal digits: another wherever one of them is.
pub fn digest_of<'f>(files: impl IntoIterator<Item = (&'f str, &'f [u8])>) -> String {
    let mut all = Sha256::new();
    for (name, bytes) in files {
        for part in [name.as_bytes(), bytes] {
            all.update((part.len() as u64).to_le_bytes());
            all.update(part);
        }
    }
    HEXLOWER.encode(&all.finalize())
}

fn digest(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// How much more of a bundle's sources is read.
#[derive(Debug)]
pub(super) struct Budget {
    left: AtomicU64,
    /// Those that were looked for.
    folders: Mutex<HashSet<PathBuf>>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            left: AtomicU64::new(SOURCE_BYTES_MAX),
            folders: Mutex::default(),
        }
    }
}

impl Budget {
    fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Takes what it costs to look for a file, and for the folders above it that are new.
    fn look_for(&self, path: &Path) {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        // Where one is known, so are those above.
        let above = path.ancestors().skip(1);
        let new = above.take_while(|folder| folders.insert(folder.to_path_buf()));
        let new = new.count() as u64;
        self.take(PER_FILE.saturating_add(new.saturating_mul(PER_FOLDER)));
    }

    fn take(&self, bytes: u64) {
        let less = |left: u64| left.saturating_sub(bytes);
        let _ = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                Some(less(left))
            });
    }
}

/// Why what is built of a source cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Stale {
    /// There is no component.
    #[error("it has not been built")]
    NotBuilt,
    /// There is one that `toolhost build` did not make.
    #[error("the component was not made by `toolhost build`")]
    NotStamped,
    /// It was built of another entry.
    #[error("it was built when the entry was another")]
    OtherEntry,
    /// A source is not what it was.
    #[error("{path} has changed since it was built")]
    Changed {
        /// The file.
        path: String,
    },
    /// A source cannot be read any more.
    #[error("{path}, which it was built of, cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why.
        #[source]
        source: ReadError,
    },
    /// The bundle's sources are more than are read.
    #[error("the sources of the bundle's tools are too many, too large or too deep to be compared")]
    TooMuch,
    /// The component is there, and cannot be read.
    #[error("the component {path}: {source}")]
    Component {
        /// The component.
        path: String,
        /// Why.
        #[source]
        source: ReadError,
    },
}

#[cfg(test)]
mod tests;
