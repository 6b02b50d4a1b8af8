//! Keeps a copy of each kit in the user's cache, in a folder named by its digest, so that several versions
//! can be installed. All of it may be deleted.

use std::fs;
use std::path::{Path, PathBuf};

use super::kit::{CONTRACT, Kit, contract, write_files};
use anyhow::{Context, Result};

/// A file that marks a complete folder.
const COMPLETE: &str = ".complete";

/// The folder of kits in the user's cache.
#[derive(Debug, Clone)]
pub(crate) struct KitCache {
    dir: PathBuf,
}

impl KitCache {
    pub(crate) fn new(cache: &Path) -> Self {
        Self {
            dir: cache.join("kits"),
        }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether a folder was filled.
    pub(crate) fn is_complete(folder: &Path) -> bool {
        folder.join(COMPLETE).exists()
    }

    /// Returns a folder for build programs to use.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.dir.join(name);
        make_folder(&folder)?;
        Ok(folder)
    }

    /// Returns the folder of a kit: its files and the contract, completed by `install`.
    pub(crate) async fn builder<E: From<anyhow::Error>>(
        &self,
        kit: Kit,
        install: impl AsyncFnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let fill = async |folder: &Path| {
            write_files(kit.builder(), folder, "")?;
            write_files(contract(), folder, CONTRACT)?;
            install(folder).await
        };
        make_folder(&self.dir)?;
        self.complete(self.dir.join(kit.id()), fill).await
    }

    /// Returns a folder that `fill` fills once. If that fails or is interrupted, the next call starts again.
    /// Of several processes one fills the folder, and the others wait.
    ///
    /// # Errors
    /// The error of `fill`.
    pub(crate) async fn complete<E: From<anyhow::Error>>(
        &self,
        folder: PathBuf,
        fill: impl AsyncFnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let complete = folder.join(COMPLETE);
        if complete.exists() {
            return Ok(folder);
        }
        let mut beside = folder.clone().into_os_string();
        beside.push(".lock");
        let _held = crate::files::lock(Path::new(&beside)).await?;
        if complete.exists() {
            return Ok(folder);
        }
        if folder.exists() {
            let cannot = || format!("{} cannot be removed", folder.display());
            fs::remove_dir_all(&folder).with_context(cannot)?;
        }
        make_folder(&folder)?;
        fill(&folder).await?;
        let cannot = || format!("{} cannot be written", complete.display());
        fs::write(&complete, "").with_context(cannot)?;
        Ok(folder)
    }
}

/// The contract in the folder of a kit.
pub(crate) fn contract_dir(kit: &Path) -> PathBuf {
    kit.join(CONTRACT)
}

fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be created", folder.display()))
}
