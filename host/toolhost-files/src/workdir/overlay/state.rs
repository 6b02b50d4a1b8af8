//! What a transaction has changed so far: entries of directories, keyed by the directory's identity.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::sync::{Arc, Weak};

use rustix::io::Errno;
use toolhost_contract::FileId;

use super::open_lower::OpenLower;
use super::snapshot::Snapshot;
use crate::accounting::call_memory::{CallMemory, HeldMemory};
use crate::workdir::entry::NameIn;
use crate::workdir::staging::{FileKind, Staging, Stamp};
use crate::workdir::tree_path::{ByPath, TreePath};

/// What a name of the merged view shows in place of the lower layer's entry.
#[derive(Debug, Clone)]
pub(super) enum Shown {
    /// What has this name in the staging directory.
    Staged { flat: String, kind: FileKind },
    /// What the lower layer has at this path.
    Moved { path: TreePath, stamp: Stamp },
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
    Lower {
        path: Arc<str>,
        moved: Option<NameIn>,
    },
    /// It was made by the call.
    Staged(NameIn),
}

/// A directory that was made, moved or removed, or whose entries were changed.
#[derive(Debug, Clone)]
pub(super) struct DirNode {
    pub(super) place: DirPlace,
    pub(super) entries: BTreeMap<Arc<str>, Entry>,
    /// The entries as open listings show them, until the next change.
    pub(super) snapshot: Weak<Snapshot>,
    /// Whether it is a directory of the lower layer that the call removed.
    pub(super) is_removed: bool,
}

impl DirNode {
    pub(super) fn new(place: DirPlace) -> Self {
        Self {
            place,
            entries: BTreeMap::new(),
            snapshot: Weak::new(),
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
        open.try_for_each(|file| {
            if file.is_staged() {
                Ok(())
            } else {
                file.switch_to(copy)
            }
        })
    }
}

/// The path of a file of the lower layer that was opened.
#[derive(Debug)]
pub(super) enum ReadPath {
    /// Its path in the lower layer.
    Real(TreePath),
    /// The path from the workdir by which it was opened: plain names, of which some may be symlinks. Its path in
    /// the lower layer is found for the commit only, which most calls that read do not have.
    Opened(TreePath),
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
    pub(super) moved: ByPath,
    pub(super) files: HashMap<FileId, LowerFile>,
    /// The lower file of each staged copy.
    pub(super) origins: HashMap<FileId, FileId>,
    /// How many names of a lower file were removed.
    pub(super) unlinked: HashMap<FileId, u64>,
    /// Lower files that were opened, by their paths in the lower layer, as they were at first.
    pub(super) opened: HashMap<FileId, (ReadPath, Stamp)>,
    /// The paths of directories, each once.
    paths: HashSet<Arc<str>>,
    /// Bytes of memory for all this, and for its commit.
    bytes: u64,
    /// What was taken from the memory of the calls: at least `bytes` before the last change.
    held: Vec<HeldMemory>,
    held_bytes: u64,
    /// The memory of the call that began last.
    memory: Option<Arc<CallMemory>>,
}

/// Bytes of memory for a changed name, beside its own: here, in the list of renames, in the check of the list and
/// in the journal.
const NAME_BYTES: u64 = 1_280;

/// Bytes of memory for a name in a directory that the transaction has made: the commit reads it.
const MADE_NAME_BYTES: u64 = 512;

/// Bytes of memory for a directory that was changed, beside its path.
const DIR_BYTES: u64 = 768;

/// Bytes of memory for a file that was opened.
const OPENED_BYTES: u64 = 896;

/// How often the path of a directory is held: of the lower layer, of the merged view, and in the journal.
const PATH_COPIES: u64 = 4;

/// Bytes of memory that are taken at once.
const STEP_BYTES: u64 = 32 << 10;

/// Joins a path of the workdir, which is empty for the workdir itself, and a name.
pub(super) fn join(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        path => format!("{path}/{name}"),
    }
}

fn of_name(name: &str) -> u64 {
    NAME_BYTES + name.len() as u64
}

fn of_dir(node: &DirNode) -> u64 {
    let path = match &node.place {
        DirPlace::Lower { path, .. } => path.len(),
        // It may get other names.
        DirPlace::Staged(_) => 64,
    };
    DIR_BYTES + PATH_COPIES * path as u64
}

impl State {
    /// Counts what the transaction holds from now on for a call.
    pub(super) fn charge_to(&mut self, memory: Arc<CallMemory>) {
        self.memory = Some(memory);
    }

    /// Takes the memory for the changes so far. What the next change adds is bounded: a name, and paths.
    ///
    /// # Errors
    /// `ENOMEM` where it exceeds a limit.
    pub(super) fn take_memory(&mut self) -> Result<(), Errno> {
        let more = self.bytes.saturating_sub(self.held_bytes);
        let Some(memory) = self.memory.as_ref().filter(|_| more > 0) else {
            return Ok(());
        };
        let mut held = memory.hold();
        let more = more.next_multiple_of(STEP_BYTES);
        if !held.grow(more) {
            return Err(Errno::NOMEM);
        }
        self.held_bytes += more;
        self.held.push(held);
        Ok(())
    }

