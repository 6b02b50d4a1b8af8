//! Files and directories that guests must not change.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fs, io};

use std::fs::{Metadata, metadata, symlink_metadata};
use std::os::unix::fs::MetadataExt;

/// Maximum depth of a directory.
const DEPTH_MAX: usize = 4096;

/// Maximum symbolic links followed, as in the kernel.
const LINKS_MAX: usize = 40;

/// The folder of a bundle's test cases, beside the manifest. Its YAML files, and those of folders in it, are case
/// files: `toolhost test` reads them.
pub const CASES_FOLDER: &str = "tests";

/// What a guest does to a name in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameChange {
    /// Removes it, or moves away what has it.
    Remove,
    /// Makes an empty folder.
    NewFolder,
    /// Makes a file, or gives the name to one.
    File,
    /// Makes a link, or moves a folder or a link to the name: files come with it.
    FolderOrLink,
}

/// Identity of a file or directory. Renaming does not change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FileId {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

/// Files, directories and links by identity, and names in directories, whether or not they exist.
#[derive(Debug, Clone, Default)]
pub struct Protected {
    ids: HashSet<FileId>,
    /// Each name in lower case, with the directories in which it is protected.
    names: HashMap<String, HashSet<FileId>>,
    closed: HashSet<FileId>,
    cases: CaseFolders,
}

/// Directories with case files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct CaseFolders {
    /// The directories of bundles, in which [`CASES_FOLDER`] may lie.
    bundles: HashSet<FileId>,
    /// The folders called [`CASES_FOLDER`].
    tops: HashSet<FileId>,
    /// These and the folders in them.
    all: HashSet<FileId>,
}

impl Protected {
    /// Adds a file, directory or link.
    pub fn add(&mut self, id: FileId) {
        self.ids.insert(id);
    }

    /// Adds a name in a directory, whether or not it exists.
    pub fn add_name(&mut self, dir: FileId, name: &OsStr) {
        // Guests pass names as UTF-8.
        if let Some(name) = name.to_str() {
            self.names.entry(folded(name)).or_default().insert(dir);
        }
    }

    /// Closes a directory: no name in it may be created, moved or removed.
    pub fn close(&mut self, dir: FileId) {
        self.closed.insert(dir);
    }

    /// Adds the directory of a bundle: [`CASES_FOLDER`] in it may only be made as an empty folder.
    pub fn add_bundle_dir(&mut self, dir: FileId) {
        self.cases.bundles.insert(dir);
    }

    /// Adds a folder called [`CASES_FOLDER`]: no YAML file in it may be made, moved or removed, and neither
    /// a folder nor a link may be moved into it.
    pub fn add_cases(&mut self, dir: FileId) {
        self.cases.tops.insert(dir);
        self.cases.all.insert(dir);
    }

    /// Adds a folder in a folder called [`CASES_FOLDER`]: no YAML file in it may be made, moved or removed.
    pub fn add_cases_beneath(&mut self, dir: FileId) {
        self.cases.all.insert(dir);
    }

    /// Adds everything in another list.
    pub fn extend(&mut self, other: &Self) {
        self.ids.extend(&other.ids);
        for (name, dirs) in &other.names {
            match self.names.get_mut(name) {
                Some(existing) => existing.extend(dirs),
                None => drop(self.names.insert(name.clone(), dirs.clone())),
            }
        }
        self.closed.extend(&other.closed);
        self.cases.bundles.extend(&other.cases.bundles);
        self.cases.tops.extend(&other.cases.tops);
        self.cases.all.extend(&other.cases.all);
    }

    /// Adds the target of a path and all its parent directories. Also adds each symlink on the path with
    /// its name, its target and the parents of both. Opens no file.
    ///
    /// Returns the identity of the target.
    ///
    /// # Errors
    /// The path cannot be resolved. The part that can be resolved is added.
    pub fn add_path_chain(&mut self, path: &Path) -> io::Result<FileId> {
        self.add_chain(path, &mut Lookups::default())
    }

    /// Adds several paths as [`Self::add_path_chain`] does. A folder that they share is looked up once. Of
    /// a path that cannot be resolved, the part that can be is added.
    pub fn add_path_chains(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        let mut lookups = Lookups::default();
        for path in paths {
            let _ = self.add_chain(&path, &mut lookups);
        }
    }

