//! Reads the manifest of a bundle, and the manifests of the bundles that it includes.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};

use toolhost_contract::text;
use toolhost_files::{DirView, EntryKind, Links, ReadError};

use super::other_file::OtherFile;
use crate::yaml::YamlSource;

/// The file that is read if the path of a bundle is a directory.
pub const MANIFEST: &str = "goondan.yaml";

/// Maximum size of a file, and of all manifests of a bundle together, in bytes.
pub(super) const FILE_MAX: usize = 1 << 20;

/// Maximum number of manifests of a bundle.
pub(super) const MANIFESTS_MAX: usize = 100;

/// Maximum length of a path in a message, in characters.
const PATH_SHOWN: usize = 200;

/// A manifest of a bundle.
#[derive(Debug, Clone)]
pub(super) struct Manifest {
    /// The path from the bundle's directory.
    pub(super) path: PathBuf,
    pub(super) yaml: YamlSource,
}

impl Manifest {
    /// Returns a path relative to the bundle's directory, from one relative to the directory of this
    /// manifest.
    pub(super) fn resolve(&self, path: &str) -> String {
        let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
        let parts: Vec<&str> = parts.collect();
        match self.path.parent().and_then(Path::to_str) {
            None | Some("") => path.to_owned(),
            Some(parent) => format!("{parent}/{}", parts.join("/")),
        }
    }
}

/// Why a manifest is not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum ManifestError {
    #[error(transparent)]
    Read(ReadError),
    #[error("the file is not UTF-8 text")]
    NotText,
    #[error("it is {}", .0.what())]
    Other(OtherFile),
    #[error("it is part of the bundle already")]
    Repeated,
    #[error("the bundle has more than {MANIFESTS_MAX} manifests")]
    TooMany,
    #[error("the manifests of the bundle are larger than {FILE_MAX} bytes together")]
    TooLarge,
    #[error("only a bundle that is opened as a file can include others")]
    NoDirectory,
}

impl ManifestError {
    /// Returns the next step of an author who includes the manifest.
    pub(super) fn help(&self) -> &'static str {
        match self {
            Self::Read(ReadError::NotFound) => {
                "Correct the path: it is relative to the file that includes it, and names a bundle file or \
                 a folder with a goondan.yaml."
            }
            Self::Read(ReadError::Outside) => {
                "Write the manifest that includes others into a folder above all of them."
            }
            Self::Read(_) => "Name a bundle file, or a folder with a goondan.yaml.",
            Self::Other(file) => file.help(),
            Self::NotText => "Save the file as UTF-8.",
            Self::Repeated => "Remove it from the list.",
            Self::TooMany | Self::TooLarge => "Declare fewer Tools in one bundle.",
            Self::NoDirectory => "Open the bundle's file.",
        }
    }
}

/// The manifests of a bundle, as they are read.
#[derive(Debug)]
pub(super) struct Manifests<'d> {
    folder: &'d DirView,
    dir_path: &'d Path,
    read: Vec<Manifest>,
    /// The paths without links.
    paths: HashSet<PathBuf>,
    bytes: usize,
}

impl<'d> Manifests<'d> {
    /// Starts with no manifest. `path` is that of `folder`, as the operator wrote it.
    pub(super) fn new(folder: &'d DirView, path: &'d Path) -> Self {
        Self {
            folder,
            dir_path: path,
            read: Vec::new(),
            paths: HashSet::new(),
            bytes: 0,
        }
    }

    /// Reads the manifest of a bundle beneath the directory: a file, or a directory that contains a
    /// `goondan.yaml`.
    pub(super) fn include(&mut self, path: &Path) -> Result<Manifest, ManifestError> {
        let parts = path.components().filter(|part| *part != Component::CurDir);
        let path: PathBuf = parts.collect();
        if path.as_os_str().is_empty() {
            return self.read(Path::new(MANIFEST));
        }
        match self.read(&path) {
            Err(ManifestError::Read(ReadError::NotAFile {
                kind: EntryKind::Directory,
            })) => self.read(&path.join(MANIFEST)),
            read => read,
        }
    }

    /// Reads a manifest beneath the directory.
    pub(super) fn read(&mut self, path: &Path) -> Result<Manifest, ManifestError> {
        let resolved = self
            .folder
            .resolve(path, Links::Follow)
            .map_err(ManifestError::Read)?;
        if resolved.as_os_str().is_empty() {
            let kind = EntryKind::Directory;
            return Err(ManifestError::Read(ReadError::NotAFile { kind }));
        }
        if self.paths.contains(&resolved) {
            return Err(ManifestError::Repeated);
        }
        if self.read.len() == MANIFESTS_MAX {
            return Err(ManifestError::TooMany);
        }
        let bytes = self.folder.read(path, Links::Follow, FILE_MAX as u64);
        let bytes = bytes.map_err(ManifestError::Read)?;
        self.bytes += bytes.len();
        if self.bytes > FILE_MAX {
            return Err(ManifestError::TooLarge);
        }
        if let Some(file) = OtherFile::of(path, &bytes) {
            return Err(ManifestError::Other(file));
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| ManifestError::NotText)?;
        let manifest = Manifest {
            path: path.to_owned(),
            yaml: YamlSource::new(shown(&self.dir_path.join(path)), text),
        };
        self.paths.insert(resolved);
        self.read.push(manifest.clone());
        Ok(manifest)
    }

    /// Returns the manifests that were read, the bundle's own first.
    pub(super) fn into_vec(self) -> Vec<Manifest> {
        self.read
    }
}

/// Returns a path as it is written in messages.
pub(super) fn shown(path: &Path) -> String {
    let path = path.strip_prefix(".").unwrap_or(path).to_string_lossy();
    let name = if path.is_empty() { "." } else { &path };
    text::shorten(name, PATH_SHOWN)
}

#[cfg(test)]
mod tests;
