//! Where kits are laid out: a folder of the user's cache for each, named by its digest, so that kits of
//! two versions stand beside each other. Whatever lies there may be deleted.

use std::fs;
use std::path::{Path, PathBuf};

use super::kit::{CONTRACT, Kit, contract, write_files};
use anyhow::{Context, Result};

/// Says that a folder is complete.
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

    /// A folder that programs keep what they like in.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.dir.join(name);
        make_folder(&folder)?;
        Ok(folder)
    }

    /// The folder of a kit's builder: laid out with the contract, and then completed by `install`.
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

    /// A folder, filled once: where filling it fails, or is interrupted, it is filled anew the next time.
    /// Of several processes one fills it, and the others wait.
    ///
    /// # Errors
    /// What filling it failed with.
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

/// The contract, laid out in the folder of a kit.
pub(crate) fn contract_dir(kit: &Path) -> PathBuf {
    kit.join(CONTRACT)
}

fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))
}
