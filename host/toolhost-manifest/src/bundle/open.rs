//! Opens a bundle. All files that it names are opened beneath the handle of its directory.

mod lock;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use toolhost_contract::text::shell_word;
use toolhost_contract::{Protected, ToolErrorCode, ToolResource};
use toolhost_files::resolve::ids_to_the_root;
use toolhost_files::{ChangedFiles, DirView, Links, ReadError};

use super::Bundle;
use super::built::{self, Budget, Language, Source, Stale, Stamp};
use super::guarded::{BundleFiles, WriteGuard};
use super::manifests::{
    Built, MANIFEST, Manifest, ManifestError, Manifests, ShippedFolders, shown,
};
use super::other_file::OtherFile;
use super::package::{PackageOrigin, is_package};
use super::shipped::{NoShippedBundles, ShippedBundles, is_shipped};
use crate::diagnostic::{Diagnostic, Place};
use crate::yaml::YamlSource;

/// An error when a bundle is opened or loaded. The text of one with findings lists the errors, a line each;
/// [`Self::summary`] is its first line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are in the messages")]
pub enum LoadError {
    /// The file or directory cannot be read.
    #[error("the bundle {} cannot be read", .path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: ReadError,
    },
    /// The directory contains no manifest.
    #[error("there is no {MANIFEST} in {}", .dir.display())]
    NoManifest { dir: PathBuf },
    /// The file is source code or WebAssembly.
    #[error("{} is {}", .path.display(), .file.what())]
    NotAManifest {
        path: PathBuf,
        /// Its kind.
        file: OtherFile,
    },
    /// The bundle has errors.
    #[error("{}:{}", counted(.sources, .diagnostics), listed(.diagnostics))]
    Invalid {
        /// The manifest, and those that it includes, for displaying their lines.
        sources: Vec<YamlSource>,
        /// All findings.
        diagnostics: Vec<Diagnostic>,
    },
}

impl LoadError {
    /// Returns the error in one line, such as `goondan.yaml holds 2 errors`, for callers that print the
    /// findings themselves.
    pub fn summary(&self) -> String {
        match self {
            Self::Invalid {
                sources,
                diagnostics,
            } => counted(sources, diagnostics),
            Self::Read { .. } | Self::NoManifest { .. } | Self::NotAManifest { .. } => {
                self.to_string()
            }
        }
    }

    /// Returns the next step for the reader.
    pub fn help(&self) -> String {
        match self {
            Self::NoManifest { dir } => {
                let dir = dir.display();
                format!("Name a bundle file, or write {dir}/{MANIFEST}.")
            }
            Self::Read {
                source: ReadError::NotFound,
                ..
            } => format!("Name a bundle file, or a directory that contains a {MANIFEST}."),
            Self::Read {
                source: ReadError::Denied,
                ..
            } => "Make it readable for the user that runs the host.".to_owned(),
            Self::Read { .. } => "Name a regular file.".to_owned(),
            Self::NotAManifest { file, .. } => file.help().to_owned(),
            Self::Invalid { .. } => "Correct the errors above; nothing was loaded.".to_owned(),
        }
    }
}

fn counted(sources: &[YamlSource], diagnostics: &[Diagnostic]) -> String {
    let name = sources.first().map_or(MANIFEST, YamlSource::name);
    let errors = errors(diagnostics).count();
    let plural = if errors == 1 { "" } else { "s" };
    format!("{name} holds {errors} error{plural}")
}

fn listed(diagnostics: &[Diagnostic]) -> String {
    let line = |finding: &Diagnostic| format!("\n  {finding}");
    errors(diagnostics).map(line).collect()
}

fn errors(diagnostics: &[Diagnostic]) -> impl Iterator<Item = &Diagnostic> {
    diagnostics.iter().filter(|finding| finding.is_error())
}

/// A bundle, and its directory.
#[derive(Debug)]
pub struct OpenBundle {
    bundle: Bundle,
    /// The manifest, and those that it includes.
    manifests: Vec<Manifest>,
    folder: DirView,
    shipped: ShippedFolders,
    /// The path of the directory, as the operator wrote it.
    dir_path: PathBuf,
    /// The directory, all directories above it, and the links on its path.
    folders: Protected,
    /// The remaining budget for reading sources.
    budget: Budget,
}

/// The component of a Tool, and its files.
#[derive(Debug)]
pub struct Entry {
    /// The bytes of the component.
    pub component: Vec<u8>,
    /// The files beneath the bundle's directory that belong to it, without `spec.entry`: a component that
    /// `toolhost build` built, and its sources.
    pub files: Vec<PathBuf>,
    /// The registry that it was pulled from; `None` for a file.
    pub package: Option<PackageOrigin>,
}

