//! Checks a list of renames against the workdir before the first of them: each is looked up as the ones before
//! it will have left the workdir.

use std::collections::{BTreeSet, HashMap, HashSet};

use cap_std::fs::Dir;
use toolhost_contract::{FileId, NameChange};
use toolhost_system::fs::fstat;
use toolhost_system::io::Errno;

use super::change_set::{ChangeSet, RenameOp};
use super::error::CommitError;
use super::journal::{JournalOp, is_path};
use super::private::open_dir;
use super::renames::{Mounts, Place, Renames, place};
use super::stamp::{FileKind, Stamp, of_stat};
use super::tree::{LeftStamp, read_tree};
use crate::platform::device;
use crate::workdir::WriteProtected;
use crate::workdir::protected::ProtectedSet;

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
    pub(super) path: String,
    pub(super) stamp: LeftStamp,
    /// Its name in the staging directory if the transaction made it and it is a directory.
    pub(super) new_dir: Option<String>,
}

/// Checks the stamps and the free names of a change set.
///
/// # Errors
/// [`CommitError::Conflict`] with all conflicts, [`CommitError::WriteProtected`] with all that is protected,
/// and [`CommitError::Failed`].
pub(super) fn check(
    renames: &Renames<'_>,
    set: &ChangeSet,
    protected: &WriteProtected,
) -> Result<Checked, CommitError> {
    let failed = |path: &str, errno: Errno| failed(path, errno);
    let top = fstat(renames.workdir).map_err(|errno| failed(".", errno))?;
    let mut namespace = Namespace {
        renames: *renames,
        device: device(&top),
        protected: protected.current(),
        nodes: vec![Node::default()],
        entries: HashMap::new(),
        staged: HashMap::new(),
        placed: Vec::new(),
        conflicts: BTreeSet::new(),
        forbidden: BTreeSet::new(),
    };
    for (path, seen) in &set.read {
        let now = renames.at_path(path).map_err(|errno| failed(path, errno))?;
        if !now.is_some_and(|now| seen.is_unchanged(&now)) {
            namespace.conflicts.insert(path.clone());
        }
    }
    let mut ops = Vec::with_capacity(set.ops.len());
    for op in &set.ops {
        match namespace.apply(op) {
            Ok(checked) => ops.extend(checked),
            // What a conflict leaves may not fit together.
            Err(_) if !namespace.conflicts.is_empty() => break,
            Err(errno) => return Err(failed(path_of(op), errno)),
        }
    }
    namespace.finish(ops)
}

fn failed(path: &str, errno: Errno) -> CommitError {
    let step = match errno {
        Errno::XDEV => format!("renaming `{path}`, where another file system is mounted,"),
        _ => format!("looking up `{path}`"),
    };
    let source = errno.into();
    CommitError::Failed { step, source }
}

fn path_of(op: &RenameOp) -> &str {
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
    entries: HashMap<(usize, String), Option<usize>>,
    /// What the renames have put into the staging directory.
    staged: HashMap<String, usize>,
    placed: Vec<usize>,
    conflicts: BTreeSet<String>,
    forbidden: BTreeSet<String>,
}

/// A file, directory or link.
#[derive(Debug, Default, Clone)]
struct Node {
    origin: Origin,
    /// The directory and the name that it has by now. None in the staging directory.
    at: Option<(usize, String)>,
    /// Once it was looked up.
    inode: u64,
    kind: Option<FileKind>,
}

/// Where something is before the first rename.
#[derive(Debug, Clone)]
enum Origin {
    /// At a path of the workdir, empty for the workdir itself.
    Workdir(String),
    /// At a path of the staging directory.
    Staging(String),
}

impl Default for Origin {
    fn default() -> Self {
        Self::Workdir(String::new())
    }
}

impl Origin {
    fn child(&self, name: &str) -> Self {
        let join = |above: &str| match above {
            "" => name.to_owned(),
            above => format!("{above}/{name}"),
        };
        match self {
            Self::Workdir(path) => Self::Workdir(join(path)),
            Self::Staging(path) => Self::Staging(join(path)),
        }
    }
}

