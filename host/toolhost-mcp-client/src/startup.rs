//! How servers are started: those that do not answer `server/discover` are remembered.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};

use crate::config::{McpServerConfig, McpTransport};

/// How long a server is started with `initialize` before it is asked again: it may be a newer release.
const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 3600);

/// The first request to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Startup {
    /// `server/discover`, which servers since revision 2026-07-28 answer.
    Discover,
    /// `initialize`, with which all others begin. Some of them end at any other request.
    Initialize,
}

/// The first request to one server, from one start to the next.
pub(crate) struct Startups {
    /// A file that is there if the server did not answer.
    file: Option<PathBuf>,
    must_initialize: AtomicBool,
}

impl Startups {
    pub(crate) fn of(config: &McpServerConfig) -> Self {
        let file = config.state_dir.as_ref().map(|dir| dir.join(key(config)));
        let is_remembered = file.as_deref().is_some_and(is_recent);
        Self {
            must_initialize: AtomicBool::new(is_remembered),
            file,
        }
    }

    pub(crate) fn next(&self) -> Startup {
        if self.must_initialize.load(Ordering::Relaxed) {
            Startup::Initialize
        } else {
            Startup::Discover
        }
    }

    /// Remembers that the server does not answer `server/discover`.
    pub(crate) fn remember(&self) {
        self.must_initialize.store(true, Ordering::Relaxed);
        let result = self.file.as_deref().map(write).transpose();
        // Without the file the next process asks again.
        if let Err(error) = result {
            tracing::debug!(target: "toolhost::mcp", %error, "the start of a server is not remembered");
        }
    }
}

/// Returns a file name for a program and its arguments, or for a URL.
fn key(config: &McpServerConfig) -> String {
    let mut digest = Sha256::new();
    let mut add = |part: &[u8]| {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    };
    match &config.transport {
        McpTransport::Stdio(stdio) => {
            add(stdio.program.as_bytes());
            stdio.args.iter().for_each(|arg| add(arg.as_bytes()));
            add(stdio.dir.as_os_str().as_encoded_bytes());
        }
        McpTransport::Http(http) => add(http.url.as_bytes()),
    }
    toolhost::text::hex(digest.finalize().iter().take(16))
}

fn is_recent(file: &Path) -> bool {
    let modified = fs::symlink_metadata(file).and_then(|file| file.modified());
    modified.is_ok_and(|at| {
        SystemTime::now()
            .duration_since(at)
            .is_ok_and(|age| age < REMEMBERED)
    })
}

fn write(file: &Path) -> io::Result<()> {
    if let Some(dir) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    // A link is removed, and not followed.
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)?;
    file.write_all(b"initialize\n")
}

#[cfg(test)]
mod tests {
    use toolhost::ResourceName;

    use super::*;
    use crate::config::StdioServer;

    #[test]
    fn a_server_that_did_not_answer_is_remembered_for_a_week_by_its_command() {
        let dir = tempfile::tempdir().unwrap();
        let config = |args: [&str; 2]| {
            let name = ResourceName::parse("srv").unwrap();
            let server = StdioServer::new("python3", args);
            let mut config = McpServerConfig::new(name, McpTransport::Stdio(server));
            config.state_dir = Some(dir.path().join("mcp-startups"));
            config
        };
        let (one, other) = (config(["a", "b"]), config(["ab", ""]));
        let next = |config| Startups::of(config).next();
        assert_eq!(next(&one), Startup::Discover);
        let startups = Startups::of(&one);
        startups.remember();
        assert_eq!(startups.next(), Startup::Initialize);
        startups.remember();
        assert_eq!(
            (next(&one), next(&other)),
            (Startup::Initialize, Startup::Discover)
        );
        let file = startups.file.unwrap();
        let week_ago = SystemTime::now() - REMEMBERED;
        let opened = OpenOptions::new().write(true).open(&file).unwrap();
        opened.set_modified(week_ago).unwrap();
        assert_eq!(next(&one), Startup::Discover);
        // Without a directory it is remembered as long as the handle lives.
        let mut nowhere = config(["a", "b"]);
        nowhere.state_dir = None;
        let startups = Startups::of(&nowhere);
        startups.remember();
        assert_eq!(
            (startups.next(), next(&nowhere)),
            (Startup::Initialize, Startup::Discover)
        );
    }
}
