//! Opens a bundle: its directory is held by handle, and nothing is opened but beneath it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use toolhost_contract::Protected;
use toolhost_contract::text::shell_word;
use toolhost_contract::{ToolErrorCode, ToolResource};

use super::Bundle;
use super::built::{self, Budget, Language, Source, Stale, Stamp};
use super::guarded::WriteGuard;
use super::read::{ReadError, ids_to_the_root, read_beneath};
use super::resources::FILE_MAX;
use crate::diagnostic::{Diagnostic, Place};
use crate::yaml::YamlSource;
use toolhost_contract::text;

/// Name of the file read where a directory is given.
pub const MANIFEST: &str = "goondan.yaml";

/// Endings of source files that `toolhost build` does not build.
const OTHER_SOURCE_ENDINGS: [&str; 5] = ["rs", "cts", "cjs", "go", "c"];

/// Longest path quoted, in characters.
const PATH_SHOWN: usize = 200;

/// Why a bundle cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The path leads to no bundle.
    #[error("the bundle {} cannot be read", .path.display())]
    Read {
        /// The path that was tried.
        path: PathBuf,
        /// Why.
        #[source]
        source: ReadError,
    },
    /// The directory holds no manifest.
    #[error("there is no {MANIFEST} in {}", .dir.display())]
    NoManifest {
        /// The directory.
        dir: PathBuf,
    },
    /// The bundle holds errors.
    #[error("{} holds {}", .yaml.name(), counted(.diagnostics))]
    Invalid {
        /// The file, for whoever shows its lines.
        yaml: YamlSource,
        /// Every finding.
        diagnostics: Vec<Diagnostic>,
    },
}

impl LoadError {
    /// The next move.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::NoManifest { dir } => {
                let dir = dir.display();
                format!("Name a bundle file, or write {dir}/{MANIFEST}.")
            }
            Self::Read {
                source: ReadError::NotFound,
                ..
            } => format!("Name a bundle file, or a directory that holds a {MANIFEST}."),
            Self::Read {
                source: ReadError::Denied,
                ..
            } => "Make it readable for the user that runs the host.".to_owned(),
            Self::Read { .. } => "Name a regular file.".to_owned(),
            Self::Invalid { .. } => "Correct what is listed; nothing was loaded.".to_owned(),
        }
    }
}

fn counted(diagnostics: &[Diagnostic]) -> String {
    match diagnostics
        .iter()
        .filter(|finding| finding.is_error())
        .count()
    {
        1 => "1 error".to_owned(),
        errors => format!("{errors} errors"),
    }
}

/// A bundle, and the directory that all it names lies beneath.
#[derive(Debug)]
pub struct OpenBundle {
    bundle: Bundle,
    yaml: YamlSource,
    dir: Arc<Dir>,
    dir_name: String,
    manifest: PathBuf,
    /// The bundle's directory, all above it, and the links that led there.
    folders: Protected,
    /// The directory, as the operator named it.
    dir_path: PathBuf,
    /// How much more of its sources is read.
    budget: Budget,
}

/// What is loaded of a Tool's entry.
#[derive(Debug)]
pub struct Entry {
    /// The component.
    pub component: Vec<u8>,
    /// The files beneath the bundle's directory that belong to it beside `spec.entry`: the component
    /// that was built, and what it was built of.
    pub files: Vec<PathBuf>,
}

/// A Tool whose entry is source.
#[derive(Debug, Clone)]
pub struct SourceEntry<'b> {
    /// The Tool. Where several have this entry, the first.
    pub tool: &'b ToolResource,
    /// The language.
    pub language: Language,
    /// Where the component belongs, from the bundle's directory.
    pub component: PathBuf,
}

impl Bundle {
    /// Opens the bundle at a path: a file, or a directory that holds a `goondan.yaml`.
    ///
    /// # Errors
    /// [`LoadError`] where it cannot be read, or holds an error.
    pub fn open(path: &Path) -> Result<OpenBundle, LoadError> {
        let unreadable = |source: ReadError| LoadError::Read {
            path: path.to_owned(),
            source,
        };
        let (dir, dir_path, manifest) = match Dir::open_ambient_dir(path, ambient_authority()) {
            Ok(dir) => (dir, path.to_owned(), PathBuf::from(MANIFEST)),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                let (dir_path, file) =
                    split(path).ok_or_else(|| unreadable(ReadError::NotFound))?;
                let dir = Dir::open_ambient_dir(&dir_path, ambient_authority());
                (
                    dir.map_err(|error| unreadable(error.into()))?,
                    dir_path,
                    file,
                )
            }
            Err(error) => return Err(unreadable(error.into())),
        };
        let bytes = match read_beneath(&dir, &manifest, FILE_MAX as u64) {
            Ok(bytes) => bytes,
            Err(ReadError::NotFound) => return Err(LoadError::NoManifest { dir: dir_path }),
            Err(error @ ReadError::TooLarge { .. }) => {
                let message = format!("the file cannot be read: {error}");
                return Err(invalid(
                    &dir_path,
                    &manifest,
                    ToolErrorCode::ConfigTooLarge,
                    &message,
                ));
            }
            Err(source) => {
                let path = dir_path.join(manifest);
                return Err(LoadError::Read { path, source });
            }
        };
        let Ok(text) = std::str::from_utf8(&bytes) else {
            let message = "the file is not UTF-8 text";
            return Err(invalid(
                &dir_path,
                &manifest,
                ToolErrorCode::ConfigParse,
                message,
            ));
        };
        let yaml = YamlSource::new(shown(&dir_path.join(&manifest)), text);
        let mut folders = Protected::default();
        let above = ids_to_the_root(&dir).map_err(unreadable)?;
        above.into_iter().for_each(|id| folders.add(id));
        let led = folders.add_path_chain(&dir_path);
        led.map_err(|error| unreadable(error.into()))?;
        match Bundle::parse(&yaml) {
            Ok(bundle) => Ok(OpenBundle {
                bundle,
                yaml,
                dir: Arc::new(dir),
                dir_name: shown(&dir_path),
                manifest,
                folders,
                dir_path,
                budget: Budget::default(),
            }),
            Err(diagnostics) => Err(LoadError::Invalid { yaml, diagnostics }),
        }
    }
}

