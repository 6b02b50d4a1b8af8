//! Checks a list of renames against the workdir before the first of them: each is looked up as the ones before
//! it will have left the workdir.

mod checked;
mod protection;

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::Arc;

use cap_std::fs::Dir;
use rustix::fs::fstat;
use rustix::io::Errno;
use toolhost_contract::NameChange;

use super::change_set::{ChangeSet, RenameOp};
use super::clock::CommitClock;
use super::contents::open_dir;
use super::error::{CommitError, LISTED_MAX};
use super::plan::{JournalOp, Way, is_tree_path};
use super::renames::{Mounts, Place, Renames, is_gone, place};
use super::stamp::{FileKind, Stamp};
use super::tree::LeftStamp;
use crate::platform::device;
use crate::workdir::WriteProtected;
use crate::workdir::protected::ProtectedSet;
use crate::workdir::tree_path::TreePath;

/// A list of renames that nothing conflicts with.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) ops: Vec<JournalOp>,
    /// What will have a new name in the workdir, or new content.
    pub(super) placed: Vec<Placed>,
    /// The names in the staging directory of what will be there after the last rename.
    pub(super) staged: Vec<String>,
}

/// A file, directory or link that the renames give a name.
#[derive(Debug)]
pub(super) struct Placed {
    /// Its path after the last rename.
    pub(super) path: TreePath,
    pub(super) stamp: LeftStamp,
    /// Its name in the staging directory if the transaction made it and it is a directory.
    pub(super) new_dir: Option<String>,
}

/// Checks the stamps and the free names of a change set.
///
/// # Errors
/// [`CommitError::Conflict`] with all conflicts, [`CommitError::WriteProtected`] with all that is protected,
/// [`CommitError::Failed`] and, with a clock, [`CommitError::Late`].
pub(super) fn check(
    renames: &Renames<'_>,
    set: &ChangeSet,
    protected: &WriteProtected,
    clock: Option<&CommitClock>,
) -> Result<Checked, CommitError> {
    let in_time = || clock.map_or(Ok(()), CommitClock::check);
    let top = fstat(renames.workdir).map_err(|errno| failed(&".", errno))?;
    let mut namespace = Namespace {
        renames: *renames,
        device: device(&top),
        protected: protected.current(),
        nodes: vec![Node::default()],
        entries: HashMap::new(),
        staged: HashMap::new(),
        last_dir: None,
        merged_paths: HashMap::new(),
        placed: Vec::new(),
        conflicts: BTreeSet::new(),
        forbidden: BTreeSet::new(),
    };
    for (path, seen) in &set.read {
        in_time()?;
        let now = renames.at_path(path).map_err(|errno| failed(path, errno))?;
        if !now.is_some_and(|now| seen.is_unchanged(&now)) {
            note(&mut namespace.conflicts, path);
        }
    }
    let mut ops = Vec::with_capacity(set.ops.len());
    for op in &set.ops {
        in_time()?;
        match namespace.apply(op) {
            Ok(checked) => ops.extend(checked),
            // What a conflict leaves may not fit together.
            Err(_) if !namespace.conflicts.is_empty() => break,
            Err(errno) => return Err(failed(path_of(op), errno)),
        }
    }
    namespace.finish(ops, &in_time)
}

/// Notes a path for an error.
fn note(paths: &mut BTreeSet<String>, path: &TreePath) {
    if paths.len() < LISTED_MAX {
        paths.insert(path.to_string());
    }
}

fn failed(path: &impl fmt::Display, errno: Errno) -> CommitError {
    let step = match errno {
        Errno::XDEV => format!("renaming `{path}`, where another file system is mounted,"),
        _ => format!("looking up `{path}`"),
    };
    CommitError::failed(step, errno)
}

fn path_of(op: &RenameOp) -> &TreePath {
    match op {
        RenameOp::Put { path, .. }
        | RenameOp::Take { path, .. }
        | RenameOp::Exchange { path, .. } => path,
    }
}

/// The workdir as the renames so far will have left it.
struct Namespace<'a> {
    renames: Renames<'a>,
    device: u64,
    protected: ProtectedSet,
    /// What has been looked up. The first is the workdir.
    nodes: Vec<Node>,
    /// The names in directories that were looked up. None where the renames have freed the name.
    entries: HashMap<(usize, Arc<str>), Option<usize>>,
    /// What the renames have put into the staging directory.
    staged: HashMap<String, usize>,
    /// The directory of the last path. A rename moves no directory above its own path, so that it stays where it is.
    last_dir: Option<(Arc<str>, usize)>,
    /// The paths of directories after the last rename.
    merged_paths: HashMap<usize, Option<Arc<str>>>,
    placed: Vec<usize>,
    conflicts: BTreeSet<String>,
    forbidden: BTreeSet<String>,
}