/// A name in a directory.
struct Slot {
    dir: usize,
    name: String,
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
    fn child(&mut self, dir: usize, name: &str) -> Result<Option<usize>, Errno> {
        let key = (dir, name.to_owned());
        if let Some(known) = self.entries.get(&key) {
            return Ok(*known);
        }
        let origin = self.node(dir)?.origin.child(name);
        let at = Some(key.clone());
        let found = self.add(Node {
            origin,
            at,
            ..Node::default()
        });
        self.entries.insert(key, Some(found));
        Ok(Some(found))
    }

    /// Returns the directory and the name of a path. None if a directory on it is gone.
    fn slot(&mut self, path: &str) -> Result<Option<Slot>, Errno> {
        if !is_path(path) {
            return Err(Errno::INVAL);
        }
        let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut dir = 0;
        for name in above.split('/').filter(|name| !name.is_empty()) {
            match self.child(dir, name)? {
                Some(found) => dir = found,
                None => return Ok(None),
            }
        }
        let name = name.to_owned();
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
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Applies one rename. None if there is a conflict.
    fn apply(&mut self, op: &RenameOp) -> Result<Option<JournalOp>, Errno> {
        let path = path_of(op).to_owned();
        let Some(slot) = self.slot(&path)? else {
            self.conflicts.insert(path);
            return Ok(None);
        };
        match op {
            RenameOp::Put { staged, .. } => {
                let placed = self.unstage(staged)?;
                self.check_name(&slot, &path, self.change(placed)?)?;
                self.check_new_dir(&slot, &path, placed)?;
                if !self.is_free(&slot)? {
                    self.conflicts.insert(path);
                    return Ok(None);
                }
                let inode = self.put(placed, slot)?;
                let staged = staged.clone();
                Ok(Some(JournalOp::Put {
                    staged,
                    path,
                    inode,
                }))
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
                let (staged, inode) = (staged.clone(), expected.id.inode);
                Ok(Some(JournalOp::Take {
                    path,
                    staged,
                    inode,
                }))
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
                let (staged, replaced) = (staged.clone(), expected.id.inode);
                Ok(Some(JournalOp::Exchange {
                    staged,
                    path,
                    inode,
                    replaced,
                }))
            }
        }
    }

    /// Returns what is at a name, if it is as it was seen.
    fn expect(
        &mut self,
        slot: &Slot,
        path: &str,
        expected: &Stamp,
    ) -> Result<Option<usize>, Errno> {
        let found = self.child(slot.dir, &slot.name)?;
        let now = match found {
            Some(found) => self.stamp(&self.node(found)?.origin.clone())?,
            None => None,
        };
        let (Some(found), Some(now)) = (found, now) else {
            self.conflicts.insert(path.to_owned());
            return Ok(None);
        };
        if now.id.device != self.device {
            return Err(Errno::XDEV);
        }
        if !expected.is_unchanged(&now) {
            self.conflicts.insert(path.to_owned());
            return Ok(None);
        }
        if self.protected.contains(now.id) {
            self.forbidden.insert(path.to_owned());
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
        let dir = self.node(slot.dir)?.origin.clone();
        match self.place(&dir.child(&slot.name)) {
            Ok(place) => Ok(place.stamp()?.is_none()),
            // Its directory is gone.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(false),
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
            origin: Origin::Staging(staged.to_owned()),
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

    /// Returns what it means that something gets a name.
    fn change(&self, placed: usize) -> Result<NameChange, Errno> {
        let node = self.node(placed)?;
        let is_new = matches!(node.origin, Origin::Staging(_));
        Ok(match node.kind {
            // What is in it is checked by itself.
            Some(FileKind::Dir) if is_new => NameChange::NewFolder,
            Some(FileKind::Dir | FileKind::Link) => NameChange::FolderOrLink,
            Some(FileKind::File | FileKind::Other) | None => NameChange::File,
        })
    }

    /// Notes that a directory that the transaction made brings something whose name is write-protected, if so.
    fn check_new_dir(&mut self, slot: &Slot, path: &str, placed: usize) -> Result<(), Errno> {
        let node = self.node(placed)?;
        let is_new_dir =
            node.kind == Some(FileKind::Dir) && matches!(node.origin, Origin::Staging(_));
        if !is_new_dir || self.protects_nothing() {
            return Ok(());
        }
        let place = self.place(&node.origin)?;
        let made = open_dir(&place.parent, place.name)?;
        let Some(parent) = self.parent_id(slot)? else {
            return Ok(());
        };
        let tree = read_tree(made, &HashSet::new())
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let mut names = vec![slot.name.clone()];
        for entry in &tree {
            names.truncate(entry.depth());
            let change = match entry.kind() {
                FileKind::Dir => NameChange::NewFolder,
                FileKind::Link => NameChange::FolderOrLink,
                FileKind::File | FileKind::Other => NameChange::File,
            };
            if (self.protected).forbids_beneath(parent, &names, entry.name(), change) {
                let beneath = names.get(1..).unwrap_or_default().join("/");
                let beneath = [path, &beneath, entry.name()].into_iter();
                let parts: Vec<_> = beneath.filter(|part| !part.is_empty()).collect();
                self.forbidden.insert(parts.join("/"));
            }
            names.push(entry.name().to_owned());
        }
        Ok(())
    }

    fn protects_nothing(&self) -> bool {
        matches!(&self.protected, ProtectedSet::Listed(listed) if listed.is_empty())
    }

    /// Returns the identity of the directory that holds a name. None if it is not there: a conflict, which is
    /// found next.
    fn parent_id(&self, slot: &Slot) -> Result<Option<FileId>, Errno> {
        let dir = self.node(slot.dir)?.origin.clone();
        match self.place(&dir.child(&slot.name)) {
            Ok(place) => Ok(Some(of_stat(&fstat(&place.parent)?).id)),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Notes that a name is write-protected, if so.
    fn check_name(&mut self, slot: &Slot, path: &str, change: NameChange) -> Result<(), Errno> {
        if self.protects_nothing() {
            return Ok(());
        }
        let parent = self.parent_id(slot)?;
        if parent.is_some_and(|parent| self.protected.forbids(parent, &slot.name, change)) {
            self.forbidden.insert(path.to_owned());
        }
        Ok(())
    }

    /// Returns the path that something has by now. None if it is in the staging directory.
    fn path(&self, index: usize) -> Result<Option<String>, Errno> {
        let (mut names, mut here) = (Vec::new(), index);
        while here != 0 {
            let Some((above, name)) = &self.node(here)?.at else {
                return Ok(None);
            };
            names.push(name.as_str());
            here = *above;
        }
        names.reverse();
        Ok(Some(names.join("/")))
    }

    fn finish(self, ops: Vec<JournalOp>) -> Result<Checked, CommitError> {
        let all = |found: &BTreeSet<String>| found.iter().cloned().collect();
        if !self.forbidden.is_empty() {
            let files = all(&self.forbidden);
            return Err(CommitError::WriteProtected { files });
        }
        if !self.conflicts.is_empty() {
            let files = all(&self.conflicts);
            return Err(CommitError::Conflict { files });
        }
        let mut placed = Vec::new();
        let mut known = HashSet::new();
        for index in self.placed.iter().filter(|index| known.insert(**index)) {
            let found = self.placed(*index);
            placed.extend(found.map_err(|errno| failed("a renamed file", errno))?);
        }
        let staged = self.staged.into_keys().collect();
        Ok(Checked {
            ops,
            placed,
            staged,
        })
    }

    fn placed(&self, index: usize) -> Result<Option<Placed>, Errno> {
        let node = self.node(index)?;
        let new_dir = match (&node.origin, node.kind) {
            (Origin::Staging(name), Some(FileKind::Dir)) => Some(name.clone()),
            _ => None,
        };
        let Some(path) = self.path(index)? else {
            return Ok(None);
        };
        let found = self.place(&node.origin)?.stat()?.ok_or(Errno::STALE)?;
        let stamp = LeftStamp::of(&found);
        if stamp.inode() != node.inode {
            return Err(Errno::STALE);
        }
        Ok(Some(Placed {
            path,
            stamp,
            new_dir,
        }))
    }
}

/// Returns the staged directory of this name.
pub(super) fn staged_dir(staging: &Dir, name: &str) -> Result<Dir, Errno> {
    open_dir(staging, name)
}
