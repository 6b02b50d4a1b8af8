//! Reads the manifest of a bundle, and the manifests of the bundles that it includes.

use std::collections::HashSet;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use toolhost_contract::{ResourceName, text};
use toolhost_files::{ChangedFiles, DirView, EntryKind, Links, ReadError};

use super::built::{self, Language};
use super::described;
use super::other_file::OtherFile;
use super::shipped::{SHIPPED, ShippedBundles, is_shipped};
use crate::yaml::YamlSource;

/// The file that is read if the path of a bundle is a directory.
pub const MANIFEST: &str = "goondan.yaml";

/// Maximum size of a file, and of all manifests of a bundle together, in bytes.
pub(super) const FILE_MAX: usize = 1 << 20;

/// Maximum size of a component that is read for the exports that it describes, in bytes: what a host compiles by default.
const COMPONENT_MAX: u64 = 64 << 20;

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
    /// Whether it is that of a shipped bundle, and a folder with a bundle has the same name.
    pub(super) hides_folder: bool,
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

/// The files that manifests name.
pub(super) trait NamedFiles {
    /// Reads the manifest of the bundle that a manifest includes with this path or name.
    fn include(&mut self, from: &Manifest, path: &str) -> Result<Manifest, ManifestError>;

    /// Reads the exports that a component describes: that of the first Tool with this entry, which has this name.
    fn described(&self, tool: &ResourceName, entry: &str) -> Option<YamlSource>;
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
    #[error("toolhost ships it, but cannot read it: {0}")]
    Shipped(io::Error),
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
            Self::Shipped(_) => "See `toolhost list base`; a folder of that name is ./base.",
        }
    }
}

/// What is done with the components that source entries have been built into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Built {
    /// The exports that they describe are read.
    Read,
    Ignored,
}

/// The manifests of a bundle, as they are read.
#[derive(Debug)]
pub(super) struct Manifests<'d> {
    folder: &'d DirView,
    dir_path: &'d Path,
    shipped: &'d dyn ShippedBundles,
    built: Built,
    /// The folders of shipped bundles that were included, by how the paths of their files begin.
    shipped_folders: ShippedFolders,
    read: Vec<Manifest>,
    /// The paths without links.
    paths: HashSet<PathBuf>,
    bytes: usize,
}

impl<'d> Manifests<'d> {
    /// Starts with no manifest. `path` is that of `folder`, as the operator wrote it.
    pub(super) fn new(
        folder: &'d DirView,
        path: &'d Path,
        shipped: &'d dyn ShippedBundles,
        built: Built,
    ) -> Self {
        Self {
            folder,
            dir_path: path,
            shipped,
            built,
            shipped_folders: ShippedFolders::default(),
            read: Vec::new(),
            paths: HashSet::new(),
            bytes: 0,
        }
    }

