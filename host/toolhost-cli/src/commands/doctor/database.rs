//! The database of the state root. A copy of it is opened: opening the database itself would write to it.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;
use toolhost::agents::{Orchestrator, OrchestratorConfig};
use toolhost::state::Database;
use toolhost::text::shell_word;
use toolhost_files::PrivateFile;

use super::directories::STATE;
use super::finding::Finding;
use crate::files::spawn_blocking;
use crate::settings::Settings;
use crate::terminal::progress::size;

/// The database, and the changes that are not in it yet.
const FILES: [&str; 2] = ["toolhost.db", "toolhost.db-wal"];

/// Largest database that is copied, in bytes.
const COPIED_MAX: u64 = 1 << 30;

/// Longest wait until the copy is closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn examine(settings: &Settings) -> Option<Finding> {
    let root = settings.dirs.state_root.clone()?;
    let finding = |value: String| Finding::ok(STATE, "database", value);
    if let Ok(Some(database)) = Database::elsewhere(&root) {
        return Some(finding(format!("is {database}, was not opened")));
    }
    let path = root.join(FILES[0]);
    let bytes = match fs::symlink_metadata(&path) {
        Ok(metadata) => metadata.len(),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return root
                .is_dir()
                .then(|| finding("is created when it is needed".to_owned()));
        }
        // The finding about the directory says why.
        Err(_) => return None,
    };
    if bytes > COPIED_MAX {
        return Some(finding(format!("{}, was not opened", size(bytes))));
    }
    let word = shell_word(&path.to_string_lossy()).into_owned();
    let next = format!("mv {word} {word}.bad   # a new one is created; its pending calls are lost");
    Some(match open_copy(&root).await {
        Ok(()) => finding(format!("{}, opens", size(bytes))),
        Err(error) => finding(format!("{}: {error:#}", path.display())).error(next),
    })
}

async fn open_copy(root: &Path) -> anyhow::Result<()> {
    let root = root.to_owned();
    let copy = spawn_blocking(move || {
        let copy = tempfile::tempdir()?;
        for name in FILES {
            match copy_file(&root.join(name), &copy.path().join(name)) {
                Err(error) if name != FILES[0] && error.kind() == ErrorKind::NotFound => {}
                copied => copied?,
            }
        }
        Ok(copy)
    });
    let copy = copy.await?;
    let orchestrator = Orchestrator::open(copy.path(), OrchestratorConfig::default()).await?;
    orchestrator.shutdown(CLOSE_TIMEOUT).await;
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = PrivateFile::open_own(from, OFlags::RDONLY)?;
    io::copy(&mut from, &mut File::create_new(to)?).map(drop)
}
