//! Creates, links and removes names of the merged view.

use std::fs::File;
use std::sync::Arc;

use cap_primitives::fs::MetadataExt;
use cap_std::fs::{Dir, Metadata};
use rustix::fs::{Access, AtFlags, Mode, OFlags, statat};
use rustix::io::Errno;
use toolhost_contract::FileId;

use super::copy::Charge;
use super::lookup::Child;
use super::state::{DirNode, DirPlace, Shown, State, join};
use super::view::Overlay;
use crate::workdir::entry::NameIn;
use crate::workdir::error::FileError;
use crate::workdir::identity::{file_id, id_of};
use crate::workdir::staging::{FileKind, Stamp, of_stat};

/// A name that is about to change, and the directory that holds it.
pub(super) struct Name<'a> {
    pub(super) dir: &'a Dir,
    pub(super) id: FileId,
    pub(super) name: &'a str,
    /// Whether a slash follows it.
    pub(super) has_slash: bool,
    /// Whether the directory was made by the call.
    pub(super) is_staged: bool,
}

impl Name<'_> {
    pub(super) fn at(&self) -> NameIn {
        NameIn {
            dir: self.id,
            name: self.name.to_owned(),
        }
    }

    /// What the lower layer has at this name, if `child` is that.
    pub(super) fn hidden(&self, child: &Child) -> Option<Stamp> {
        let is_own = !self.is_staged && !child.is_redirect;
        is_own.then(|| Stamp::of(&child.metadata))
    }
}

/// Where an object of the staging directory gets its name.
pub(super) enum Spot {
    /// In the staging directory itself; an entry shows it.
    Flat(String),
    /// In a directory that the call made.
    Inside,
}