    /// Takes memory for something that lives longer than a change.
    pub(super) fn hold(&self, bytes: u64) -> Result<Option<HeldMemory>, Errno> {
        let Some(memory) = &self.memory else {
            return Ok(None);
        };
        let mut held = memory.hold();
        if held.grow(bytes) {
            Ok(Some(held))
        } else {
            Err(Errno::NOMEM)
        }
    }

    /// Returns a path of the lower layer, whose directory is shared.
    pub(super) fn path(&mut self, path: &str) -> TreePath {
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        TreePath::new(self.share(above), name.into())
    }

    fn share(&mut self, path: &str) -> Arc<str> {
        if let Some(shared) = self.paths.get(path) {
            return Arc::clone(shared);
        }
        let shared: Arc<str> = path.into();
        self.bytes += PATH_COPIES * path.len() as u64;
        self.paths.insert(Arc::clone(&shared));
        shared
    }

    pub(super) fn insert_dir(&mut self, id: FileId, node: DirNode) {
        self.bytes += of_dir(&node);
        if let Some(former) = self.dirs.insert(id, node) {
            self.bytes -= of_dir(&former);
        }
    }

    pub(super) fn remove_dir(&mut self, id: FileId) {
        if let Some(former) = self.dirs.remove(&id) {
            let names = former.entries.keys().map(|name| of_name(name));
            self.bytes -= of_dir(&former) + names.sum::<u64>();
        }
    }

    /// Notes a file that was opened, as it was at first.
    pub(super) fn note_opened(&mut self, id: FileId, path: ReadPath, stamp: Stamp) {
        let (ReadPath::Real(at) | ReadPath::Opened(at)) = &path;
        self.bytes += OPENED_BYTES + at.name().len() as u64;
        self.opened.insert(id, (path, stamp));
    }

    /// Notes a name in a directory that the transaction has made.
    pub(super) fn note_made(&mut self, name: &str) {
        self.bytes += MADE_NAME_BYTES + name.len() as u64;
    }

    pub(super) fn staging(&self) -> Result<&Staging, Errno> {
        self.staging.as_ref().ok_or(Errno::IO)
    }

    pub(super) fn entry(&self, dir: FileId, name: &str) -> Option<&Entry> {
        self.dirs.get(&dir)?.entries.get(name)
    }

    /// Returns the name in the staging directory of what a name shows, if that lies there.
    pub(super) fn flat(&self, dir: FileId, name: &str) -> Option<&str> {
        match self.entry(dir, name)?.shows.as_ref()? {
            Shown::Staged { flat, .. } => Some(flat),
            Shown::Moved { .. } => None,
        }
    }

    /// Notes a directory of the lower layer, unless that was done, and its path there.
    pub(super) fn note_lower_dir(
        &mut self,
        id: FileId,
        path: impl FnOnce(&Self) -> Result<Arc<str>, Errno>,
    ) -> Result<(), Errno> {
        if !self.dirs.contains_key(&id) {
            let path = path(self)?;
            self.insert_dir(id, DirNode::new(DirPlace::Lower { path, moved: None }));
        }
        Ok(())
    }

    pub(super) fn is_staged(&self, dir: FileId) -> bool {
        self.dirs.get(&dir).is_some_and(DirNode::is_staged)
    }

    pub(super) fn is_removed(&self, dir: FileId) -> bool {
        self.dirs.get(&dir).is_some_and(|node| node.is_removed)
    }

    /// Returns a directory's path in the lower layer. None of a staged one.
    pub(super) fn lower_path(&self, dir: FileId) -> Option<&Arc<str>> {
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
            self.moved.insert(path, stamp.id);
        }
        let Some(entry) = self.entry_mut(at.dir, &at.name, hides) else {
            return;
        };
        if let Some(Shown::Moved { path, .. }) = entry.shows.replace(shown) {
            self.moved.remove(&path);
        }
    }

    /// Shows nothing at a name. `hides` is the entry of the lower layer there, if it is shown until now.
    pub(super) fn hide(&mut self, dir: FileId, name: &str, hides: Option<Stamp>) {
        let Some(entry) = self.entry_mut(dir, name, hides) else {
            return;
        };
        let is_new = entry.hides.is_none();
        if let Some(Shown::Moved { path, .. }) = entry.shows.take() {
            self.moved.remove(&path);
        }
        if is_new {
            self.reset(dir, name);
        }
    }

    /// Returns the entry of a name that is about to change.
    fn entry_mut(&mut self, dir: FileId, name: &str, hides: Option<Stamp>) -> Option<&mut Entry> {
        let node = self.dirs.get_mut(&dir)?;
        node.snapshot = Weak::new();
        if !node.entries.contains_key(name) {
            self.bytes += of_name(name);
            let entry = Entry { hides, shows: None };
            node.entries.insert(name.into(), entry);
        }
        node.entries.get_mut(name)
    }

    /// Shows the lower layer's own entry at a name again.
    pub(super) fn reset(&mut self, dir: FileId, name: &str) {
        if let Some(node) = self.dirs.get_mut(&dir)
            && node.entries.remove(name).is_some()
        {
            node.snapshot = Weak::new();
            self.bytes -= of_name(name);
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
            let (in_dir, name) = above.rsplit_once('/').unwrap_or(("", above));
            let id = self.moved.get(in_dir, name)?;
            Some((id, rest.strip_prefix('/')?))
        })
    }
}
