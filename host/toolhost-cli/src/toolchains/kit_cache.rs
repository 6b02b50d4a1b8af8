//! Keeps a copy of each kit in the user's cache, in a folder named by its digest, so that several versions
//! can be installed. All of it may be deleted.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::kit::{CONTRACT, Kit, contract, write_files};
use anyhow::{Context, Result, anyhow};
use toolhost::text::shell_word;
use toolhost_files::{NotPrivate, PrivateDir};

/// A file that marks a complete folder.
const COMPLETE: &str = ".complete";

/// The folder of kits in the user's cache.
#[derive(Debug, Clone)]
pub(crate) struct KitCache {
    cache: PathBuf,
    dir: PathBuf,
}

impl KitCache {
    pub(crate) fn new(cache: &Path) -> Self {
        Self {
            cache: cache.to_owned(),
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
        match PrivateDir::open(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Some(format!("{:#}", unusable(error, folder)))
            }
            Ok(_) | Err(_) => None,
        }
    }

    /// Makes a folder that only this user can write to. Build programs in it run with the user's rights.
    fn make(&self, folder: &Path) -> Result<()> {
        let made = PrivateDir::make_beneath(&self.cache, folder);
        made.map(drop).map_err(|error| unusable(error, folder))
    }

    /// Returns a folder for build programs to use.
    pub(crate) fn folder(&self, name: impl AsRef<Path>) -> Result<PathBuf> {
        let folder = self.dir.join(name);
        self.make(&folder)?;
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
        self.make(&self.dir)?;
        self.complete(self.dir.join(kit.id()), fill).await
    }

    /// Returns a folder that `fill` fills once. If that fails or is interrupted, the next call starts again.
    /// One process fills the folder, and others wait.
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
        self.make(&folder)?;
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

/// Says what to do with a folder that is not private: others may have changed what lies in it.
fn unusable(error: io::Error, folder: &Path) -> anyhow::Error {
    let path = shell_word(&folder.to_string_lossy()).into_owned();
    match NotPrivate::of(&error) {
        Some(fault) => anyhow!(
            "{}: run `rm -r {path}`, and it is made again, or set another XDG_CACHE_HOME",
            fault.finding()
        ),
        None => anyhow!(error).context(format!("{} cannot be used", folder.display())),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

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
