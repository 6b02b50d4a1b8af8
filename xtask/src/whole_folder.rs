//! Fills a folder of `target/` as a whole.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, Result};

/// Returns what `installed` finds in `prefix`; fills it first where that is none.
///
/// All is made in a folder beside it, which is renamed at the end: an interrupted installation leaves
/// nothing that looks finished. Of two at once the second waits for the first.
pub(crate) fn fill<T>(
    prefix: &Path,
    installed: impl Fn() -> Option<T>,
    fill: impl FnOnce(&Path) -> Result<T>,
) -> Result<T> {
    if let Some(parent) = prefix.parent() {
        fs::create_dir_all(parent).context("cannot make the target directory")?;
    }
    let lock = File::create(prefix.with_extension("lock")).context("cannot make a lock file")?;
    lock.lock().context("cannot lock the installation")?;
    if let Some(installed) = installed() {
        return Ok(installed);
    }
    let unfinished = prefix.with_extension("unfinished");
    remove(&unfinished)?;
    let filled = fill(&unfinished)?;
    remove(prefix)?;
    fs::rename(&unfinished, prefix)
        .with_context(|| format!("cannot rename a folder to {}", prefix.display()))?;
    Ok(filled)
}

fn remove(dir: &Path) -> Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", dir.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use anyhow::bail;

    use super::fill;

    #[test]
    fn a_folder_appears_once_it_is_whole() {
        let dir = std::env::temp_dir().join(format!("xtask-folder-{}", std::process::id()));
        let prefix = dir.join("it");
        let installed = || fs::read_to_string(prefix.join("marker")).ok();
        let failed = fill(&prefix, installed, |folder| {
            fs::create_dir_all(folder)?;
            fs::write(folder.join("half"), "")?;
            bail!("interrupted")
        });
        assert_eq!(failed.unwrap_err().to_string(), "interrupted");
        assert!(!prefix.exists());
        let filled = fill(&prefix, installed, |folder| {
            assert!(!folder.exists());
            fs::create_dir_all(folder)?;
            fs::write(folder.join("marker"), "1")?;
            Ok("1".to_owned())
        });
        assert_eq!(filled.unwrap(), "1");
        let again = fill(&prefix, installed, |_| bail!("it is installed"));
        assert_eq!(again.unwrap(), "1");
        fs::remove_dir_all(dir).unwrap();
    }
}
