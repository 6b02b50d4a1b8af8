//! What a transaction has changed so far: entries of directories, keyed by the directory's identity.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::sync::Weak;

use toolhost_contract::FileId;
use toolhost_system::io::Errno;

use super::open_lower::OpenLower;
use crate::workdir::staging::{FileKind, Staging, Stamp};

/// A name in a directory, which may be of either layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NameIn {
    pub(super) dir: FileId,
    pub(super) name: String,
}

/// What a name of the merged view shows in place of the lower layer's entry.
#[derive(Debug, Clone)]
pub(super) enum Shown {
    /// What has this name in the staging directory.
    Staged { flat: String, kind: FileKind },
    /// What the lower layer has at this path.
    Moved { path: String, stamp: Stamp },
}

impl Shown {
    pub(super) fn kind(&self) -> FileKind {
        match self {
            Self::Staged { kind, .. } => *kind,
            Self::Moved { stamp, .. } => stamp.kind,
        }
    }
}

/// A changed entry of a directory.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    /// What the lower layer has at this name. None in a staged directory, and where the name is new.
    pub(super) hides: Option<Stamp>,
    /// None where the name is removed.
    pub(super) shows: Option<Shown>,
}

/// Where a directory lies.
#[derive(Debug, Clone)]
pub(super) enum DirPlace {
    /// In the lower layer at this path; the call may have given it another name.
    Lower { path: String, moved: Option<NameIn> },
    /// It was made by the call.
    Staged(NameIn),
}

/// A directory that was made, moved or removed, or whose entries were changed.
#[derive(Debug, Clone)]
pub(super) struct DirNode {
    pub(super) place: DirPlace,
    pub(super) entries: BTreeMap<String, Entry>,
    /// Whether it is a directory of the lower layer that the call removed.
    pub(super) is_removed: bool,
}

impl DirNode {
    pub(super) fn new(place: DirPlace) -> Self {
        Self {
            place,
            entries: BTreeMap::new(),
            is_removed: false,
        }
    }

    pub(super) fn is_staged(&self) -> bool {
        matches!(self.place, DirPlace::Staged(_))
    }
}

/// A regular file of the lower layer that the call has opened.
#[derive(Debug, Default)]
pub(super) struct LowerFile {
    /// The name by which it was opened for writing: where its copy is put.
    pub(super) home: Option<NameIn>,
    pub(super) open: Vec<Weak<OpenLower>>,
}

impl LowerFile {
    /// Lets all handles read and write a copy.
    pub(super) fn switch_to(&self, copy: &File) -> Result<(), Errno> {
        let mut open = self.open.iter().filter_map(Weak::upgrade);
        open.try_for_each(|file| match file.is_staged() {
            true => Ok(()),
            false => file.switch_to(copy),
        })
    }
}

/// The path of a file of the lower layer that was opened.
#[derive(Debug)]
pub(super) enum ReadPath {
    /// Its path in the lower layer.
    Real(String),
    /// The path from the workdir by which it was opened: plain names, of which some may be symlinks. Its path in
    /// the lower layer is found for the commit only, which most calls that read do not have.
    Opened(String),
}

/// What a transaction has changed so far.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Made by the first change.
    pub(super) staging: Option<Staging>,
    /// Whether the staging directory was handed over to a commit, or cannot be made.
    pub(super) is_closed: bool,
    pub(super) dirs: HashMap<FileId, DirNode>,
    /// Moved entries of the lower layer, by their path there.
    pub(super) moved: HashMap<String, FileId>,
    pub(super) files: HashMap<FileId, LowerFile>,
    /// The lower file of each staged copy.
    pub(super) origins: HashMap<FileId, FileId>,
    /// How many names of a lower file were removed.
    pub(super) unlinked: HashMap<FileId, u64>,
    /// Lower files that were opened, by their paths in the lower layer, as they were at first.
    pub(super) opened: HashMap<FileId, (ReadPath, Stamp)>,
}

/// Joins a path of the workdir, which is empty for the workdir itself, and a name.
pub(super) fn join(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}/{name}"),
    }
}

