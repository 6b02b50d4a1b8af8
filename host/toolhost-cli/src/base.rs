//! The base tools: the bundle that releases of this program ship, by the name `base`.
//!
//! Its files lie behind the program: their contents, an index, and a footer. They are unpacked into a private folder
//! of the cache, and compared with the program's own each time.

pub(crate) mod unpacked;

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::Deserialize;
use toolhost::LoadError;
use toolhost::manifest::{Bundle, ChangedFiles, ShippedBundles};
use toolhost_contract::text;
use toolhost_files::PrivateDir;
use toolhost_manifest::bundle::OpenBundle;

use crate::failure::{Failure, Hint};

/// The name of the bundle.
pub(crate) const BASE: &str = "base";

/// Of its instances' workspaces, unless the policy names them: the path of the folder changes with each release.
pub(crate) const WORKSPACE: &str = "toolhost-base";

/// The last bytes of a program with the bundle, after [`DIGEST`] and the length of the index.
const MAGIC: &[u8; 16] = b"toolhost-bundle\n";

/// Bytes of the SHA-256 of contents and index. It names the folder.
const DIGEST: usize = 32;

/// Bytes of the footer: the length of the index (`u64`, little endian), the digest, [`MAGIC`].
const FOOTER: usize = 8 + DIGEST + MAGIC.len();

/// Maximum bytes of the index.
const INDEX_MAX: u64 = 1 << 20;

/// The folder of unpacked bundles, in the cache.
const FOLDER: &str = "bundles";

/// The bundle that this program ships.
#[derive(Debug, Default)]
pub(crate) struct Base {
    cache: Option<PathBuf>,
    /// What has the bundle behind it, in the place of this program.
    archive: Option<PathBuf>,
    unpacked: OnceLock<PathBuf>,
}

/// The folder of what kits have in the archive, which they read themselves.
const KITS: &str = "kits";

/// A file of the archive, in the index: the contents follow each other in its order.
#[derive(Debug, Deserialize)]
struct IndexEntry {
    path: PathBuf,
    bytes: u64,
}

/// The contents of the files.
struct Archive {
    files: Vec<(PathBuf, Vec<u8>)>,
    /// The digest, in hexadecimal digits.
    digest: String,
}

impl Base {
    pub(crate) fn new(cache: Option<PathBuf>, archive: Option<PathBuf>) -> Self {
        Self {
            cache,
            archive,
            ..Self::default()
        }
    }

    /// Returns whether the bundle has not been used yet.
    pub(crate) fn is_first_use(&self) -> bool {
        self.unpacked.get().is_none()
    }

    /// Opens a bundle without loading its components. It may include this one.
    pub(crate) fn open(&self, bundle: &Path) -> Result<OpenBundle, LoadError> {
        Bundle::open_with(bundle, ChangedFiles::default(), self)
    }

    /// Opens a bundle whose components are built next.
    pub(crate) fn open_to_build(&self, bundle: &Path) -> Result<OpenBundle, LoadError> {
        Bundle::open_to_build(bundle, self)
    }

    /// Returns the folder of the unpacked bundle.
    pub(crate) fn unpacked(&self) -> Result<&Path, Failure> {
        if let Some(folder) = self.unpacked.get() {
            return Ok(folder);
        }
        let program = Path::new("/proc/self/exe");
        let program = self.archive.as_deref().unwrap_or(program);
        let archive = Archive::read(program).context("the base tools cannot be read")?;
        let archive = archive.ok_or_else(|| {
            let error = anyhow!("this program was built without the base tools");
            let hint = "Install a package of a release: docs/install.md. In the repository, run `cargo xtask guests` and \
                        name guest-examples/base. A folder of that name is ./base.";
            Failure::from(error).hint(hint)
        })?;
        let cache = self.cache.as_ref().ok_or_else(|| {
            let error = anyhow!("the directory for the base tools is not known");
            Failure::from(error).hint("Set HOME, or XDG_CACHE_HOME.")
        })?;
        let folder = cache.join(FOLDER);
        let unpacked = archive.unpack(&folder).with_context(|| {
            format!(
                "the base tools cannot be unpacked into {}",
                folder.display()
            )
        });
        let hint = "Name a directory that only you can write with XDG_CACHE_HOME.";
        let unpacked = unpacked.hint(hint)?;
        Ok(self.unpacked.get_or_init(|| unpacked))
    }
}

