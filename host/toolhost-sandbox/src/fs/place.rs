//! Where a name is made, moved or removed.

use std::io;

use cap_std::fs::{Dir, File, Metadata, MetadataExt};

use super::open::open_path;
use crate::bindings::filesystem::types::PathFlags;

/// A name in a directory. The way there is walked once and held, so that what was looked at is what
/// is changed, even while another call swaps what lies on the way.
pub(super) struct Place<'a> {
    start: &'a Dir,
    parent: Option<Dir>,
    name: &'a str,
}

impl<'a> Place<'a> {
    pub(super) fn of(start: &'a Dir, path: &'a str) -> io::Result<Self> {
        let way = path
            .trim_end_matches('/')
            .rsplit_once('/')
            .filter(|(parent, name)| !parent.is_empty() && !["", ".", ".."].contains(name));
        let Some((way, _)) = way else {
            // A single name, or one that no change is possible under.
            return Ok(Self {
                start,
                parent: None,
                name: path,
            });
        };
        Ok(Self {
            start,
            parent: Some(start.open_dir(way)?),
            name: path.get(way.len() + 1..).unwrap_or(path),
        })
    }

    fn dir(&self) -> &Dir {
        self.parent.as_ref().unwrap_or(self.start)
    }

    /// Whether the name ends in a slash: it then means a directory.
    pub(super) fn means_dir(&self) -> bool {
        self.name.ends_with('/')
    }

    /// What bears the name, held. None where nothing does.
    pub(super) fn look(&self) -> io::Result<Option<Held>> {
        match open_path(self.dir(), self.name, PathFlags::empty()) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found.and_then(Held::of).map(Some),
        }
    }

    pub(super) fn remove_file(&self) -> io::Result<()> {
        self.dir().remove_file(self.name)
    }

    pub(super) fn remove_dir(&self) -> io::Result<()> {
        // cap-std takes `d/` for `d/.`, which cannot be removed.
        let name = match self.name.trim_end_matches('/') {
            "" => self.name,
            name => name,
        };
        self.dir().remove_dir(name)
    }

    pub(super) fn rename(&self, to: &Place<'_>) -> io::Result<()> {
        self.dir().rename(self.name, to.dir(), to.name)
    }

    pub(super) fn hard_link(&self, to: &Place<'_>) -> io::Result<()> {
        self.dir().hard_link(self.name, to.dir(), to.name)
    }
}

/// What bore a name when it was looked at.
pub(super) struct Held {
    handle: File,
    pub(super) metadata: Metadata,
}

impl Held {
    fn of(handle: File) -> io::Result<Self> {
        let metadata = handle.metadata()?;
        Ok(Self { handle, metadata })
    }

    /// Bytes that went with its last name: none where the name was no longer its own, or where it
    /// has others.
    pub(super) fn freed(&self) -> u64 {
        let was_last = self.metadata.is_file() && self.metadata.nlink() == 1;
        let now = self.handle.metadata().ok();
        now.filter(|now| was_last && now.nlink() == 0)
            .map_or(0, |gone| gone.len())
    }
}