impl State {
    pub(super) fn staging(&self) -> Result<&Staging, Errno> {
        self.staging.as_ref().ok_or(Errno::IO)
    }

    pub(super) fn entry(&self, dir: FileId, name: &str) -> Option<&Entry> {
        self.dirs.get(&dir)?.entries.get(name)
    }

    pub(super) fn is_staged(&self, dir: FileId) -> bool {
        self.dirs.get(&dir).is_some_and(DirNode::is_staged)
    }

    pub(super) fn is_removed(&self, dir: FileId) -> bool {
        self.dirs.get(&dir).is_some_and(|node| node.is_removed)
    }

    /// Returns a directory's path in the lower layer. None of a staged one.
    pub(super) fn lower_path(&self, dir: FileId) -> Option<&str> {
        match &self.dirs.get(&dir)?.place {
            DirPlace::Lower { path, .. } => Some(path),
            DirPlace::Staged(_) => None,
        }
    }

    /// Returns the identity that guests know a file by: of a staged copy, that of the lower file.
    pub(super) fn identity(&self, id: FileId) -> FileId {
        self.origins.get(&id).copied().unwrap_or(id)
    }

    /// Shows something at a name. `hides` is the entry of the lower layer there, if it is shown until now.
    pub(super) fn show(&mut self, at: &NameIn, hides: Option<Stamp>, shown: Shown) {
        if let Shown::Moved { path, stamp } = &shown {
            self.moved.insert(path.clone(), stamp.id);
        }
        let entries = self.dirs.get_mut(&at.dir).map(|node| &mut node.entries);
        let Some(entries) = entries else {
            return;
        };
        let new = || Entry { hides, shows: None };
        let entry = entries.entry(at.name.clone()).or_insert_with(new);
        if let Some(Shown::Moved { path, .. }) = entry.shows.replace(shown) {
            self.moved.remove(&path);
        }
    }

    /// Shows nothing at a name. `hides` is the entry of the lower layer there, if it is shown until now.
    pub(super) fn hide(&mut self, dir: FileId, name: &str, hides: Option<Stamp>) {
        let entries = self.dirs.get_mut(&dir).map(|node| &mut node.entries);
        let Some(entries) = entries else {
            return;
        };
        let new = || Entry { hides, shows: None };
        let entry = entries.entry(name.to_owned()).or_insert_with(new);
        if let Some(Shown::Moved { path, .. }) = entry.shows.take() {
            self.moved.remove(&path);
        }
        if entry.hides.is_none() {
            entries.remove(name);
        }
    }

    /// Shows the lower layer's own entry at a name again.
    pub(super) fn reset(&mut self, dir: FileId, name: &str) {
        if let Some(node) = self.dirs.get_mut(&dir) {
            node.entries.remove(name);
        }
    }

    /// Returns a directory's path in the merged view; `None` if it is not there.
    pub(super) fn merged_path(&self, dir: FileId) -> Option<String> {
        let mut names = Vec::new();
        let mut here = dir;
        loop {
            let node = self.dirs.get(&here).filter(|node| !node.is_removed)?;
            let at = match &node.place {
                DirPlace::Staged(at)
                | DirPlace::Lower {
                    moved: Some(at), ..
                } => at,
                DirPlace::Lower { path, moved: None } => match self.moved_above(path) {
                    Some((above, rest)) => {
                        names.push(rest);
                        here = above;
                        continue;
                    }
                    None => {
                        names.push(path);
                        break;
                    }
                },
            };
            names.push(&at.name);
            here = at.dir;
        }
        names.reverse();
        names.retain(|name| !name.is_empty());
        Some(names.join("/"))
    }

    /// Returns the nearest moved directory above a path of the lower layer, and the path beneath it.
    fn moved_above<'a>(&self, path: &'a str) -> Option<(FileId, &'a str)> {
        if self.moved.is_empty() {
            return None;
        }
        path.rmatch_indices('/').find_map(|(slash, _)| {
            let (above, rest) = path.split_at_checked(slash)?;
            let id = self.moved.get(above)?;
            Some((*id, rest.strip_prefix('/')?))
        })
    }
}
