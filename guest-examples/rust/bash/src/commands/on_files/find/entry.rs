//! An entry of a walk. What it is comes from its folder; the rest is read when a test asks for it.

use std::cell::OnceCell;
use std::io;
use std::path::PathBuf;

use bashkit::{FileType, Metadata};

use super::super::names::base;
use crate::commands::call::Call;
use crate::status::Status;

pub(super) struct Entry {
    /// The name that is printed.
    pub(super) shown: String,
    /// How much of `shown` is the operand in which the walk began.
    pub(super) root: usize,
    pub(super) depth: usize,
    /// Where it is, before links.
    pub(super) path: PathBuf,
    /// Where that is whose metadata counts: after links, if they are followed.
    pub(super) place: PathBuf,
    /// What is there.
    pub(super) kind: FileType,
    /// Whether a link stands for what it leads to.
    pub(super) follows: bool,
    metadata: OnceCell<Metadata>,
    status: OnceCell<Status>,
}

impl Entry {
    pub(super) fn new(
        call: &Call,
        (shown, root): (String, usize),
        depth: usize,
        path: PathBuf,
        kind: FileType,
        follows: bool,
    ) -> Self {
        let mut entry = Self {
            shown,
            root,
            depth,
            place: path.clone(),
            path,
            kind,
            follows,
            metadata: OnceCell::new(),
            status: OnceCell::new(),
        };
        if follows
            && kind.is_symlink()
            && let Ok(place) = call.files.target(&entry.path)
            && let Ok(metadata) = call.files.metadata(&place)
        {
            entry.kind = metadata.file_type;
            entry.metadata = OnceCell::from(metadata);
            entry.place = place;
        }
        entry
    }

    pub(super) fn metadata(&self, call: &Call) -> io::Result<&Metadata> {
        if let Some(metadata) = self.metadata.get() {
            return Ok(metadata);
        }
        let metadata = call.files.metadata(&self.place)?;
        Ok(self.metadata.get_or_init(|| metadata))
    }

    pub(super) fn status(&self, call: &Call) -> io::Result<&Status> {
        if let Some(status) = self.status.get() {
            return Ok(status);
        }
        let status = call.files.status(&self.place)?;
        Ok(self.status.get_or_init(|| status))
    }

    pub(super) fn size(&self, call: &Call) -> io::Result<u64> {
        if self.kind.is_dir() {
            return Ok(self.status(call)?.size);
        }
        Ok(self.metadata(call)?.size)
    }

    /// The last part of the name.
    pub(super) fn name(&self) -> &str {
        base(&self.shown)
    }

    /// What `-xtype` tests: the link where others follow it, and what it leads to where they do not.
    pub(super) fn other_kind(&self, call: &Call) -> FileType {
        let metadata = if self.follows {
            call.files.metadata(&self.path)
        } else if self.kind.is_symlink() {
            call.files.target_metadata(&self.path)
        } else {
            return self.kind;
        };
        metadata.map_or(FileType::Symlink, |metadata| metadata.file_type)
    }

    pub(super) fn link_target(&self, call: &Call) -> Option<String> {
        let target = self
            .kind
            .is_symlink()
            .then(|| call.files.read_link(&self.place));
        target?
            .ok()
            .map(|target| target.to_string_lossy().into_owned())
    }
}