/// A Tool whose entry is source code.
#[derive(Debug, Clone)]
pub struct SourceEntry<'b> {
    /// The first Tool with this entry.
    pub tool: &'b ToolResource,
    /// The language.
    pub language: Language,
    /// The path of the component, from the bundle's directory.
    pub component: PathBuf,
}

impl Bundle {
    /// Opens the bundle at a path: a file, or a directory that contains a `goondan.yaml`.
    ///
    /// # Errors
    /// [`LoadError`] if the bundle cannot be read or has errors.
    pub fn open(path: &Path) -> Result<OpenBundle, LoadError> {
        Self::open_with(path, ChangedFiles::default(), &NoShippedBundles)
    }

    /// Opens the bundle at a path as [`Self::open`] does, but reads changed files in the place of
    /// those of the bundle's directory, and shipped bundles that it includes. Messages have the paths of the bundle's
    /// directory.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_with(
        path: &Path,
        changes: ChangedFiles,
        shipped: &dyn ShippedBundles,
    ) -> Result<OpenBundle, LoadError> {
        Self::open_reading(path, changes, shipped, Built::Read)
    }

    /// Opens the bundle at a path as [`Self::open`] does, but as if no source entry were built: a build replaces its
    /// component, whatever that describes.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_to_build(
        path: &Path,
        shipped: &dyn ShippedBundles,
    ) -> Result<OpenBundle, LoadError> {
        Self::open_reading(path, ChangedFiles::default(), shipped, Built::Ignored)
    }

    fn open_reading(
        path: &Path,
        changes: ChangedFiles,
        shipped: &dyn ShippedBundles,
        built: Built,
    ) -> Result<OpenBundle, LoadError> {
        let unreadable = |source: ReadError| LoadError::Read {
            path: path.to_owned(),
            source,
        };
        let (dir, dir_path, manifest) = open_dir(path).map_err(unreadable)?;
        let folder = DirView::new(Arc::new(dir), changes);
        let mut manifests = Manifests::new(&folder, &dir_path, shipped, built);
        let first = match manifests.read(&manifest) {
            Ok(first) => first,
            Err(ManifestError::Read(ReadError::NotFound)) => {
                return Err(LoadError::NoManifest { dir: dir_path });
            }
            Err(ManifestError::Read(error @ ReadError::TooLarge { .. })) => {
                let message = format!("the file cannot be read: {error}");
                return Err(not_parsed(
                    &shown(&dir_path.join(manifest)),
                    ToolErrorCode::ConfigTooLarge,
                    message,
                ));
            }
            Err(ManifestError::Read(source)) => {
                let path = dir_path.join(manifest);
                return Err(LoadError::Read { path, source });
            }
            Err(ManifestError::Other(file)) => {
                let path = dir_path.join(manifest);
                return Err(LoadError::NotAManifest { path, file });
            }
            Err(error) => {
                let name = shown(&dir_path.join(manifest));
                let message = error.to_string();
                return Err(not_parsed(&name, ToolErrorCode::ConfigParse, message));
            }
        };
        let mut folders = Protected::default();
        for id in ids_to_the_root(folder.dir()).map_err(unreadable)? {
            folders.add(id);
        }
        let target = folders.add_path_chain(&dir_path);
        target.map_err(|error| unreadable(error.into()))?;
        let parsed = Self::of(first, &mut manifests);
        let (manifests, shipped) = manifests.into_parts();
        match parsed {
            Ok(bundle) => Ok(OpenBundle {
                bundle,
                manifests,
                folder,
                shipped,
                dir_path,
                folders,
                budget: Budget::default(),
            }),
            Err(diagnostics) => Err(LoadError::Invalid {
                sources: manifests.into_iter().map(|read| read.yaml).collect(),
                diagnostics,
            }),
        }
    }
}

/// Creates the error of a manifest that is not text, or too large.
fn not_parsed(name: &str, code: ToolErrorCode, message: String) -> LoadError {
    LoadError::Invalid {
        sources: vec![YamlSource::new(name, "")],
        diagnostics: vec![Diagnostic::error(code, Place::file(name), message)],
    }
}

/// Opens the directory of a bundle. Returns it with its path and the name of the manifest in it.
fn open_dir(path: &Path) -> Result<(Dir, PathBuf, PathBuf), ReadError> {
    let open = |path: &Path| Dir::open_ambient_dir(path, ambient_authority());
    match open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            let file = path.file_name().ok_or(ReadError::NotFound)?;
            let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty());
            let dir = dir.unwrap_or(Path::new("."));
            Ok((open(dir)?, dir.to_owned(), file.into()))
        }
        dir => Ok((dir?, path.to_owned(), MANIFEST.into())),
    }
}

