//! What no guest may change, wherever it meets it.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs, io};

use super::{DEPTH_MAX, FileId};

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
    pub(super) fn follow(&mut self, path: &Path) -> io::Result<FileId> {
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

/// Files and directories that no guest may change, wherever it meets them: a bundle's manifest, its
/// entries and the folders above them. Held by identity, so that another name is no way around, and
/// by name, so that nothing takes the place of what is gone.
#[derive(Clone, Default)]
pub struct WriteProtected {
    known: Held,
    look: Option<Look>,
}

/// Finds what is protected; none where that cannot be known.
type Look = Arc<dyn Fn() -> Option<Vec<Arc<Protected>>> + Send + Sync>;

#[derive(Debug, Clone)]
pub(crate) enum Held {
    These(Vec<Arc<Protected>>),
    All,
}

impl Default for Held {
    fn default() -> Self {
        Self::These(Vec::new())
    }
}

impl From<Option<Vec<Arc<Protected>>>> for Held {
    fn from(found: Option<Vec<Arc<Protected>>>) -> Self {
        found.map_or(Self::All, Self::These)
    }
}

impl Held {
    /// Whether all is held, or any part of it says so.
    fn any(&self, says: impl Fn(&Protected) -> bool) -> bool {
        match self {
            Self::These(these) => these.iter().any(|these| says(these)),
            Self::All => true,
        }
    }

    pub(crate) fn holds(&self, id: FileId) -> bool {
        self.any(|these| these.ids.contains(&id))
    }

    pub(crate) fn holds_name(&self, folder: FileId, name: &str) -> bool {
        let name = folded(name);
        let holds = |these: &Protected| {
            let folders = these.names.get(&name);
            these.closed.contains(&folder) || folders.is_some_and(|all| all.contains(&folder))
        };
        self.any(holds)
    }
}

impl fmt::Debug for WriteProtected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.known.fmt(f)
    }
}

impl WriteProtected {
    /// Protects these, as they are now.
    pub fn new(ids: impl IntoIterator<Item = FileId>) -> Self {
        let mut known = Protected::default();
        ids.into_iter().for_each(|id| known.add(id));
        Self {
            known: Held::These(vec![Arc::new(known)]),
            look: None,
        }
    }

    /// Protects everything, and makes a workdir read-only: for when it cannot be said what there is
    /// to protect.
    #[must_use]
    pub fn all() -> Self {
        Self {
            known: Held::All,
            look: None,
        }
    }

    /// Protects all that `look` finds, and everything where it finds that it cannot know. It is asked
    /// now, and again, from within a guest's file calls, whenever a guest is about to change something
    /// that bears one of the names: an editor or a build replaces a file by another.
    pub fn refreshed_by(
        look: impl Fn() -> Option<Vec<Arc<Protected>>> + Send + Sync + 'static,
    ) -> Self {
        match look() {
            None => Self::all(),
            found => Self {
                known: found.into(),
                look: Some(Arc::new(look)),
            },
        }
    }

    pub(crate) fn holds(&self, id: FileId) -> bool {
        self.known.holds(id)
    }

    pub(crate) fn holds_all(&self) -> bool {
        matches!(self.known, Held::All)
    }

    /// Whether one of those protected bears this name, in any folder.
    pub(crate) fn knows(&self, name: &str) -> bool {
        if self.known.any(|these| !these.names.is_empty()) {
            let name = folded(name);
            return self.known.any(|these| these.names.contains_key(&name));
        }
        false
    }

    /// Whether any folder is closed.
    pub(crate) fn closes_any(&self) -> bool {
        self.known.any(|these| !these.closed.is_empty())
    }

    /// Whether this folder is closed.
    pub(crate) fn closes(&self, folder: FileId) -> bool {
        self.known.any(|these| these.closed.contains(&folder))
    }

    /// Whether what is protected may be more than was known.
    pub(crate) fn asks_again(&self) -> bool {
        self.look.is_some()
    }

    /// What is protected now.
    pub(crate) fn now(&self) -> Held {
        match &self.look {
            Some(look) => look().into(),
            None => self.known.clone(),
        }
    }
}
