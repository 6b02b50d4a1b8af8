//! Opens a bundle: its directory is held by handle, and nothing is opened but beneath it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use toolhost_contract::{ToolErrorCode, ToolResource};
use toolhost_sandbox::Protected;

use super::guarded::Guarded;
use super::read::{ReadError, ids_to_the_root, read_beneath};
use super::resources::FILE_MAX;
use super::{Bundle, Diagnostic, MANIFEST, Place, YamlSource};
use crate::result::text;

/// Endings of source files, which must be built to a component before they run.
const SOURCE_ENDINGS: [&str; 10] = [
    "ts", "mts", "tsx", "js", "mjs", "cjs", "py", "rs", "go", "c",
];

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
}

/// Opens the bundle at a path.
pub(super) fn open(path: &Path) -> Result<OpenBundle, LoadError> {
    let unreadable = |source: ReadError| LoadError::Read {
        path: path.to_owned(),
        source,
    };
    let (dir, dir_path, manifest) = match Dir::open_ambient_dir(path, ambient_authority()) {
        Ok(dir) => (dir, path.to_owned(), PathBuf::from(MANIFEST)),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            let (dir_path, file) = split(path).ok_or_else(|| unreadable(ReadError::NotFound))?;
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
    let led = folders.add_way(&dir_path);
    led.map_err(|error| unreadable(error.into()))?;
    match Bundle::parse(&yaml) {
        Ok(bundle) => Ok(OpenBundle {
            bundle,
            yaml,
            dir: Arc::new(dir),
            dir_name: shown(&dir_path),
            manifest,
            folders,
        }),
        Err(diagnostics) => Err(LoadError::Invalid { yaml, diagnostics }),
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

    /// What no guest may change.
    pub(crate) fn guarded(&self) -> Guarded {
        let entries = self
            .bundle
            .tools()
            .iter()
            .map(|tool| PathBuf::from(&tool.spec.entry));
        let files = std::iter::once(self.manifest.clone()).chain(entries);
        Guarded::new(Arc::clone(&self.dir), self.folders.clone(), files.collect())
    }

    /// Reads the component of a Tool of this bundle, once, up to `max_bytes`: these bytes are what is
    /// checked, hashed and run.
    ///
    /// # Errors
    /// A finding at `spec.entry`: `E_CONFIG_ENTRY_NOT_FOUND`, or `E_COMPONENT_TOO_LARGE`.
    pub fn read_entry(
        &self,
        tool: &ToolResource,
        max_bytes: u64,
    ) -> Result<Vec<u8>, Box<Diagnostic>> {
        let entry = tool.spec.entry.as_str();
        if is_source(entry) {
            return Err(Box::new(self.not_built(tool)));
        }
        let read = read_beneath(&self.dir, Path::new(entry), max_bytes);
        read.map_err(|error| Box::new(self.unreadable(tool, &error)))
    }

    fn not_built(&self, tool: &ToolResource) -> Diagnostic {
        let (name, entry) = (&tool.metadata.name, shown(Path::new(&tool.spec.entry)));
        let message = format!("tool {name}: entry {entry} is source code, not a WASI component");
        let finding = Diagnostic::error(ToolErrorCode::ConfigEntry, self.place(tool), message);
        finding.with_help("Build it to a component first, and name the .wasm file in spec.entry.")
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
                format!("The system says: {source}."),
            ),
        };
        let message = format!("tool {name}: entry {entry} in {dir}: {error}");
        Diagnostic::error(code, self.place(tool), message).with_help(help)
    }

    fn place(&self, tool: &ToolResource) -> Place {
        match self.bundle.places(&tool.metadata.name) {
            Some(places) => places.entry.clone(),
            None => Place::file(self.yaml.name()),
        }
    }
}

fn is_source(entry: &str) -> bool {
    let ending = Path::new(entry)
        .extension()
        .and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| SOURCE_ENDINGS.contains(&ending))
}

#[cfg(test)]
mod tests;
