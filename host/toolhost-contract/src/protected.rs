//! The files that no guest may change, by identity and by name.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::FileId;

/// Most folders above a directory that are looked at.
const DEPTH_MAX: usize = 4096;

/// Most symbolic links followed, as many as the kernel follows.
const LINKS_MAX: usize = 40;

/// Files, directories and links, by identity, and their names in the folders they lie in: a name is
/// kept also while nothing bears it.
#[derive(Debug, Clone, Default)]
pub struct Protected {
    ids: HashSet<FileId>,
    /// Each with the folders in which it is kept.
    names: HashMap<String, HashSet<FileId>>,
    closed: HashSet<FileId>,
}

impl Protected {
    /// Adds what is there now, whatever its name.
    pub fn add(&mut self, id: FileId) {
        self.ids.insert(id);
    }

    /// Adds a name in a folder, whatever bears it.
    pub fn add_name(&mut self, folder: FileId, name: &OsStr) {
        // A guest cannot say a name that is no text.
        if let Some(name) = name.to_str() {
            self.names.entry(folded(name)).or_default().insert(folder);
        }
    }

    /// Closes a folder: nothing is made, moved or removed in it.
    pub fn close(&mut self, folder: FileId) {
        self.closed.insert(folder);
    }

    /// Adds what another holds.
    pub fn extend(&mut self, other: &Self) {
        self.ids.extend(&other.ids);
        for (name, folders) in &other.names {
            self.names.entry(name.clone()).or_default().extend(folders);
        }
        self.closed.extend(&other.closed);
    }

    /// Adds what a path names, every folder above that, and every link that leads there with the folders
    /// it lies in, so that the path goes on leading there. What is missing ends the way.
    ///
    /// # Errors
    /// Where it leads to nothing; it is kept as far as it led.
    pub fn add_path_chain(&mut self, path: &Path) -> io::Result<()> {
        self.follow(path).map(drop)
    }

    /// The same; gives the identity of what the path names. Asks without opening.
    ///
    /// # Errors
    /// As [`Protected::add_path_chain`].
    pub fn follow(&mut self, path: &Path) -> io::Result<FileId> {
        let steps = |path: &Path| -> Vec<PathBuf> {
            let steps = path.components().rev();
            steps.map(|step| step.as_os_str().into()).collect()
        };
        let mut here = PathBuf::from(".");
        let mut rest = steps(path);
        let mut links = 0;
        while let Some(step) = rest.pop() {
            let next = here.join(&step);
            if let Some(name) = step.file_name() {
                self.add_name(id_of(&fs::metadata(&here)?), name);
            }
            let found = fs::symlink_metadata(&next)?;
            if !found.is_symlink() {
                here = next;
                continue;
            }
            links += 1;
            if links > LINKS_MAX {
                return Err(io::ErrorKind::TooManyLinks.into());
            }
            self.add(id_of(&found));
            self.add_folders(&here)?;
            rest.extend(steps(&fs::read_link(&next)?));
        }
        let found = fs::symlink_metadata(&here)?;
        self.add(id_of(&found));
        match here.parent() {
            Some(folder) if !found.is_dir() => self.add_folders(folder)?,
            _ => self.add_folders(&here)?,
        }
        Ok(id_of(&found))
    }

    /// Adds a folder and every folder above it.
    fn add_folders(&mut self, folder: &Path) -> io::Result<()> {
        let mut here = folder.to_owned();
        let mut below = None;
        for _ in 0..DEPTH_MAX {
            let id = id_of(&fs::metadata(&here)?);
            if below == Some(id) {
                return Ok(());
            }
            self.add(id);
            below = Some(id);
            here.push("..");
        }
        Err(io::ErrorKind::InvalidInput.into())
    }

    /// Each of them.
    pub fn ids(&self) -> impl Iterator<Item = FileId> {
        self.ids.iter().copied()
    }

    /// Whether it holds this file or directory.
    #[must_use]
    pub fn contains(&self, id: FileId) -> bool {
        self.ids.contains(&id)
    }

    /// Whether it holds this name in this folder, or closes the folder.
    #[must_use]
    pub fn contains_name(&self, folder: FileId, name: &str) -> bool {
        let folders = self.names.get(&folded(name));
        self.is_closed(folder) || folders.is_some_and(|all| all.contains(&folder))
    }

    /// Whether it holds this name in any folder.
    #[must_use]
    pub fn has_name(&self, name: &str) -> bool {
        !self.names.is_empty() && self.names.contains_key(&folded(name))
    }

    /// Whether it closes this folder.
    #[must_use]
    pub fn is_closed(&self, folder: FileId) -> bool {
        self.closed.contains(&folder)
    }

    /// Whether it closes any folder.
    #[must_use]
    pub fn closes_any(&self) -> bool {
        !self.closed.is_empty()
    }
}

fn id_of(metadata: &fs::Metadata) -> FileId {
    FileId {
        device: metadata.dev(),
        inode: metadata.ino(),
    }
}

/// Some file systems take names for the same that differ in case alone.
fn folded(name: &str) -> String {
    name.to_lowercase()
}
