//! The case files of a bundle: `tests/*.yaml` beside a `goondan.yaml`, `tests/NAME/*.yaml` beside a
//! `NAME.yaml`, so that two bundles of one directory have cases of their own.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use toolhost::bundle::MANIFEST;
use toolhost::cases::CaseFile;
use toolhost::{Diagnostic, YamlSource};

use crate::failure::Failure;
use crate::files as read;
use crate::terminal::text;

/// Where case files are, beside the manifest.
const FOLDER: &str = "tests";

/// Largest case file, in bytes.
const BYTES_MAX: u64 = 16 << 20;

/// The case files of a bundle, by name.
#[derive(Debug)]
pub(crate) struct Files {
    folder: PathBuf,
    files: Vec<(PathBuf, CaseFile)>,
}

impl Files {
    /// Reads them all; whatever is wrong in any is told at once.
    pub(crate) async fn read(bundle: &Path) -> Result<Self, Failure> {
        let folder = folder(bundle);
        let (mut files, mut findings, mut sources) = (Vec::new(), Vec::new(), Vec::new());
        for path in case_files(&folder, bundle)? {
            let text = read::text_file("the case file", &path, BYTES_MAX).await?;
            let name = path
                .strip_prefix(".")
                .unwrap_or(&path)
                .display()
                .to_string();
            let source = YamlSource::new(name, &text);
            match CaseFile::parse(&source) {
                Ok(file) => files.push((path, file)),
                Err(found) => {
                    findings.extend(found);
                    sources.push(source);
                }
            }
        }
        if findings.is_empty() {
            return Ok(Self { folder, files });
        }
        Err(unusable(findings, sources))
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Each file with its path.
    pub(crate) fn all(&self) -> &[(PathBuf, CaseFile)] {
        &self.files
    }

    /// The texts, for whoever shows their lines.
    pub(crate) fn sources(&self) -> Vec<YamlSource> {
        let sources = self.files.iter().map(|(_, file)| file.source().clone());
        sources.collect()
    }

    /// How to write a first case.
    pub(crate) fn how_to_begin(&self) -> String {
        let folder = self.folder.display();
        format!(
            "there are no cases of your own; write {folder}/first.yaml: \
             - {{name: says hi, tool: TOOL__EXPORT, args: {{text: hi}}, expect: {{output: {{text: hi}}}}}}"
        )
    }
}

/// Case files that cannot be used.
pub(crate) fn unusable(findings: Vec<Diagnostic>, sources: Vec<YamlSource>) -> Failure {
    let count = findings.iter().filter(|finding| finding.is_error()).count();
    let errors = text::counted(count, "error");
    let error = anyhow::anyhow!("the case files hold {errors}");
    Failure::of_files(error, findings, sources).hint("Correct what is listed; nothing was run.")
}

fn folder(bundle: &Path) -> PathBuf {
    if bundle.is_dir() {
        return bundle.join(FOLDER);
    }
    let folder = bundle.parent().unwrap_or(Path::new("")).join(FOLDER);
    match bundle.file_stem() {
        Some(name) if bundle.file_name().is_some_and(|file| file != MANIFEST) => folder.join(name),
        _ => folder,
    }
}

/// The case files of a folder. A bundle may be a stranger's: none lies elsewhere, as they are quoted,
/// and written with `--update`.
fn case_files(folder: &Path, bundle: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = || format!("the folder {} cannot be read", folder.display());
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).with_context(unreadable),
    };
    let dir = match bundle.is_dir() {
        true => bundle,
        false => bundle.parent().unwrap_or(Path::new("")),
    };
    let whole = |path: &Path| match path.as_os_str().is_empty() {
        true => Path::new(".").canonicalize(),
        false => path.canonicalize(),
    };
    let (dir, found) = (whole(dir), whole(folder).with_context(unreadable)?);
    if !dir.is_ok_and(|dir| found.starts_with(dir)) {
        bail!(
            "the folder {} leads out of the bundle's directory",
            folder.display()
        );
    }
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry.with_context(unreadable)?;
        let path = entry.path();
        let ending = path.extension().and_then(|ending| ending.to_str());
        // Those that editors make beside an open file begin with a dot.
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if is_hidden || !matches!(ending, Some("yaml" | "yml")) {
            continue;
        }
        let kind = entry.file_type().with_context(unreadable)?;
        if kind.is_symlink() {
            bail!(
                "the case file {} is a link: put the file itself there",
                path.display()
            );
        }
        if kind.is_file() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
