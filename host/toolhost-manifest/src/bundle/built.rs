//! Components that `toolhost build` built: their paths, and the stamps that list their sources.
//!
//! A stamp is a custom section at the end of the component, so that one rename replaces both.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use toolhost_contract::ResourceName;
use toolhost_files::{DirView, Links, ReadError};

use super::section;

/// The folder of built components, in the bundle's directory.
pub const FOLDER: &str = ".toolhost";

/// The name of the section of a stamp.
const SECTION: &str = "toolhost:built";

/// Maximum number of sources of one component.
pub const SOURCES_MAX: usize = 10_000;

/// Maximum bytes of sources that are read for one bundle, for all its components together. The bundle
/// may be untrusted.
pub const SOURCE_BYTES_MAX: u64 = 256 << 20;

/// Maximum size of a source, in bytes: each is read whole.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Maximum number of components of a source's path from the bundle's directory.
pub const SOURCE_DEPTH_MAX: usize = 32;

/// Bytes of the budget for looking up a file of any size.
const PER_FILE: u64 = 8 << 10;

/// Bytes of the budget for a folder, which is checked again after each change of a tool.
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
    /// Returns the language of an entry; `None` if `toolhost build` does not build it.
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

/// Returns the path of a Tool's built component, from the bundle's directory.
pub fn component_path(tool: &ResourceName) -> PathBuf {
    Path::new(FOLDER).join(format!("{tool}.wasm"))
}

/// A source file of a component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The path from the bundle's directory. The loader does not compare sources outside it, whose paths
    /// begin with `..`.
    pub path: String,
    /// The SHA-256 digest in hexadecimal digits.
    pub sha256: String,
}

impl Source {
    /// Computes the digest of a file's bytes.
    pub fn new(path: impl Into<String>, bytes: &[u8]) -> Self {
        Self {
            path: path.into(),
            sha256: digest(bytes),
        }
    }

    /// Returns whether the path leads beneath the bundle's directory, without following links.
    pub fn is_inside(&self) -> bool {
        is_inside(&self.path)
    }
}

/// Returns whether a path of a stamp leads beneath the bundle's directory.
pub fn is_inside(path: &str) -> bool {
    let path = Path::new(path);
    !path.is_absolute() && !path.starts_with("..")
}

/// The entry, the kit and the sources that a component was built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// `spec.entry` of the manifest.
    pub entry: String,
    /// The version and settings of the kit. The loader ignores it: a component of an older kit is valid.
    pub kit: String,
    /// The source files.
    pub sources: Vec<Source>,
    /// The paths at which the build looked for a file by its name and found none, from the bundle's directory. A
    /// file there would change the result. Absent in stamps of older kits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<Vec<String>>,
    /// The names of the handlers, if the build found them. The loader reads them from the component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handlers: Option<Vec<String>>,
}

impl Stamp {
    /// Appends the stamp to a component.
    ///
    /// # Errors
    /// The stamp cannot be written as JSON.
    pub fn put_on(&self, component: &mut Vec<u8>) -> serde_json::Result<()> {
        section::append(component, SECTION, &serde_json::to_vec(self)?);
        Ok(())
    }

    /// Reads the stamp of a component; `None` if it has no valid one.
    pub fn read(component: &[u8]) -> Option<Self> {
        let stamp: Self = serde_json::from_slice(section::find(component, SECTION)?).ok()?;
        let paths = stamp.sources.len() + stamp.absent.iter().flatten().count();
        (paths <= SOURCES_MAX).then_some(stamp)
    }

    /// Returns whether the number and depth of the sources and folders are within the limits of loading.
    pub fn is_compared(&self) -> bool {
        let budget = Budget::default();
        let paths = self.sources.len() + self.absent.iter().flatten().count();
        paths <= SOURCES_MAX && self.look_for(&budget).is_ok() && budget.left() > 0
    }

    fn inside(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(|source| source.is_inside())
    }

