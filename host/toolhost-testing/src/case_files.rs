//! The case files of a bundle: `tests/*.yaml` beside a `goondan.yaml`, `tests/NAME/*.yaml` beside a
//! `NAME.yaml`, so that two bundles of one directory have separate cases.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::case_file::CaseFile;
use toolhost::manifest::{Diagnostic, YamlSource};
use toolhost_contract::CASES_FOLDER;
use toolhost_manifest::bundle::MANIFEST;

/// Most bytes of all case files of a bundle together. Read, they take some hundred times as much memory at worst.
pub(crate) const BYTES_MAX: u64 = 16 << 20;

/// Most case files of a bundle.
const FILES_MAX: usize = 2_000;

/// Why the case files of a bundle cannot be read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are in the messages")]
pub enum CaseFilesError {
    /// The folder cannot be listed, or a case file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The folder or the file.
        path: PathBuf,
        /// Why: also where a file is too large, or not UTF-8.
        source: io::Error,
    },
    /// A link of the folder resolves outside the bundle's directory.
    #[error("the folder {} resolves outside the bundle's directory", path.display())]
    OutsideBundle { path: PathBuf },
    /// The folder has too many case files.
    #[error("the folder {} has more than {FILES_MAX} case files: join some of them", path.display())]
    TooMany { path: PathBuf },
    /// A case file is a link.
    #[error("the case file {} is a link: replace it with the file itself", path.display())]
    Link { path: PathBuf },
    /// Case files have errors.
    #[error("the case files have errors")]
    Invalid {
        /// All findings of all files.
        diagnostics: Vec<Diagnostic>,
        /// The files with findings.
        sources: Vec<YamlSource>,
    },
}

/// The case files of a bundle, sorted by path.
#[derive(Debug)]
pub struct CaseFiles {
    directory: PathBuf,
    folder: PathBuf,
    files: Vec<(PathBuf, CaseFile)>,
}

impl CaseFiles {
    /// Reads all case files of a bundle. Blocks on the filesystem.
    ///
    /// # Errors
    /// The first file that cannot be read, else the findings of all files at once.
    pub fn read(bundle: &Path) -> Result<Self, CaseFilesError> {
        let folder = folder(bundle);
        let (mut files, mut diagnostics, mut sources) = (Vec::new(), Vec::new(), Vec::new());
        let mut remaining = BYTES_MAX;
        for path in list(&folder, bundle)? {
            let text = read_text(&path, remaining).map_err(|source| CaseFilesError::Read {
                path: path.clone(),
                source,
            })?;
            remaining = remaining.saturating_sub(text.len() as u64);
            let name = path.strip_prefix(".").unwrap_or(&path);
            let source = YamlSource::new(name.display().to_string(), &text);
            match CaseFile::parse(&source) {
                Ok(file) => files.push((path, file)),
                Err(findings) => {
                    diagnostics.extend(findings);
                    sources.push(source);
                }
            }
        }
        if diagnostics.is_empty() {
            return Ok(Self {
                directory: directory(bundle).to_owned(),
                folder,
                files,
            });
        }
        Err(CaseFilesError::Invalid {
            diagnostics,
            sources,
        })
    }

    /// Lists the paths of all case files of a bundle, without reading them. Blocks on the filesystem.
    ///
    /// # Errors
    /// The folder cannot be listed, or a case file is a link.
    pub fn list(bundle: &Path) -> Result<Vec<PathBuf>, CaseFilesError> {
        list(&folder(bundle), bundle)
    }

    /// The directory of the bundle.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The folder that case files are read from. It need not exist.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Each file with its path.
    pub fn all(&self) -> &[(PathBuf, CaseFile)] {
        &self.files
    }

    /// The texts of all files, for displaying the lines of findings.
    pub fn sources(&self) -> Vec<YamlSource> {
        let sources = self.files.iter().map(|(_, file)| file.source().clone());
        sources.collect()
    }
}

/// Returns the directory of a bundle.
fn directory(bundle: &Path) -> &Path {
    if bundle.is_dir() {
        bundle
    } else {
        bundle.parent().unwrap_or(Path::new(""))
    }
}

fn folder(bundle: &Path) -> PathBuf {
    let folder = directory(bundle).join(CASES_FOLDER);
    match bundle.file_stem() {
        Some(name) if !bundle.is_dir() && !bundle.ends_with(MANIFEST) => folder.join(name),
        _ => folder,
    }
}

/// Lists the case files of a folder. Refuses links out of the bundle's directory: reports quote case
/// files, and `--update` writes them, but the bundle may be untrusted.
fn list(folder: &Path, bundle: &Path) -> Result<Vec<PathBuf>, CaseFilesError> {
    let path = || folder.to_owned();
    let unreadable = |source| CaseFilesError::Read {
        path: path(),
        source,
    };
    let entries = match fs::read_dir(folder) {
        // A link to a folder that does not exist is an error.
        Err(error)
            if error.kind() == ErrorKind::NotFound && fs::symlink_metadata(folder).is_err() =>
        {
            return Ok(Vec::new());
        }
        entries => entries.map_err(unreadable)?,
    };
    let dir = Path::new(".").join(directory(bundle)).canonicalize();
    let real_folder = folder.canonicalize().map_err(unreadable)?;
    if !dir.is_ok_and(|dir| real_folder.starts_with(dir)) {
        return Err(CaseFilesError::OutsideBundle { path: path() });
    }
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry.map_err(unreadable)?;
        let path = entry.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        // Editors make hidden files beside an open file.
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if is_hidden || !matches!(extension, Some("yaml" | "yml")) {
            continue;
        }
        let kind = entry.file_type().map_err(unreadable)?;
        if kind.is_symlink() {
            return Err(CaseFilesError::Link { path });
        }
        if kind.is_file() {
            paths.push(path);
        }
        if paths.len() > FILES_MAX {
            return Err(CaseFilesError::TooMany {
                path: folder.to_owned(),
            });
        }
    }
    paths.sort();
    Ok(paths)
}

/// Reads a case file of at most `max` bytes.
fn read_text(path: &Path, max: u64) -> io::Result<String> {
    let mut text = String::new();
    let file = File::open(path)?;
    file.take(max.saturating_add(1)).read_to_string(&mut text)?;
    if text.len() as u64 > max {
        let message = format!("the case files together have more than {BYTES_MAX} bytes");
        return Err(io::Error::new(ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}