/// A file, directory or link.
#[derive(Debug, Default, Clone)]
struct Node {
    origin: Origin,
    /// The path of a directory before the first rename, once something in it was looked up.
    path: Option<Arc<str>>,
    /// The directory and the name that it has by now. None in the staging directory.
    at: Option<(usize, Arc<str>)>,
    /// Once it was looked up.
    inode: u64,
    kind: Option<FileKind>,
}

/// Where something is before the first rename.
#[derive(Debug, Clone)]
enum Origin {
    /// At a path of the workdir, without a name for the workdir itself.
    Workdir(TreePath),
    /// At a path of the staging directory.
    Staging(TreePath),
}

impl Default for Origin {
    fn default() -> Self {
        Self::Workdir(TreePath::from(""))
    }
}

/// A name in a directory.
struct Slot {
    dir: usize,
    name: Arc<str>,
}

impl Namespace<'_> {
    fn node(&self, index: usize) -> Result<&Node, Errno> {
        self.nodes.get(index).ok_or(Errno::INVAL)
    }

    fn node_mut(&mut self, index: usize) -> Result<&mut Node, Errno> {
        self.nodes.get_mut(index).ok_or(Errno::INVAL)
    }

    fn add(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Returns what a name stands for by now. None if the renames have freed it. What was not looked up
    /// before need not exist.
    fn child(&mut self, dir: usize, name: &Arc<str>) -> Result<Option<usize>, Errno> {
        let key = (dir, Arc::clone(name));
        if let Some(known) = self.entries.get(&key) {
            return Ok(*known);
        }
        let origin = self.origin_in(dir, name)?;
        let at = Some(key.clone());
        let found = self.add(Node {
            origin,
            at,
            ..Node::default()
        });
        self.entries.insert(key, Some(found));
        Ok(Some(found))
    }

    /// Returns where a name in a directory is before the first rename, if the directory is what it was.
    fn origin_in(&mut self, dir: usize, name: &Arc<str>) -> Result<Origin, Errno> {
        let node = self.node_mut(dir)?;
        let (Origin::Workdir(at) | Origin::Staging(at)) = &node.origin;
        let above = node.path.get_or_insert_with(|| at.to_string().into());
        let path = TreePath::new(Arc::clone(above), Arc::clone(name));
        Ok(match node.origin {
            Origin::Workdir(_) => Origin::Workdir(path),
            Origin::Staging(_) => Origin::Staging(path),
        })
    }

    /// Returns the directory and the name of a path. None if a directory on it is gone.
    fn slot(&mut self, path: &TreePath) -> Result<Option<Slot>, Errno> {
        let name = Arc::clone(path.shared_name());
        if let Some((above, dir)) = &self.last_dir
            && above == path.above()
        {
            let dir = *dir;
            return Ok(Some(Slot { dir, name }));
        }
        if !is_tree_path(path) {
            return Err(Errno::INVAL);
        }
        let mut dir = 0;
        for name in path.above().split('/').filter(|name| !name.is_empty()) {
            match self.child(dir, &name.into())? {
                Some(found) => dir = found,
                None => return Ok(None),
            }
        }
        self.last_dir = Some((Arc::clone(path.above()), dir));
        Ok(Some(Slot { dir, name }))
    }

    /// Opens the directory in which something is before the first rename.
    fn place<'p>(&self, origin: &'p Origin) -> Result<Place<'p>, Errno> {
        match origin {
            Origin::Workdir(path) => self.renames.place(path),
            Origin::Staging(path) => place(self.renames.staging, path, Mounts::Refused),
        }
    }

    fn stamp(&self, origin: &Origin) -> Result<Option<Stamp>, Errno> {
        match self.place(origin) {
            Ok(place) => place.stamp(),
            Err(errno) if is_gone(errno) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Applies one rename. None if there is a conflict.
    fn apply(&mut self, op: &RenameOp) -> Result<Option<JournalOp>, Errno> {
        let path = path_of(op).to_owned();
        let Some(slot) = self.slot(&path)? else {
            note(&mut self.conflicts, &path);
            return Ok(None);
        };
        let (way, staged, inode) = match op {
            RenameOp::Put { staged, .. } => {
                let placed = self.unstage(staged)?;
                self.check_name(&slot, &path, self.change(placed)?)?;
                self.check_new_dir(&slot, &path, placed)?;
                if !self.is_free(&slot)? {
                    note(&mut self.conflicts, &path);
                    return Ok(None);
                }
                (Way::Put, staged, self.put(placed, slot)?)
            }
            RenameOp::Take {
                staged, expected, ..
            } => {
                self.check_name(&slot, &path, NameChange::Remove)?;
                let Some(taken) = self.expect(&slot, &path, expected)? else {
                    // Goes on, to find all conflicts.
                    let missing = self.add(Node::default());
                    self.stage(staged, missing)?;
                    return Ok(None);
                };
                self.entries.insert((slot.dir, slot.name), None);
                self.stage(staged, taken)?;
                (Way::Take, staged, expected.id.inode)
            }
            RenameOp::Exchange {
                staged, expected, ..
            } => {
                let placed = self.unstage(staged)?;
                self.check_name(&slot, &path, self.change(placed)?)?;
                let Some(replaced) = self.expect(&slot, &path, expected)? else {
                    return Ok(None);
                };
                let inode = self.put(placed, slot)?;
                self.stage(staged, replaced)?;
                let replaced = expected.id.inode;
                (Way::Exchange { replaced }, staged, inode)
            }
        };
        let staged = staged.clone();
        Ok(Some(JournalOp {
            way,
            staged,
            path,
            inode,
        }))
    }

    /// Returns what is at a name, if it is as it was seen.
    fn expect(
        &mut self,
        slot: &Slot,
        path: &TreePath,
        expected: &Stamp,
    ) -> Result<Option<usize>, Errno> {
        let found = self.child(slot.dir, &slot.name)?;
        let now = match found {
            Some(found) => self.stamp(&self.node(found)?.origin.clone())?,
            None => None,
        };
        let (Some(found), Some(now)) = (found, now) else {
            note(&mut self.conflicts, path);
            return Ok(None);
        };
        if now.id.device != self.device {
            return Err(Errno::XDEV);
        }
        if !expected.is_unchanged(&now) {
            note(&mut self.conflicts, path);
            return Ok(None);
        }
        if self.protected.contains(now.id) {
            note(&mut self.forbidden, path);
        }
        let node = self.node_mut(found)?;
        (node.inode, node.kind) = (now.id.inode, Some(now.kind));
        Ok(Some(found))
    }

    fn is_free(&mut self, slot: &Slot) -> Result<bool, Errno> {
        let key = (slot.dir, slot.name.clone());
        match self.entries.get(&key) {
            Some(None) => return Ok(true),
            // Looked up before: it was taken, or it exists.
            Some(Some(known)) if self.node(*known)?.kind.is_some() => return Ok(false),
            Some(Some(_)) | None => {}
        }
        let origin = self.origin_in(slot.dir, &slot.name)?;
        match self.place(&origin) {
            Ok(place) => Ok(place.stamp()?.is_none()),
            // Its directory is gone.
            Err(errno) if is_gone(errno) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    /// Takes something out of the staging directory.
    fn unstage(&mut self, staged: &str) -> Result<usize, Errno> {
        if let Some(taken) = self.staged.remove(staged) {
            return Ok(taken);
        }
        let found = self.renames.staged(staged)?.ok_or(Errno::NOENT)?;
        Ok(self.add(Node {
            origin: Origin::Staging(staged.into()),
            path: None,
            at: None,
            inode: found.id.inode,
            kind: Some(found.kind),
        }))
    }

    fn stage(&mut self, staged: &str, taken: usize) -> Result<(), Errno> {
        self.node_mut(taken)?.at = None;
        match self.staged.insert(staged.to_owned(), taken) {
            None => Ok(()),
            Some(_) => Err(Errno::EXIST),
        }
    }

    /// Gives something a name, and returns its inode.
    fn put(&mut self, placed: usize, slot: Slot) -> Result<u64, Errno> {
        let at = (slot.dir, slot.name);
        self.entries.insert(at.clone(), Some(placed));
        self.placed.push(placed);
        let node = self.node_mut(placed)?;
        node.at = Some(at);
        Ok(node.inode)
    }
}

/// Returns the staged directory of this name.
pub(super) fn staged_dir(staging: &Dir, name: &str) -> Result<Dir, Errno> {
    open_dir(staging, name)
}