/// The directory and the file of a path; `.` is the directory of a bare name.
fn split(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let file = PathBuf::from(path.file_name()?);
    let dir = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    Some((dir, file))
}

fn invalid(dir: &Path, manifest: &Path, code: ToolErrorCode, message: &str) -> LoadError {
    let name = shown(&dir.join(manifest));
    let finding = Diagnostic::error(code, Place::file(name.as_str()), message);
    LoadError::Invalid {
        yaml: YamlSource::new(name, ""),
        diagnostics: vec![finding],
    }
}

fn shown(path: &Path) -> String {
    let path = path.strip_prefix(".").unwrap_or(path).to_string_lossy();
    let name = if path.is_empty() { "." } else { &path };
    text::shorten(name, PATH_SHOWN)
}

impl OpenBundle {
    /// What the bundle declares.
    #[must_use]
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// The manifest's text.
    #[must_use]
    pub fn yaml(&self) -> &YamlSource {
        &self.yaml
    }

    /// The bundle's directory, as it was named.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir_path
    }

    /// What no guest may change; `files` are those of the entries.
    pub fn guarded(&self, files: Vec<PathBuf>) -> WriteGuard {
        let tools = self.bundle.tools().iter();
        let entries = tools.map(|tool| PathBuf::from(&tool.spec.entry));
        let own = std::iter::once(self.manifest.clone()).chain(entries);
        let guarded = WriteGuard::new(Arc::clone(&self.dir), self.folders.clone(), own.collect());
        guarded.with_sources(files, &self.dir_path)
    }

    /// Reads the component of a Tool of this bundle, once, up to `max_bytes`: these bytes are what is
    /// checked, hashed and run. Of a source entry it is what `toolhost build` made of it, where the
    /// sources are still the same; nothing is built or run here.
    ///
    /// # Errors
    /// A finding at `spec.entry`: `E_CONFIG_ENTRY_NOT_FOUND`, or `E_COMPONENT_TOO_LARGE`.
    pub fn read_entry(
        &self,
        tool: &ToolResource,
        max_bytes: u64,
    ) -> Result<Entry, Box<Diagnostic>> {
        let entry = tool.spec.entry.as_str();
        let Some(source) = self.source_entry(tool) else {
            if is_other_source(entry) {
                return Err(Box::new(self.not_a_component(tool)));
            }
            let read = read_beneath(&self.dir, Path::new(entry), max_bytes);
            let component = read.map_err(|error| Box::new(self.unreadable(tool, &error)))?;
            let files = Vec::new();
            return Ok(Entry { component, files });
        };
        match self.built(&source, max_bytes) {
            Ok((component, stamp)) => {
                let inside = stamp.sources.into_iter().filter(Source::is_inside);
                let mut files: Vec<_> = inside.map(|source| source.path.into()).collect();
                files.push(source.component);
                Ok(Entry { component, files })
            }
            Err(Stale::Component {
                source: error @ ReadError::TooLarge { .. },
                ..
            }) => Err(Box::new(self.unreadable(tool, &error))),
            Err(stale) => Err(Box::new(self.stale(tool, &stale))),
        }
    }

    /// Each source entry of the bundle, once, with the first Tool that has it.
    pub fn source_entries(&self) -> impl Iterator<Item = SourceEntry<'_>> {
        let tools = self.bundle.tools().iter();
        let entries = tools.filter_map(|tool| Some((tool, self.source_entry(tool)?)));
        entries
            .filter(|(tool, source)| tool.metadata.name == source.tool.metadata.name)
            .map(|(_, source)| source)
    }

    fn source_entry(&self, tool: &ToolResource) -> Option<SourceEntry<'_>> {
        let entry = &tool.spec.entry;
        let language = Language::of(entry)?;
        let mut tools = self.bundle.tools().iter();
        let tool = tools.find(|other| other.spec.entry == *entry)?;
        Some(SourceEntry {
            tool,
            language,
            component: built::component_path(&tool.metadata.name),
        })
    }

    /// Reads what was built of a source entry, where it is of what is there now.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub fn built(
        &self,
        source: &SourceEntry<'_>,
        max_bytes: u64,
    ) -> Result<(Vec<u8>, Stamp), Stale> {
        let component = match read_beneath(&self.dir, &source.component, max_bytes) {
            Ok(component) => component,
            Err(ReadError::NotFound) => return Err(Stale::NotBuilt),
            Err(error) => {
                return Err(Stale::Component {
                    path: shown(&source.component),
                    source: error,
                });
            }
        };
        let stamp = Stamp::read(&component).ok_or(Stale::NotStamped)?;
        if stamp.entry != source.tool.spec.entry {
            return Err(Stale::OtherEntry);
        }
        stamp.check(&self.dir, &self.budget)?;
        Ok((component, stamp))
    }

    fn not_a_component(&self, tool: &ToolResource) -> Diagnostic {
        let (name, entry) = (&tool.metadata.name, shown(Path::new(&tool.spec.entry)));
        let message = format!("tool {name}: entry {entry} is source code, not a WASI component");
        let finding =
            Diagnostic::error(ToolErrorCode::ConfigEntry, self.entry_place(tool), message);
        finding.with_help(if entry.ends_with(".rs") {
            "Name the package's Cargo.toml, which `toolhost build` builds, or a .wasm file."
        } else {
            "Build it to a component first, and name the .wasm file in spec.entry."
        })
    }

    fn stale(&self, tool: &ToolResource, stale: &Stale) -> Diagnostic {
        let (name, entry) = (&tool.metadata.name, shown(Path::new(&tool.spec.entry)));
        let message = format!("tool {name}: entry {entry}: {stale}");
        let finding =
            Diagnostic::error(ToolErrorCode::ConfigEntry, self.entry_place(tool), message);
        finding.with_help(match stale {
            Stale::TooMuch => "Name the built component in spec.entry.".to_owned(),
            Stale::NotBuilt
            | Stale::NotStamped
            | Stale::OtherEntry
            | Stale::Changed { .. }
            | Stale::Unreadable { .. }
            | Stale::Component { .. } => format!(
                "If you trust its sources, build it: {}",
                self.build_command()
            ),
        })
    }

    /// The command that builds what this bundle's entries name.
    fn build_command(&self) -> String {
        let path = match self.manifest.as_os_str() == MANIFEST {
            true => &self.dir_path,
            false => &self.dir_path.join(&self.manifest),
        };
        match shown(path).as_str() {
            "." => "toolhost build".to_owned(),
            path => format!("toolhost build {}", shell_word(path)),
        }
    }

    fn unreadable(&self, tool: &ToolResource, error: &ReadError) -> Diagnostic {
        let (name, entry) = (&tool.metadata.name, shown(Path::new(&tool.spec.entry)));
        let dir = &self.dir_name;
        let (code, help) = match error {
            ReadError::NotFound => (
                ToolErrorCode::ConfigEntry,
                format!(
                    "Build the component, or correct spec.entry: it is looked up in the directory {dir:?}."
                ),
            ),
            ReadError::Outside => (
                ToolErrorCode::ConfigEntry,
                format!("Put the component beneath the directory {dir:?}."),
            ),
            ReadError::Denied => (
                ToolErrorCode::ConfigEntry,
                "Make it readable for the user that runs the host.".to_owned(),
            ),
            ReadError::TooFar => (
                ToolErrorCode::ConfigEntry,
                format!(
                    "Put the component into few folders beneath {dir:?}, and not behind many links."
                ),
            ),
            ReadError::NotAFile { .. } => (
                ToolErrorCode::ConfigEntry,
                "Name the .wasm file itself.".to_owned(),
            ),
            ReadError::TooLarge { .. } => (
                ToolErrorCode::ComponentLimit,
                "Make the component smaller: build optimised and stripped.".to_owned(),
            ),
            ReadError::Io(source) => (
                ToolErrorCode::ConfigEntry,
                format!("The system reports: {source}."),
            ),
        };
        let message = format!("tool {name}: entry {entry} in {dir}: {error}");
        Diagnostic::error(code, self.entry_place(tool), message).with_help(help)
    }

    /// Where a Tool names its entry.
    pub fn entry_place(&self, tool: &ToolResource) -> Place {
        match self.bundle.places(&tool.metadata.name) {
            Some(places) => places.entry.clone(),
            None => Place::file(self.yaml.name()),
        }
    }
}

fn is_other_source(entry: &str) -> bool {
    let ending = Path::new(entry)
        .extension()
        .and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| OTHER_SOURCE_ENDINGS.contains(&ending))
}

#[cfg(test)]
mod tests;
