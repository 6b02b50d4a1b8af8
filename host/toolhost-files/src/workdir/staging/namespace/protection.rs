//! Names that a write protection keeps free.

use std::collections::HashSet;

use rustix::fs::fstat;
use rustix::io::Errno;
use toolhost_contract::{FileId, NameChange};

use super::{Namespace, Origin, Slot, note};
use crate::workdir::protected::ProtectedSet;
use crate::workdir::staging::contents::open_dir;
use crate::workdir::staging::error::LISTED_MAX;
use crate::workdir::staging::renames::is_gone;
use crate::workdir::staging::stamp::{FileKind, of_stat};
use crate::workdir::staging::tree::read_tree;
use crate::workdir::tree_path::TreePath;

impl Namespace<'_> {
    /// Returns what it means that something gets a name.
    pub(super) fn change(&self, placed: usize) -> Result<NameChange, Errno> {
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
    pub(super) fn check_new_dir(
        &mut self,
        slot: &Slot,
        path: &TreePath,
        placed: usize,
    ) -> Result<(), Errno> {
        let node = self.node(placed)?;
        let is_new_dir =
            node.kind == Some(FileKind::Dir) && matches!(node.origin, Origin::Staging(_));
        if !is_new_dir || self.protects_nothing() {
            return Ok(());
        }
        let made = {
            let place = self.place(&node.origin)?;
            open_dir(&place.parent, place.name)?
        };
        let Some(parent) = self.parent_id(slot)? else {
            return Ok(());
        };
        let tree = read_tree(made, &HashSet::new())
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        let mut names = vec![slot.name.to_string()];
        for entry in &tree {
            names.truncate(entry.depth());
            let change = match entry.kind() {
                FileKind::Dir => NameChange::NewFolder,
                FileKind::Link => NameChange::FolderOrLink,
                FileKind::File | FileKind::Other => NameChange::File,
            };
            if (self.protected).forbids_beneath(parent, &names, entry.name(), change) {
                let beneath = names.get(1..).unwrap_or_default().join("/");
                let path = path.to_string();
                let beneath = [&*path, &beneath, entry.name()].into_iter();
                let parts: Vec<_> = beneath.filter(|part| !part.is_empty()).collect();
                if self.forbidden.len() < LISTED_MAX {
                    self.forbidden.insert(parts.join("/"));
                }
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
    fn parent_id(&mut self, slot: &Slot) -> Result<Option<FileId>, Errno> {
        let origin = self.origin_in(slot.dir, &slot.name)?;
        match self.place(&origin) {
            Ok(place) => Ok(Some(of_stat(&fstat(&place.parent)?).id)),
            Err(errno) if is_gone(errno) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Notes that a name is write-protected, if so.
    pub(super) fn check_name(
        &mut self,
        slot: &Slot,
        path: &TreePath,
        change: NameChange,
    ) -> Result<(), Errno> {
        if self.protects_nothing() {
            return Ok(());
        }
        let parent = self.parent_id(slot)?;
        if parent.is_some_and(|parent| self.protected.forbids(parent, &slot.name, change)) {
            note(&mut self.forbidden, path);
        }
        Ok(())
    }
}