impl OpenBundle {
    /// Returns the resources of the bundle.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// Returns the text of the manifest, and of those that it includes, in the order in which they are
    /// read.
    pub fn sources(&self) -> Vec<YamlSource> {
        let sources = self.manifests.iter();
        sources.map(|manifest| manifest.yaml.clone()).collect()
    }

    /// Returns the name of the manifest in messages.
    pub fn name(&self) -> &str {
        let first = self.manifests.first();
        first.map_or(MANIFEST, |manifest| manifest.yaml.name())
    }

    /// Returns the path of the bundle's directory, as it was opened.
    pub fn dir(&self) -> &Path {
        &self.dir_path
    }

    /// Returns the paths of the manifests and of the components that the bundle names, which may not exist.
    /// For source code it is the component that `toolhost build` builds.
    pub fn paths(&self) -> Vec<PathBuf> {
        let component = |tool: &ToolResource| match self.source_entry(tool) {
            Some(source) => source.component,
            None => PathBuf::from(&tool.spec.entry),
        };
        let components = self.tools_of_files().map(component);
        let files = self.manifest_paths().chain(components);
        files.map(|file| self.dir_path.join(file)).collect()
    }

    /// Returns the paths of the manifests in the bundle's directory.
    fn manifest_paths(&self) -> impl Iterator<Item = PathBuf> {
        let paths = self.manifests.iter().map(|manifest| &manifest.path);
        paths.filter(|path| !is_shipped(path)).cloned()
    }

    /// Returns the Tools whose entries are files beneath the bundle's directory.
    fn tools_of_files(&self) -> impl Iterator<Item = &ToolResource> {
        let tools = self.bundle.tools().iter();
        let entries = tools.map(|tool| (tool, &tool.spec.entry));
        let files =
            entries.filter(|(_, entry)| !is_package(entry) && !is_shipped(Path::new(entry)));
        files.map(|(tool, _)| tool)
    }

    /// Protects the files of the bundle against changes by guests. `sources` are those of
    /// [`Entry::files`].
    pub fn guarded(&self, sources: Vec<PathBuf>) -> WriteGuard {
        let tools = self.tools_of_files();
        let entries = tools.map(|tool| PathBuf::from(&tool.spec.entry));
        let files = BundleFiles {
            manifests: self.manifest_paths().collect(),
            entries: entries.collect(),
            sources,
        };
        let (dir, folders) = (Arc::clone(self.folder.dir()), self.folders.clone());
        WriteGuard::new(dir, &self.dir_path, folders, files)
    }

    /// Reads the component of a Tool of this bundle, once, up to `max_bytes`. These bytes are checked,
    /// hashed and run. If the entry is source code, they are those that `toolhost build` built, if its
    /// sources have not changed. Nothing is built or run here.
    ///
    /// # Errors
    /// A finding at `spec.entry`: `E_CONFIG_ENTRY_NOT_FOUND`, or `E_COMPONENT_TOO_LARGE`.
    pub fn read_entry(
        &self,
        tool: &ToolResource,
        max_bytes: u64,
    ) -> Result<Entry, Box<Diagnostic>> {
        if is_package(&tool.spec.entry) {
            let problem = " is in a registry, and this host reads only files";
            let help = "Give the host a source of packages, or name a file beneath the bundle's directory.";
            return Err(self.entry_error(tool, ToolErrorCode::ConfigEntry, problem, help));
        }
        let entry = Path::new(&tool.spec.entry);
        let Some(source) = self.source_entry(tool) else {
            if OtherFile::of_source(entry).is_some() {
                return Err(self.not_a_component(tool));
            }
            let (folder, entry) = self.shipped.locate(&self.folder, entry);
            let read = folder.read(entry, Links::Follow, max_bytes);
            return Ok(Entry {
                component: read.map_err(|error| self.unreadable(tool, &error))?,
                files: Vec::new(),
                package: None,
            });
        };
        match self.built(&source, max_bytes) {
            Ok((component, stamp)) => {
                let inside = stamp.sources.into_iter().filter(Source::is_inside);
                let mut files: Vec<_> = inside.map(|source| source.path.into()).collect();
                files.push(source.component);
                Ok(Entry {
                    component,
                    files,
                    package: None,
                })
            }
            // This is the component: for a source it is [`Stale::TooMuch`].
            Err(Stale::Unreadable {
                source: error @ ReadError::TooLarge { .. },
                ..
            }) => Err(self.unreadable(tool, &error)),
            Err(stale) => Err(self.stale(tool, &stale)),
        }
    }