impl ShippedBundles for Base {
    fn folder(&self, name: &str) -> Option<io::Result<PathBuf>> {
        (name == BASE).then(|| match self.unpacked() {
            Ok(folder) => Ok(folder.to_owned()),
            Err(failure) => Err(io::Error::other(failure.message())),
        })
    }
}

/// Returns whether the path of a bundle is the name alone of the one that this program ships.
pub(crate) fn is_base(bundle: &Path) -> bool {
    bundle.as_os_str() == BASE
}

/// Refuses the shipped bundle where a command writes into the bundle's folder.
pub(crate) fn refuse(bundle: &Path, command: &str) -> Result<(), Failure> {
    if !is_base(bundle) {
        return Ok(());
    }
    let error = anyhow!("`toolhost {command}` changes no bundle that toolhost ships");
    let hint = "Include it in one of your own: `include: [base]`. A folder of that name is ./base.";
    Err(Failure::from(error).hint(hint))
}

impl Archive {
    /// Reads the bundle behind a program; `None` if there is none.
    fn read(program: &Path) -> Result<Option<Self>> {
        let mut file = File::open(program)?;
        let bytes = file.seek(SeekFrom::End(0))?;
        let Some(end) = bytes.checked_sub(FOOTER as u64) else {
            return Ok(None);
        };
        file.seek(SeekFrom::Start(end))?;
        let (mut length, mut digest, mut magic) = ([0; 8], [0; DIGEST], [0; MAGIC.len()]);
        file.read_exact(&mut length)?;
        file.read_exact(&mut digest)?;
        file.read_exact(&mut magic)?;
        if magic != *MAGIC {
            return Ok(None);
        }
        let length = u64::from_le_bytes(length);
        ensure!(
            length <= INDEX_MAX,
            "the index is larger than {INDEX_MAX} bytes"
        );
        let index_at = end.checked_sub(length).context("the index is cut")?;
        let index = read_at(&mut file, index_at, length)?;
        let index: Vec<IndexEntry> =
            serde_json::from_slice(&index).context("the index is wrong")?;
        let mut at = index_at;
        let mut files = Vec::new();
        for IndexEntry { path, bytes } in index.into_iter().rev() {
            let is_plain = |part| matches!(part, Component::Normal(_));
            ensure!(
                path.components().all(is_plain),
                "{} leaves the bundle",
                path.display()
            );
            at = at.checked_sub(bytes).context("the contents are cut")?;
            if !path.starts_with(KITS) {
                files.push((path, read_at(&mut file, at, bytes)?));
            }
        }
        let digest = text::hex(&digest);
        Ok(Some(Self { files, digest }))
    }

    /// Unpacks the bundle into a folder of its own in `parent`, unless it is there. Returns that folder.
    fn unpack(&self, parent: &Path) -> Result<PathBuf> {
        let private = PrivateDir::make(parent)?;
        let folder = parent.join(format!(
            "{BASE}-{}",
            self.digest.get(..16).unwrap_or_default()
        ));
        if self.is_at(&folder) {
            return Ok(folder);
        }
        drop(private);
        let temporary = tempfile::Builder::new().prefix(".").tempdir_in(parent)?;
        let (new, old) = (temporary.path().join("new"), temporary.path().join("old"));
        for (path, bytes) in &self.files {
            let path = new.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&new))?;
            let mut options = File::options();
            let file = options.write(true).create_new(true).mode(0o400).open(path);
            file?.write_all(bytes)?;
        }
        // Another process may have unpacked it meanwhile.
        if fs::rename(&new, &folder).is_ok() || self.is_at(&folder) {
            return Ok(folder);
        }
        // Other files are there: of a crash, or somebody changed them.
        fs::rename(&folder, &old)?;
        if let Err(error) = fs::rename(&new, &folder)
            && !self.is_at(&folder)
        {
            bail!(error);
        }
        Ok(folder)
    }

    /// Returns whether the folder has the files of the bundle, byte for byte.
    fn is_at(&self, folder: &Path) -> bool {
        let is_same = |(path, bytes): &(PathBuf, Vec<u8>)| {
            fs::read(folder.join(path)).is_ok_and(|there| there == *bytes)
        };
        self.files.iter().all(is_same)
    }
}

fn read_at(file: &mut File, at: u64, bytes: u64) -> Result<Vec<u8>> {
    file.seek(SeekFrom::Start(at))?;
    let mut contents = Vec::new();
    Read::take(file, bytes).read_to_end(&mut contents)?;
    Ok(contents)
}

#[cfg(test)]
mod tests;
