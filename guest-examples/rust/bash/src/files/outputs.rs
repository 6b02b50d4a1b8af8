//! Files of output redirections, which are open from before a command runs until its output is there.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};

use bashkit::{FileSystem as _, normalize_path};

use super::{Files, now, opened};

/// The most files that are open; beyond it, the first are closed.
const MOST: usize = 32;

impl Files {
    fn outputs(&self) -> MutexGuard<'_, Vec<(PathBuf, File)>> {
        self.outputs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes and opens the file of an output redirection to `path`, which leads to `target`.
    pub(super) fn open_output(&self, path: &Path, target: &Path, append: bool) -> io::Result<()> {
        let target = normalize_path(target);
        if let Some(scratch) = self.scratch(&target) {
            return if append {
                now(scratch.append_file(&target, b""))
            } else {
                now(scratch.write_file(&target, b""))
            };
        }
        let mut options = OpenOptions::new();
        options
            .create(true)
            .write(true)
            .append(append)
            .truncate(!append);
        let file = self.make(&target, 0o666, || options.open(&target));
        let file = opened(&target, file)?;
        let mut outputs = self.outputs();
        if outputs.len() >= MOST {
            outputs.remove(0);
        }
        outputs.push((path.to_owned(), file));
        Ok(())
    }

    /// Writes to the file that was last opened for a path, or else to the end of what is there.
    pub(super) fn write_output(
        &self,
        path: &Path,
        content: &[u8],
        is_last: bool,
    ) -> io::Result<()> {
        {
            let mut outputs = self.outputs();
            if let Some(index) = outputs.iter().rposition(|(opened, _)| opened == path) {
                if is_last {
                    let (_, mut file) = outputs.remove(index);
                    return file.write_all(content);
                }
                if let Some((_, file)) = outputs.get_mut(index) {
                    return file.write_all(content);
                }
            }
        }
        if content.is_empty() && is_last {
            return Ok(());
        }
        match self.target(path) {
            Ok(target) => self.append(&target, content),
            Err(_) => self.append(path, content),
        }
    }
}
