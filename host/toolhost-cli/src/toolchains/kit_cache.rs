//! Keeps a copy of each kit in the user's cache, in a folder named by its digest, so that several versions
//! can be installed. All of it may be deleted.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::kit::{CONTRACT, Kit, contract, write_files};
use anyhow::{Context, Result, ensure};
use toolhost::text::shell_word;

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

    /// Returns why builds refuse a folder. None if it does not exist yet.
    pub(crate) fn refusal(folder: &Path) -> Option<String> {
        let refused = folder.exists().then(|| check_private(folder).err());
        refused.flatten().map(|error| format!("{error:#}"))
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

/// Makes a folder that only this user can write. Build programs in it run with the user's rights.
fn make_folder(folder: &Path) -> Result<()> {
    let cannot = || format!("{} cannot be created", folder.display());
    let mut builder = DirBuilder::new();
    let builder = builder.recursive(true).mode(0o700);
    builder.create(folder).with_context(cannot)?;
    check_private(folder)
}

/// Checks that only this user can write a folder.
fn check_private(folder: &Path) -> Result<()> {
    let cannot = || format!("{} cannot be read", folder.display());
    let found = fs::metadata(folder).with_context(cannot)?;
    let path = shell_word(&folder.to_string_lossy()).into_owned();
    ensure!(
        found.uid() == rustix::process::geteuid().as_raw(),
        "{path} belongs to another user: set another XDG_CACHE_HOME"
    );
    ensure!(
        found.mode() & 0o022 == 0,
        "other users can write {path}: run `rm -r {path}`, and it is made again"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_folder_that_others_can_write_is_refused() {
        let top = tempfile::tempdir().unwrap();
        let kits = KitCache::new(top.path());
        let folder = kits.folder("a").unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o077, 0);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
        let refused = kits.folder("a").unwrap_err().to_string();
        assert!(refused.contains("run `rm -r "), "{refused}");
    }
}
