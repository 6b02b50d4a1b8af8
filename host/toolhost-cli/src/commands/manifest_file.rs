//! Changes a manifest, after the bundle was checked with the change.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use toolhost_manifest::Bundle;
use toolhost_manifest::bundle::{ChangedFiles, MANIFEST};

use crate::failure::Failure;
use crate::files;
use crate::settings::Settings;
use crate::terminal::text;

/// Largest manifest, in bytes. The bundle is checked with its own limit.
const MANIFEST_BYTES_MAX: u64 = 16 << 20;

/// The manifest of a bundle: its directory and its name there.
pub(super) struct ManifestFile {
    folder: PathBuf,
    name: PathBuf,
    /// The text; none if the file does not exist.
    pub(super) text: Option<String>,
}

impl ManifestFile {
    /// Reads the manifest at a path that the user named: a file, or a directory.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let (folder, name) = if path.is_dir() {
            (path.to_owned(), PathBuf::from(MANIFEST))
        } else {
            let name = path.file_name().unwrap_or(MANIFEST.as_ref());
            (files::folder_of(path).to_owned(), PathBuf::from(name))
        };
        let path = folder.join(&name);
        let text = match path.symlink_metadata() {
            Ok(_) => {
                let bytes = files::read("the manifest", &path, MANIFEST_BYTES_MAX)?;
                let text = String::from_utf8(bytes);
                Some(text.with_context(|| format!("{} is not UTF-8", text::path(&path)))?)
            }
            Err(_) => None,
        };
        Ok(Self { folder, name, text })
    }

    /// Returns the path.
    pub(super) fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Writes another text, if the bundle is valid with it and nobody has changed the manifest since it was read.
    pub(super) fn write(&self, changed: &str, settings: &Settings) -> Result<(), Failure> {
        let folder = tempfile::tempdir().context("a temporary directory cannot be made")?;
        fs::write(folder.path().join("manifest"), changed)
            .context("a temporary file cannot be written")?;
        let files = BTreeMap::from([(self.name.clone(), Some(PathBuf::from("manifest")))]);
        let changes = ChangedFiles::new(folder.path(), files)
            .context("a temporary directory cannot be opened")?;
        // By its directory, in which the manifest may not exist yet.
        let bundle = if self.name.as_os_str() == MANIFEST {
            self.folder.clone()
        } else {
            self.path()
        };
        let bundle = Bundle::open_with(&bundle, changes, &*settings.base);
        bundle.map_err(|error| {
            Failure::of_bundle(error, None).hint("The manifest was not changed.")
        })?;
        if Self::read(&self.path())?.text != self.text {
            let error = anyhow!("{} was changed meanwhile", text::path(&self.path()));
            return Err(Failure::from(error).hint("Nothing was written. Run the command again."));
        }
        files::write_over_file(&self.path(), changed.as_bytes())
            .with_context(|| format!("{} cannot be written", text::path(&self.path())))?;
        Ok(())
    }
}