impl Overlay {
    /// Checks a directory in which a name is about to change, and notes it.
    pub(super) fn name<'a>(
        &self,
        state: &mut State,
        dir: &'a Dir,
        name: &'a str,
    ) -> Result<Name<'a>, Errno> {
        let id = id_of(dir)?;
        if id.device != self.device {
            return Err(Errno::XDEV);
        }
        if state.is_removed(id) {
            return Err(Errno::NOENT);
        }
        let is_staged = state.is_staged(id);
        if !is_staged {
            // The commit could not change it.
            let access = Access::WRITE_OK | Access::EXEC_OK;
            rustix::fs::accessat(dir, ".", access, AtFlags::EACCESS)?;
        }
        state.note_lower_dir(id, |_| Ok(self.path_in_lower(dir)?.into()))?;
        let trimmed = name.trim_end_matches('/');
        Ok(Name {
            dir,
            id,
            name: trimmed,
            has_slash: trimmed.len() < name.len(),
            is_staged,
        })
    }

    pub(super) fn shown(&self, state: &State, name: &Name<'_>) -> Result<Option<Child>, Errno> {
        let child = self.child(state, name.dir, name.id, name.name.as_bytes());
        match child.map_err(FileError::errno) {
            Err(Errno::NOENT) => Ok(None),
            found => found.map(Some),
        }
    }

    /// Fails if the name exists.
    fn check_free(&self, state: &State, name: &Name<'_>) -> Result<(), Errno> {
        if name.name == "." || self.shown(state, name)?.is_some() {
            Err(Errno::EXIST)
        } else {
            Ok(())
        }
    }

    /// Chooses where an object with a free name is made.
    pub(super) fn spot(state: &State, name: &Name<'_>) -> Result<Spot, Errno> {
        Ok(if name.is_staged {
            Spot::Inside
        } else {
            Spot::Flat(state.staging()?.new_name())
        })
    }

    /// Runs `make` with the directory and the name at which an object is made, and shows it.
    fn make<T>(
        &self,
        state: &mut State,
        name: &Name<'_>,
        kind: FileKind,
        make: impl FnOnce(&Dir, &str) -> Result<T, Errno>,
    ) -> Result<T, Errno> {
        match Self::spot(state, name)? {
            Spot::Inside => {
                state.note_made(name.name);
                make(name.dir, name.name)
            }
            Spot::Flat(flat) => {
                // The name itself may be one that the file system refuses.
                if name.name.len() > 255 {
                    return Err(Errno::NAMETOOLONG);
                }
                let made = make(state.staging()?.dir(), &flat)?;
                state.show(&name.at(), None, Shown::Staged { flat, kind });
                Ok(made)
            }
        }
    }

    /// Creates a file, as `openat` with `O_CREAT | O_EXCL` does.
    pub(crate) fn create_file(
        &self,
        dir: &Dir,
        name: &str,
        flags: OFlags,
        mode: Mode,
    ) -> Result<File, Errno> {
        let mut state = self.change()?;
        let name = self.name(&mut state, dir, name)?;
        if name.has_slash {
            return Err(Errno::ISDIR);
        }
        self.check_free(&state, &name)?;
        self.make(&mut state, &name, FileKind::File, |dir, name| {
            Ok(rustix::fs::openat(dir, name, flags, mode)?.into())
        })
    }

    /// Creates a directory.
    pub(crate) fn create_dir(&self, dir: &Dir, name: &str, mode: Mode) -> Result<(), Errno> {
        let mut state = self.change()?;
        let name = self.name(&mut state, dir, name)?;
        self.check_free(&state, &name)?;
        let made = self.make(&mut state, &name, FileKind::Dir, |dir, name| {
            rustix::fs::mkdirat(dir, name, mode)?;
            let made = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
            Ok(of_stat(&made).id)
        })?;
        let place = DirPlace::Staged(name.at());
        state.insert_dir(made, DirNode::new(place));
        Ok(())
    }

    /// Creates a symlink.
    pub(crate) fn create_symlink(&self, dir: &Dir, name: &str, target: &str) -> Result<(), Errno> {
        let mut state = self.change()?;
        let name = self.name(&mut state, dir, name)?;
        self.check_free(&state, &name)?;
        if name.has_slash {
            return Err(Errno::NOENT);
        }
        self.make(&mut state, &name, FileKind::Link, |dir, name| {
            rustix::fs::symlinkat(target, dir, name)
        })
    }

    /// Gives a file a second name. A file of the lower layer is copied first.
    pub(crate) fn hard_link(
        &self,
        from: (&Dir, &str),
        to: (&Dir, &str),
        charge: Charge<'_>,
    ) -> Result<(), Errno> {
        let mut state = self.change()?;
        let from = self.name(&mut state, from.0, from.1)?;
        let to = self.name(&mut state, to.0, to.1)?;
        let linked = self.shown(&state, &from)?.ok_or(Errno::NOENT)?;
        if linked.metadata.is_dir() || from.name == "." {
            return Err(Errno::PERM);
        }
        if from.has_slash {
            return Err(Errno::NOTDIR);
        }
        self.check_free(&state, &to)?;
        if to.has_slash {
            return Err(Errno::NOENT);
        }
        let kind = Stamp::of(&linked.metadata).kind;
        if !linked.is_staged {
            let home = Some(from.at());
            self.copy(&mut state, &linked.handle, u64::MAX, home, charge)?;
        }
        // In a directory that the call made, names are the kernel's.
        let staging = Arc::clone(state.staging()?.dir());
        let flat = state.flat(from.id, from.name).map(str::to_owned);
        let (source, flat) = match &flat {
            Some(flat) => (&*staging, &**flat),
            None => (from.dir, from.name),
        };
        self.make(&mut state, &to, kind, |dir, name| {
            rustix::fs::linkat(source, flat, dir, name, AtFlags::empty())
        })
    }

    /// Removes a name of a file, a link or the like.
    pub(crate) fn remove_file(&self, dir: &Dir, name: &str) -> Result<(), Errno> {
        let mut state = self.change()?;
        let name = self.name(&mut state, dir, name)?;
        if name.name == "." {
            return Err(Errno::ISDIR);
        }
        let child = self.shown(&state, &name)?.ok_or(Errno::NOENT)?;
        if child.metadata.is_dir() {
            return Err(Errno::ISDIR);
        }
        if name.has_slash {
            return Err(Errno::NOTDIR);
        }
        self.take_away(&mut state, &name, &child)
    }

    /// Removes an empty directory.
    pub(crate) fn remove_dir(&self, dir: &Dir, name: &str) -> Result<(), Errno> {
        let mut state = self.change()?;
        let name = self.name(&mut state, dir, name)?;
        if name.name == "." {
            return Err(Errno::INVAL);
        }
        let child = self.shown(&state, &name)?.ok_or(Errno::NOENT)?;
        if !child.metadata.is_dir() {
            return Err(Errno::NOTDIR);
        }
        self.check_removable(&state, &child)?;
        self.take_away(&mut state, &name, &child)
    }

    /// Fails unless a directory is empty in the merged view, and no other file system begins there.
    pub(super) fn check_removable(&self, state: &State, dir: &Child) -> Result<(), Errno> {
        if dir.metadata.dev() != self.device {
            return Err(Errno::BUSY);
        }
        let node = state.dirs.get(&dir.id());
        let shows_any = |node: &DirNode| node.entries.values().any(|entry| entry.shows.is_some());
        if node.is_some_and(shows_any) {
            return Err(Errno::NOTEMPTY);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let readable = rustix::fs::openat(&dir.handle, ".", flags, Mode::empty())?;
        for entry in rustix::fs::Dir::new(readable)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            let own = std::str::from_utf8(name).ok();
            let is_hidden = node
                .zip(own)
                .is_some_and(|(node, name)| node.entries.contains_key(name));
            if name != b"." && name != b".." && !is_hidden {
                return Err(Errno::NOTEMPTY);
            }
        }
        Ok(())
    }

    /// Removes what a name shows. A directory is empty.
    pub(super) fn take_away(
        &self,
        state: &mut State,
        name: &Name<'_>,
        child: &Child,
    ) -> Result<(), Errno> {
        let id = child.id();
        if child.is_staged {
            let flags = if child.metadata.is_dir() {
                AtFlags::REMOVEDIR
            } else {
                AtFlags::empty()
            };
            match state.flat(name.id, name.name) {
                Some(flat) => rustix::fs::unlinkat(&**state.staging()?.dir(), flat, flags)?,
                None => rustix::fs::unlinkat(name.dir, name.name, flags)?,
            }
            state.hide(name.id, name.name, None);
            if child.metadata.is_dir() {
                state.remove_dir(id);
            } else if child.metadata.nlink() == 1 {
                state.origins.remove(&id);
            }
            return Ok(());
        }
        if child.metadata.is_dir() {
            state.note_lower_dir(id, |state| {
                let above = state.lower_path(name.id).map_or("", |path| &**path);
                Ok(join(above, name.name).into())
            })?;
            if let Some(node) = state.dirs.get_mut(&id) {
                node.is_removed = true;
                if let DirPlace::Lower { moved, .. } = &mut node.place {
                    *moved = None;
                }
            }
        } else {
            *state.unlinked.entry(id).or_default() += 1;
            let at = name.at();
            if let Some(file) = state.files.get_mut(&id)
                && file.home.as_ref() == Some(&at)
            {
                file.home = None;
            }
        }
        state.hide(name.id, name.name, name.hidden(child));
        Ok(())
    }

    /// Returns where a directory that the call made lies: the directory of the lower layer above it, and the
    /// names from there. None of a directory of the lower layer.
    pub(crate) fn made_beneath(&self, dir: FileId) -> Result<Option<(FileId, Vec<String>)>, Errno> {
        let state = self.lock()?;
        let (mut here, mut names) = (dir, Vec::new());
        while let Some(DirPlace::Staged(at)) = state.dirs.get(&here).map(|node| &node.place) {
            names.push(at.name.clone());
            here = at.dir;
        }
        names.reverse();
        Ok((!names.is_empty()).then_some((here, names)))
    }

    /// Returns how many names a file, or a directory, has in the merged view.
    pub(crate) fn links(&self, metadata: &Metadata) -> Result<u64, Errno> {
        let links = metadata.nlink();
        let id = file_id(metadata);
        let state = self.lock()?;
        if !metadata.is_dir() {
            let unlinked = state.unlinked.get(&id).copied().unwrap_or_default();
            return Ok(links.saturating_sub(unlinked));
        }
        let Some(node) = state.dirs.get(&id) else {
            return Ok(links);
        };
        Ok(match (node.is_removed, links) {
            (true, _) => 0,
            // The file system does not count the directories in a directory.
            (false, 0 | 1) => links,
            (false, _) => {
                let is_dir = |kind: FileKind| u64::from(kind == FileKind::Dir);
                let shown = node
                    .entries
                    .values()
                    .filter_map(|entry| entry.shows.as_ref());
                let hidden = node
                    .entries
                    .values()
                    .filter_map(|entry| entry.hides.as_ref());
                let shown: u64 = shown.map(|shown| is_dir(shown.kind())).sum();
                let hidden: u64 = hidden.map(|hidden| is_dir(hidden.kind)).sum();
                (links + shown).saturating_sub(hidden)
            }
        })
    }
}