    fn absent_inside(&self) -> impl Iterator<Item = &str> {
        let absent = self.absent.iter().flatten().map(String::as_str);
        absent.filter(|path| is_inside(path))
    }

    /// Takes the cost of looking up the sources from the budget.
    fn look_for(&self, budget: &Budget) -> Result<(), Stale> {
        let sources = self.inside().map(|source| source.path.as_str());
        for path in sources.chain(self.absent_inside()) {
            let path = Path::new(path);
            if path.components().count() > SOURCE_DEPTH_MAX {
                return Err(Stale::TooMuch);
            }
            budget.look_for(path);
        }
        Ok(())
    }

    /// Compares the sources beneath the bundle's directory with their digests, and looks for new ones.
    pub(super) fn check(&self, folder: &DirView, budget: &Budget) -> Result<(), Stale> {
        self.look_for(budget)?;
        let mut absent = self.absent_inside();
        if let Some(path) = absent.find(|path| folder.has(Path::new(path))) {
            return Err(Stale::New { path: path.into() });
        }
        self.inside()
            .try_for_each(|source| check_source(source, folder, budget))
    }
}

fn check_source(source: &Source, folder: &DirView, budget: &Budget) -> Result<(), Stale> {
    if budget.left() == 0 {
        return Err(Stale::TooMuch);
    }
    let path = source.path.clone();
    match folder.read(
        Path::new(&path),
        Links::Follow,
        budget.left().min(FILE_BYTES_MAX),
    ) {
        Ok(bytes) => {
            budget.take(bytes.len() as u64);
            if digest(&bytes) == source.sha256 {
                Ok(())
            } else {
                Err(Stale::Changed { path })
            }
        }
        Err(ReadError::TooLarge { .. }) => Err(Stale::TooMuch),
        Err(source) => Err(Stale::Unreadable { path, source }),
    }
}

/// Returns the SHA-256 digest of files and their names, in hexadecimal digits.
pub fn digest_of<'f>(files: impl IntoIterator<Item = (&'f str, &'f [u8])>) -> String {
    let mut hash = Sha256::new();
    for (name, bytes) in files {
        for part in [name.as_bytes(), bytes] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    HEXLOWER.encode(&hash.finalize())
}

fn digest(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// The remaining budget for reading the sources of a bundle, in bytes.
#[derive(Debug)]
pub(super) struct Budget {
    left: AtomicU64,
    /// The folders that were looked up.
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

    /// Takes the cost of looking up a file, and the folders above it that were not looked up before.
    fn look_for(&self, path: &Path) {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        // If a folder is known, all above it are.
        let folders_above = path.ancestors().skip(1);
        let new = folders_above.take_while(|folder| folders.insert(folder.to_path_buf()));
        let new = new.count() as u64;
        self.take(PER_FILE.saturating_add(new.saturating_mul(PER_FOLDER)));
    }

    fn take(&self, bytes: u64) {
        let less = |bytes_left: u64| bytes_left.saturating_sub(bytes);
        self.left.update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}

/// Why a built component cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are in the messages")]
pub enum Stale {
    /// There is no component.
    #[error("it has not been built")]
    NotBuilt,
    /// The component has no stamp.
    #[error("the component was not made by `toolhost build`")]
    NotStamped,
    /// The stamp has another entry.
    #[error("it was built from another entry")]
    OtherEntry,
    /// The digest of a source is different.
    #[error("{path} has changed since it was built")]
    Changed { path: String },
    /// A file exists that would change the result.
    #[error("{path} is new since it was built")]
    New { path: String },
    /// The component or a source cannot be read.
    #[error("{path} cannot be read: {source}")]
    Unreadable {
        path: String,
        #[source]
        source: ReadError,
    },
    /// The sources exceed the limits of loading.
    #[error("the sources of the bundle's tools are too many, too large or too deep to be compared")]
    TooMuch,
}

#[cfg(test)]
mod tests;