    /// Returns each source entry of the bundle once.
    pub fn source_entries(&self) -> impl Iterator<Item = SourceEntry<'_>> {
        let tools = self.bundle.tools().iter();
        tools.filter_map(|tool| {
            let source = self.source_entry(tool)?;
            (source.tool.metadata.name == tool.metadata.name).then_some(source)
        })
    }

    fn source_entry(&self, tool: &ToolResource) -> Option<SourceEntry<'_>> {
        let entry = &tool.spec.entry;
        if is_package(entry) {
            return None;
        }
        let language = Language::of(entry)?;
        let mut tools = self.bundle.tools().iter();
        let tool = tools.find(|other| other.spec.entry == *entry)?;
        Some(SourceEntry {
            tool,
            language,
            component: built::component_path(&tool.metadata.name),
        })
    }

    /// Reads the component that was built from a source entry, if its sources have not changed.
    ///
    /// # Errors
    /// [`Stale`] if the component cannot be used.
    pub fn built(
        &self,
        source: &SourceEntry<'_>,
        max_bytes: u64,
    ) -> Result<(Vec<u8>, Stamp), Stale> {
        let component = match self
            .folder
            .read(&source.component, Links::Follow, max_bytes)
        {
            Ok(component) => component,
            Err(ReadError::NotFound) => return Err(Stale::NotBuilt),
            Err(error) => {
                let path = shown(&source.component);
                return Err(Stale::Unreadable {
                    path,
                    source: error,
                });
            }
        };
        let stamp = Stamp::read(&component).ok_or(Stale::NotStamped)?;
        if stamp.entry != source.tool.spec.entry {
            return Err(Stale::OtherEntry);
        }
        stamp.check(&self.folder, &self.budget)?;
        Ok((component, stamp))
    }

    fn not_a_component(&self, tool: &ToolResource) -> Box<Diagnostic> {
        let help = if tool.spec.entry.ends_with(".rs") {
            "Name the package's Cargo.toml, which `toolhost build` builds, or a .wasm file."
        } else {
            "Build it to a component with the tools of its language, and name the .wasm file in spec.entry. See \
             docs/authors/any-language.md."
        };
        let problem = " is source code, not a WASI component";
        self.entry_error(tool, ToolErrorCode::ConfigEntry, problem, help)
    }

    fn stale(&self, tool: &ToolResource, stale: &Stale) -> Box<Diagnostic> {
        let help = if matches!(stale, Stale::TooMuch) {
            "Name the built component in spec.entry."
        } else {
            &format!(
                "If you trust its sources, build it: {}",
                self.build_command()
            )
        };
        let problem = format!(": {stale}");
        self.entry_error(tool, ToolErrorCode::ConfigEntry, &problem, help)
    }

    /// Returns the command that builds the entries of this bundle.
    fn build_command(&self) -> String {
        let path = match self.manifests.first() {
            Some(manifest) if manifest.path.as_os_str() != MANIFEST => {
                &self.dir_path.join(&manifest.path)
            }
            _ => &self.dir_path,
        };
        match shown(path).as_str() {
            "." => "toolhost build".to_owned(),
            path => format!("toolhost build {}", shell_word(path)),
        }
    }

    fn unreadable(&self, tool: &ToolResource, error: &ReadError) -> Box<Diagnostic> {
        let dir = shown(&self.dir_path);
        let help = match error {
            ReadError::NotFound => &format!(
                "Build the component, or correct spec.entry: it is looked up in the directory {dir:?}."
            ),
            ReadError::Outside => &format!("Put the component beneath the directory {dir:?}."),
            ReadError::Denied => "Make it readable for the user that runs the host.",
            ReadError::TooFar => &format!(
                "Put the component into few folders beneath {dir:?}, and not behind many links."
            ),
            ReadError::NotAFile { .. } => "Name the .wasm file itself.",
            ReadError::TooLarge { .. } => {
                "Make the component smaller: build optimised and stripped."
            }
            ReadError::Io(_) | ReadError::Link { .. } | ReadError::Dangling => {
                "Check the file, and the folders and links on its path."
            }
        };
        let code = if matches!(error, ReadError::TooLarge { .. }) {
            ToolErrorCode::ComponentLimit
        } else {
            ToolErrorCode::ConfigEntry
        };
        self.entry_error(tool, code, &format!(" in {dir}: {error}"), help)
    }

    /// Creates an error at the entry of a Tool. `problem` follows the entry in the message.
    pub fn entry_error(
        &self,
        tool: &ToolResource,
        code: ToolErrorCode,
        problem: &str,
        help: &str,
    ) -> Box<Diagnostic> {
        let (name, entry) = (&tool.metadata.name, shown(Path::new(&tool.spec.entry)));
        let message = format!("tool {name}: entry {entry}{problem}");
        Box::new(Diagnostic::error(code, self.entry_place(tool), message).with_help(help))
    }

    /// Returns the place of a Tool's entry.
    pub fn entry_place(&self, tool: &ToolResource) -> Place {
        match self.bundle.places(&tool.metadata.name) {
            Some(places) => places.entry.clone(),
            None => Place::file(self.name()),
        }
    }
}

#[cfg(test)]
mod tests;
