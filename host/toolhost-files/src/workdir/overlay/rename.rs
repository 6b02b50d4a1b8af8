//! Renames in the merged view. What the lower layer holds is redirected, never copied.

use cap_primitives::fs::MetadataExt;
use cap_std::fs::Dir;
use rustix::fs::{Access, AtFlags, RenameFlags, renameat_with};
use rustix::io::Errno;
use toolhost_contract::FileId;

use super::lookup::Child;
use super::names::{Name, Spot};
use super::state::{DirPlace, Shown, State, join};
use super::view::Overlay;
use crate::workdir::identity::file_id;
use crate::workdir::staging::Stamp;
use crate::workdir::tree_path::TreePath;

impl Overlay {
    /// Renames what a name shows, and replaces what the other one shows.
    pub(crate) fn rename(&self, from: (&Dir, &str), to: (&Dir, &str)) -> Result<(), Errno> {
        let mut state = self.change()?;
        let from = self.name(&mut state, from.0, from.1)?;
        let to = self.name(&mut state, to.0, to.1)?;
        if from.name == "." || to.name == "." {
            return Err(Errno::BUSY);
        }
        if to.name.len() > 255 {
            return Err(Errno::NAMETOOLONG);
        }
        let moved = self.shown(&state, &from)?.ok_or(Errno::NOENT)?;
        if moved.metadata.dev() != self.device {
            return Err(Errno::XDEV);
        }
        let is_dir = moved.metadata.is_dir();
        if !is_dir && (from.has_slash || to.has_slash) {
            return Err(Errno::NOTDIR);
        }
        if from.id != to.id {
            if lies_in(&state, to.id, &from)? {
                return Err(Errno::INVAL);
            }
            if lies_in(&state, from.id, &to)? {
                return Err(Errno::NOTEMPTY);
            }
            if is_dir && !moved.is_staged {
                // Its entry `..` changes when the transaction is committed.
                rustix::fs::accessat(&moved.handle, ".", Access::WRITE_OK, AtFlags::EACCESS)?;
            }
        }
        if let Some(replaced) = self.shown(&state, &to)? {
            if replaced.id() == moved.id() {
                return Ok(());
            }
            match (is_dir, replaced.metadata.is_dir()) {
                (true, false) => return Err(Errno::NOTDIR),
                (false, true) => return Err(Errno::ISDIR),
                (true, true) => self.check_removable(&state, &replaced)?,
                (false, false) => {}
            }
            self.take_away(&mut state, &to, &replaced)?;
        }
        if moved.is_staged {
            self.move_staged(&mut state, &from, &to, &moved)
        } else {
            redirect(&mut state, &from, &to, &moved)
        }
    }

    /// Renames what lies in the staging directory.
    fn move_staged(
        &self,
        state: &mut State,
        from: &Name<'_>,
        to: &Name<'_>,
        moved: &Child,
    ) -> Result<(), Errno> {
        let kind = Stamp::of(&moved.metadata).kind;
        let staging = state.staging()?.dir().clone();
        let flat = state.flat(from.id, from.name).map(str::to_owned);
        let free = RenameFlags::NOREPLACE;
        let flat = match (flat, Self::spot(state, to)?) {
            (Some(flat), Spot::Flat(_)) => Some(flat),
            (Some(flat), Spot::Inside) => {
                renameat_with(&*staging, flat, to.dir, to.name, free)?;
                None
            }
            (None, Spot::Flat(flat)) => {
                renameat_with(from.dir, from.name, &*staging, &*flat, free)?;
                Some(flat)
            }
            (None, Spot::Inside) => {
                renameat_with(from.dir, from.name, to.dir, to.name, free)?;
                None
            }
        };
        state.hide(from.id, from.name, None);
        if let Some(flat) = flat {
            state.show(&to.at(), None, Shown::Staged { flat, kind });
        }
        if let Some(node) = state.dirs.get_mut(&moved.id()) {
            node.place = DirPlace::Staged(to.at());
        }
        Ok(())
    }
}

/// Whether a directory is what has a name, or lies beneath that.
fn lies_in(state: &State, dir: FileId, name: &Name<'_>) -> Result<bool, Errno> {
    let above = state.merged_path(name.id).ok_or(Errno::NOENT)?;
    let above = join(&above, name.name);
    let dir = state.merged_path(dir).ok_or(Errno::NOENT)?;
    let beneath = dir.strip_prefix(&above);
    Ok(beneath.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Shows an entry of the lower layer at another name.
fn redirect(state: &mut State, from: &Name<'_>, to: &Name<'_>, moved: &Child) -> Result<(), Errno> {
    let id = file_id(&moved.metadata);
    let shown = state.entry(from.id, from.name);
    let (path, stamp) = match shown.and_then(|entry| entry.shows.as_ref()) {
        Some(Shown::Moved { path, stamp }) => (path.clone(), *stamp),
        _ => {
            let above = state.lower_path(from.id).cloned().unwrap_or_default();
            let path = TreePath::new(above, from.name.into());
            (path, Stamp::of(&moved.metadata))
        }
    };
    state.hide(from.id, from.name, from.hidden(moved));
    let hidden = state.entry(to.id, to.name).and_then(|entry| entry.hides);
    // It gets back the name that it has in the lower layer.
    let is_back = hidden.is_some_and(|hidden| hidden.id == id)
        && state.lower_path(to.id) == Some(path.above())
        && to.name == path.name();
    if is_back {
        state.reset(to.id, to.name);
    } else {
        let path = path.clone();
        state.show(&to.at(), None, Shown::Moved { path, stamp });
    }
    if moved.metadata.is_dir() {
        state.note_lower_dir(id, |_| Ok(path.to_string().into()))?;
        if let Some(DirPlace::Lower { moved, .. }) =
            state.dirs.get_mut(&id).map(|node| &mut node.place)
        {
            *moved = (!is_back).then(|| to.at());
        }
    }
    let (old, new) = (from.at(), to.at());
    if let Some(file) = state.files.get_mut(&id)
        && file.home.as_ref() == Some(&old)
    {
        file.home = Some(new);
    }
    Ok(())
}
