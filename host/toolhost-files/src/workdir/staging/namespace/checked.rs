//! What the renames lead to.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use rustix::io::Errno;

use super::{Checked, Namespace, Origin, Placed, failed};
use crate::workdir::staging::error::CommitError;
use crate::workdir::staging::plan::JournalOp;
use crate::workdir::staging::renames::is_gone;
use crate::workdir::staging::stamp::FileKind;
use crate::workdir::staging::tree::LeftStamp;
use crate::workdir::tree_path::TreePath;

impl Namespace<'_> {
    /// Returns the path that a directory has after the last rename. None if it is in the staging directory.
    fn dir_path(&mut self, dir: usize) -> Result<Option<Arc<str>>, Errno> {
        if let Some(path) = self.merged_paths.get(&dir) {
            return Ok(path.clone());
        }
        let (mut names, mut here) = (Vec::new(), dir);
        while here != 0 {
            let Some((above, name)) = &self.node(here)?.at else {
                names.clear();
                break;
            };
            names.push(&**name);
            here = *above;
        }
        names.reverse();
        let path = (here == 0).then(|| Arc::from(names.join("/")));
        self.merged_paths.insert(dir, path.clone());
        Ok(path)
    }

    /// Returns the path that something has after the last rename. None if it is in the staging directory.
    fn path(&mut self, index: usize) -> Result<Option<TreePath>, Errno> {
        let Some((dir, name)) = self.node(index)?.at.clone() else {
            return Ok(None);
        };
        let above = self.dir_path(dir)?;
        Ok(above.map(|above| TreePath::new(above, name)))
    }

    pub(super) fn finish(
        mut self,
        ops: Vec<JournalOp>,
        in_time: &dyn Fn() -> Result<(), CommitError>,
    ) -> Result<Checked, CommitError> {
        let all = |found: BTreeSet<String>| found.into_iter().collect();
        if !self.forbidden.is_empty() {
            let files = all(self.forbidden);
            return Err(CommitError::WriteProtected { files });
        }
        if !self.conflicts.is_empty() {
            let files = all(self.conflicts);
            return Err(CommitError::Conflict { files });
        }
        let mut placed = Vec::new();
        let mut seen = HashSet::new();
        for index in std::mem::take(&mut self.placed) {
            in_time()?;
            if seen.insert(index) {
                placed.extend(self.placed(index)?);
            }
        }
        let staged = self.staged.into_keys().collect();
        Ok(Checked {
            ops,
            placed,
            staged,
        })
    }

    fn placed(&mut self, index: usize) -> Result<Option<Placed>, CommitError> {
        let refused = |errno| failed(&"a renamed file", errno);
        let Some(path) = self.path(index).map_err(refused)? else {
            return Ok(None);
        };
        let node = self.node(index).map_err(refused)?;
        let new_dir = match (&node.origin, node.kind) {
            (Origin::Staging(at), Some(FileKind::Dir)) => Some(at.name().to_owned()),
            _ => None,
        };
        let stat = match self.place(&node.origin).and_then(|place| place.stat()) {
            Err(errno) if is_gone(errno) => None,
            stat => stat.map_err(refused)?,
        };
        let stamp = stat.as_ref().map(LeftStamp::of);
        // Another program removed or replaced it after it was checked.
        let Some(stamp) = stamp.filter(|stamp| stamp.inode() == node.inode) else {
            let files = vec![path.to_string()];
            return Err(CommitError::Conflict { files });
        };
        Ok(Some(Placed {
            path,
            stamp,
            new_dir,
        }))
    }
}