    fn add_chain(&mut self, path: &Path, lookups: &mut Lookups) -> io::Result<FileId> {
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
                self.add_name(lookups.followed(&here)?, name);
            }
            let entry = lookups.entry(&next)?;
            if entry.kind != EntryKind::Link {
                here = next;
                continue;
            }
            links += 1;
            if links > LINKS_MAX {
                return Err(io::ErrorKind::TooManyLinks.into());
            }
            self.add(entry.id);
            self.add_with_parents(&here, lookups)?;
            rest.extend(steps(&fs::read_link(&next)?));
        }
        let entry = lookups.entry(&here)?;
        self.add(entry.id);
        match here.parent() {
            Some(parent) if entry.kind != EntryKind::Directory => {
                self.add_with_parents(parent, lookups)?;
            }
            _ => self.add_with_parents(&here, lookups)?,
        }
        Ok(entry.id)
    }

    /// Adds a directory and all its parents.
    fn add_with_parents(&mut self, dir: &Path, lookups: &mut Lookups) -> io::Result<()> {
        if lookups.with_parents.contains(dir) {
            return Ok(());
        }
        let mut here = dir.to_owned();
        let mut below = None;
        for _ in 0..DEPTH_MAX {
            let id = id_of(&metadata(&here)?);
            if below == Some(id) {
                lookups.with_parents.insert(dir.to_owned());
                return Ok(());
            }
            self.add(id);
            below = Some(id);
            here.push("..");
        }
        Err(io::ErrorKind::InvalidInput.into())
    }

    /// Returns the files, directories and links added by identity.
    pub fn ids(&self) -> impl Iterator<Item = FileId> {
        self.ids.iter().copied()
    }

    /// Returns whether a file, directory or link was added by identity.
    pub fn contains(&self, id: FileId) -> bool {
        self.ids.contains(&id)
    }

    /// Returns whether a name was added in this directory, or the directory is closed.
    pub fn contains_name(&self, dir: FileId, name: &str) -> bool {
        let dirs = self.names.get(&folded(name));
        self.is_closed(dir) || dirs.is_some_and(|dirs| dirs.contains(&dir))
    }

    /// Returns whether a change of a name in this directory is forbidden.
    pub fn forbids(&self, dir: FileId, name: &str, change: NameChange) -> bool {
        let name = folded(name);
        let cases = &self.cases;
        let is_case = cases.all.contains(&dir) && is_yaml(&name);
        let is_folder = name == CASES_FOLDER && cases.bundles.contains(&dir);
        let brings_cases = change == NameChange::FolderOrLink && cases.tops.contains(&dir);
        is_case
            || (is_folder && change != NameChange::NewFolder)
            || brings_cases
            || self.contains_name(dir, &name)
    }

    /// Returns whether a change of a name is forbidden in a directory that is about to be made at the path `made`
    /// beneath the directory `dir`, such as one that a transaction keeps apart.
    pub fn forbids_beneath(
        &self,
        dir: FileId,
        made: &[String],
        name: &str,
        change: NameChange,
    ) -> bool {
        let cases = &self.cases;
        let is_cases = |name: &String| folded(name) == CASES_FOLDER;
        // How deep beneath the folder of cases the directory lies.
        let depth = if cases.tops.contains(&dir) {
            Some(made.len())
        } else if cases.bundles.contains(&dir) && made.first().is_some_and(is_cases) {
            Some(made.len() - 1)
        } else {
            None
        };
        let brings_cases = change == NameChange::FolderOrLink;
        depth.is_some_and(|depth| is_yaml(&folded(name)) || (depth == 0 && brings_cases))
    }

    /// Returns whether a change of a name is forbidden in some directory, because case files lie there. Which
    /// directories these are may have changed since.
    pub fn may_change_cases(&self, name: &str, change: NameChange) -> bool {
        if self.cases.bundles.is_empty() {
            return false;
        }
        let name = folded(name);
        is_yaml(&name) || name == CASES_FOLDER || change == NameChange::FolderOrLink
    }

    /// Returns whether a name was added in any directory.
    pub fn has_name(&self, name: &str) -> bool {
        !self.names.is_empty() && self.names.contains_key(&folded(name))
    }

    /// Returns whether a directory is closed.
    pub fn is_closed(&self, dir: FileId) -> bool {
        self.closed.contains(&dir)
    }

    /// Returns whether any directory is closed.
    pub fn has_closed_dirs(&self) -> bool {
        !self.closed.is_empty()
    }
}

/// What the paths of one call of [`Protected::add_path_chains`] lead to.
#[derive(Default)]
struct Lookups {
    /// Links are followed.
    followed: HashMap<PathBuf, FileId>,
    /// Links are not followed.
    entries: HashMap<PathBuf, PathEntry>,
    /// The directories that were added with their parents.
    with_parents: HashSet<PathBuf>,
}

/// A file, directory or link.
#[derive(Clone, Copy)]
struct PathEntry {
    id: FileId,
    kind: EntryKind,
}

#[derive(Clone, Copy, PartialEq)]
enum EntryKind {
    Directory,
    Link,
    Other,
}

impl Lookups {
    fn followed(&mut self, path: &Path) -> io::Result<FileId> {
        if let Some(id) = self.followed.get(path) {
            return Ok(*id);
        }
        let id = id_of(&metadata(path)?);
        self.followed.insert(path.to_owned(), id);
        Ok(id)
    }

    fn entry(&mut self, path: &Path) -> io::Result<PathEntry> {
        if let Some(entry) = self.entries.get(path) {
            return Ok(*entry);
        }
        let metadata = symlink_metadata(path)?;
        let kind = match (metadata.is_dir(), metadata.is_symlink()) {
            (true, _) => EntryKind::Directory,
            (false, true) => EntryKind::Link,
            (false, false) => EntryKind::Other,
        };
        let id = id_of(&metadata);
        let entry = PathEntry { id, kind };
        self.entries.insert(path.to_owned(), entry);
        Ok(entry)
    }
}

fn id_of(metadata: &Metadata) -> FileId {
    FileId {
        device: metadata.dev(),
        inode: metadata.ino(),
    }
}

/// Returns a name in lower case, for case-insensitive file systems.
fn folded(name: &str) -> String {
    name.to_lowercase()
}

/// Returns whether a name in lower case is that of a YAML file.
fn is_yaml(name: &str) -> bool {
    name.ends_with(".yaml") || name.ends_with(".yml")
}

#[cfg(test)]
mod tests;