    /// Reads the manifest that another one includes. A name alone is that of a shipped bundle, if there is one. Else
    /// the path is that of a file beneath the directory, or of a directory that contains a `goondan.yaml`.
    fn include_path(&mut self, from: &Manifest, path: &str) -> Result<Manifest, ManifestError> {
        let resolved = from.resolve(path);
        if !is_shipped(&from.path)
            && let Some(folder) = self.shipped.folder(path)
        {
            let of_this_name = Path::new(&resolved).join(MANIFEST);
            let mut manifest = self.include_shipped(path, folder)?;
            manifest.hides_folder = self.folder.resolve(&of_this_name, Links::Follow).is_ok();
            return Ok(manifest);
        }
        let path = Path::new(&resolved);
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

    fn include_shipped(
        &mut self,
        name: &str,
        folder: io::Result<PathBuf>,
    ) -> Result<Manifest, ManifestError> {
        let open = |path: PathBuf| Dir::open_ambient_dir(path, ambient_authority());
        let folder = folder.and_then(open).map_err(ManifestError::Shipped)?;
        let view = DirView::new(Arc::new(folder), ChangedFiles::default());
        let prefix = PathBuf::from(format!("{SHIPPED}{name}"));
        let manifest = prefix.join(MANIFEST);
        self.shipped_folders.0.push((prefix, view));
        self.read(&manifest)
    }

    /// Reads a manifest beneath the directory, or of a shipped bundle that was included.
    pub(super) fn read(&mut self, path: &Path) -> Result<Manifest, ManifestError> {
        let (folder, beneath) = self.shipped_folders.locate(self.folder, path);
        let is_shipped = beneath != path;
        let resolved = folder
            .resolve(beneath, Links::Follow)
            .map_err(ManifestError::Read)?;
        if resolved.as_os_str().is_empty() {
            let kind = EntryKind::Directory;
            return Err(ManifestError::Read(ReadError::NotAFile { kind }));
        }
        let resolved = if is_shipped {
            path.to_owned()
        } else {
            resolved
        };
        if self.paths.contains(&resolved) {
            return Err(ManifestError::Repeated);
        }
        if self.read.len() == MANIFESTS_MAX {
            return Err(ManifestError::TooMany);
        }
        let bytes = folder.read(beneath, Links::Follow, FILE_MAX as u64);
        let bytes = bytes.map_err(ManifestError::Read)?;
        self.bytes += bytes.len();
        if self.bytes > FILE_MAX {
            return Err(ManifestError::TooLarge);
        }
        if let Some(file) = OtherFile::of(path, &bytes) {
            return Err(ManifestError::Other(file));
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| ManifestError::NotText)?;
        let name = if is_shipped {
            shown(path)
        } else {
            shown(&self.dir_path.join(path))
        };
        let manifest = Manifest {
            path: path.to_owned(),
            yaml: YamlSource::new(name, text),
            hides_folder: false,
        };
        self.paths.insert(resolved);
        self.read.push(manifest.clone());
        Ok(manifest)
    }

    /// Reads the exports that a component describes; `None` if it cannot be read, or describes none.
    fn described_in(&self, component: &Path) -> Option<YamlSource> {
        let (folder, beneath) = self.shipped_folders.locate(self.folder, component);
        let bytes = folder.read(beneath, Links::Follow, COMPONENT_MAX).ok()?;
        let name = if beneath == component {
            shown(&self.dir_path.join(component))
        } else {
            shown(component)
        };
        Some(YamlSource::new(name, described::find(&bytes)?))
    }

    /// Returns the manifests that were read, the bundle's own first, and the folders of those that were shipped.
    pub(super) fn into_parts(self) -> (Vec<Manifest>, ShippedFolders) {
        (self.read, self.shipped_folders)
    }
}

impl NamedFiles for Manifests<'_> {
    fn include(&mut self, from: &Manifest, path: &str) -> Result<Manifest, ManifestError> {
        self.include_path(from, path)
    }

    fn described(&self, tool: &ResourceName, entry: &str) -> Option<YamlSource> {
        match Language::of(entry) {
            Some(_) if self.built == Built::Ignored => None,
            Some(_) => self.described_in(&built::component_path(tool)),
            None => self.described_in(Path::new(entry)),
        }
    }
}

/// The files of a bundle without a directory.
#[derive(Debug)]
pub(super) struct NoFiles;

impl NamedFiles for NoFiles {
    fn include(&mut self, _: &Manifest, _: &str) -> Result<Manifest, ManifestError> {
        Err(ManifestError::NoDirectory)
    }

    fn described(&self, _: &ResourceName, _: &str) -> Option<YamlSource> {
        None
    }
}

/// The folders of shipped bundles, by how the paths of their files begin.
#[derive(Debug, Default)]
pub(super) struct ShippedFolders(Vec<(PathBuf, DirView)>);

impl ShippedFolders {
    /// Returns the folder of a file, and the file's path in it. `others` is that of all files that were not shipped.
    pub(super) fn locate<'a>(
        &'a self,
        others: &'a DirView,
        path: &'a Path,
    ) -> (&'a DirView, &'a Path) {
        let mut shipped = self.0.iter();
        let of_path =
            |(prefix, view): &'a (PathBuf, DirView)| Some((view, path.strip_prefix(prefix).ok()?));
        shipped.find_map(of_path).unwrap_or((others, path))
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
