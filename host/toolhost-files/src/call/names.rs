//! Creates, links, moves and removes names.

use cap_primitives::fs::MetadataExt;
use cap_std::fs::{Dir, Metadata};
use rustix::io::Errno;
use toolhost_contract::{FileId, NameChange};

use super::budget::Budget;
use super::files::CallFiles;
use crate::workdir::{
    ChangeGuard, Entry, EntryName, FileError, FileResult, FreedSpace, Target, Tree,
};

impl CallFiles {
    /// Creates a directory.
    pub fn create_dir(&self, dir: &Dir, path: &str) -> FileResult<()> {
        self.check_writable()?;
        let name = self.tree.name(dir, path)?;
        self.create_name(&name, NameChange::NewFolder, || name.create_dir())
    }

    /// Creates a symlink.
    pub fn create_symlink(&self, dir: &Dir, path: &str, target: &str) -> FileResult<()> {
        self.check_writable()?;
        if target.starts_with('/') {
            return Err(FileError::Outside);
        }
        let name = self.tree.name(dir, path)?;
        let change = NameChange::FolderOrLink;
        self.create_name(&name, change, || name.create_symlink(target))
    }

    /// Gives what a path leads to a second name.
    pub fn hard_link(&self, from: (&Dir, &str), to: (&Dir, &str)) -> FileResult<()> {
        self.check_writable()?;
        let from = self.tree.name(from.0, from.1)?;
        let to = self.tree.name(to.0, to.1)?;
        let linked = self.find_unprotected(&from, NameChange::File)?;
        let linked = linked.ok_or(Errno::NOENT)?;
        // Checked before the system does, which follows a symlink if a slash follows its name.
        if linked.entry.metadata.is_dir() {
            return Err(Errno::PERM.into());
        }
        self.create_name(&to, linked.brings(), || {
            from.hard_link(&to, &|bytes| self.budget.stage(bytes))
        })
    }

    /// Creates a name if it is not write-protected and the budget allows one more.
    fn create_name(
        &self,
        name: &EntryName<'_>,
        change: NameChange,
        create: impl FnOnce() -> Result<(), Errno>,
    ) -> FileResult<()> {
        let _name = self.budget.lock([name.target()?])?;
        self.check_name(name, change)?;
        self.budget.create(create)?;
        self.record(|changes, root| changes.created(name.path_in(root)));
        Ok(())
    }

    /// Removes a name of a file, a link or the like.
    pub fn remove_file(&self, dir: &Dir, path: &str) -> FileResult<()> {
        self.remove(dir, path, |name| name.remove_file())
    }

    /// Removes an empty directory.
    pub fn remove_dir(&self, dir: &Dir, path: &str) -> FileResult<()> {
        self.remove(dir, path, |name| name.remove_dir())
    }

    fn remove(
        &self,
        dir: &Dir,
        path: &str,
        remove: impl FnOnce(&EntryName<'_>) -> Result<(), Errno>,
    ) -> FileResult<()> {
        self.check_writable()?;
        let (name, budget) = (self.tree.name(dir, path)?, &self.budget);
        let _name = budget.lock([name.target()?])?;
        let mut removed = self.find_unprotected(&name, NameChange::Remove)?;
        let lock = |removed: &mut Leaving<'_>| removed.lock_size(budget);
        let _size = removed.as_mut().map(lock).transpose()?;
        remove(&name)?;
        self.record(|changes, root| changes.removed(name.path_in(root)));
        let freed = removed.map(|removed| removed.freed(budget));
        budget.removed(freed.unwrap_or_default());
        Ok(())
    }

    /// Moves what has one name to another, and replaces what has that.
    pub fn rename(&self, from: (&Dir, &str), to: (&Dir, &str)) -> FileResult<()> {
        self.check_writable()?;
        let from = self.tree.name(from.0, from.1)?;
        let to = self.tree.name(to.0, to.1)?;
        let budget = &self.budget;
        let _names = budget.lock([from.target()?, to.target()?])?;
        let moved = self.find_unprotected(&from, NameChange::Remove)?;
        let change = moved.as_ref().map_or(NameChange::File, Leaving::brings);
        if let Some(folder) = moved
            .as_ref()
            .filter(|_| change == NameChange::FolderOrLink)
        {
            // Case files may lie in it by now, and would be moved away with it.
            self.check_unprotected_now(folder.id)?;
        }
        let replaced = self.find_unprotected(&to, change)?;
        if let (Some(moved), Some(replaced)) = (&moved, &replaced) {
            self.keep_replaced_mode(&moved.entry, &replaced.entry)?;
        }
        // The system keeps both names if they are of one file.
        let moved = moved.map(|moved| moved.id);
        let was_there = replaced.is_some();
        let mut replaced = replaced.filter(|replaced| moved != Some(replaced.id));
        let is_one = was_there && replaced.is_none();
        let lock = |replaced: &mut Leaving<'_>| replaced.lock_size(budget);
        let _size = replaced.as_mut().map(lock).transpose()?;
        from.rename(&to)?;
        if !is_one {
            self.record(|changes, root| {
                changes.renamed(from.path_in(root), to.path_in(root), was_there);
            });
        }
        if let Some(replaced) = replaced {
            budget.removed(replaced.freed(budget));
        }
        Ok(())
    }

    /// Finds an entry that is about to be moved, removed or replaced, if it exists and is not
    /// write-protected.
    fn find_unprotected(
        &self,
        name: &EntryName<'_>,
        change: NameChange,
    ) -> FileResult<Option<Leaving<'_>>> {
        let leaving = match name.find()? {
            None => None,
            Some(entry) => {
                let id = self.tree.identity(&entry.metadata)?;
                self.check_unprotected(id)?;
                Some(Leaving {
                    tree: &self.tree,
                    entry,
                    id,
                    was_last: false,
                })
            }
        };
        self.check_name(name, change)?;
        Ok(leaving)
    }
}

/// An entry that is about to lose a name.
struct Leaving<'a> {
    tree: &'a Tree,
    entry: Entry,
    id: FileId,
    /// Whether it is a file without another name.
    was_last: bool,
}

impl Leaving<'_> {
    /// Returns what it brings to a name that it is moved or linked to.
    fn brings(&self) -> NameChange {
        if self.entry.metadata.is_file() {
            NameChange::File
        } else {
            NameChange::FolderOrLink
        }
    }

    /// Locks the size of a file until its removal is counted.
    fn lock_size<'b>(&mut self, budget: &'b Budget) -> FileResult<Option<ChangeGuard<'b, 1>>> {
        if !self.entry.metadata.is_file() {
            return Ok(None);
        }
        let guard = budget.lock([Target::Size(self.id)])?;
        let metadata = Metadata::from_file(&self.entry.handle)?;
        self.was_last = self.tree.links(&metadata)? == 1;
        Ok(Some(guard))
    }

    /// Returns the space freed by removing the entry, under the lock of its size: none if the file has other
    /// names, if another call had removed this one, or if a call has it open.
    fn freed(&self, budget: &Budget) -> FreedSpace {
        let now = Metadata::from_file(&self.entry.handle).ok();
        now.filter(|now| self.was_last && self.tree.links(now) == Ok(0))
            .filter(|_| budget.usage.remove(self.id))
            .map_or_else(FreedSpace::default, |removed| FreedSpace {
                bytes: removed.len(),
                on_disk: removed.blocks().saturating_mul(512),
            })
    }
}
