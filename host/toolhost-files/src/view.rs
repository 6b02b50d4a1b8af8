//! A directory as changes leave it: the bundle as a changeset has changed it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{AtFlags, statat};
use rustix::io::Errno;
use toolhost_contract::Protected;

use crate::error::{EntryKind, ReadError};
use crate::read::{in_dir, read_resolved};
use crate::resolve::{Links, STEPS_MAX, resolve};

/// Files that are read in the place of those of a directory. The default replaces none.
#[derive(Debug, Clone, Default)]
pub struct ChangedFiles {
    /// The directory with the contents.
    contents: Option<Arc<Dir>>,
    /// For each path, the name of its content; `None` if the file is removed.
    files: BTreeMap<PathBuf, Option<PathBuf>>,
}

impl ChangedFiles {
    /// Makes changes. Each key of `files` is a path in the directory, without `.` and `..`; its value is the path of
    /// the content beneath `contents`, or `None` if the file is removed.
    ///
    /// # Errors
    /// The error of opening `contents`.
    pub fn new(contents: &Path, files: BTreeMap<PathBuf, Option<PathBuf>>) -> io::Result<Self> {
        let contents = Dir::open_ambient_dir(contents, ambient_authority())?;
        Ok(Self {
            contents: Some(Arc::new(contents)),
            files,
        })
    }
}

/// A directory as changes leave it. Cheap to clone without changes.
///
/// One rule merges both: a changed file hides what the directory has at its path and beneath it. Where files are
/// changed beneath a path, that is a folder.
#[derive(Debug, Clone)]
pub struct DirView {
    dir: Arc<Dir>,
    changes: ChangedFiles,
}

/// What the changes say of a path.
enum Change<'v> {
    /// The file has this content.
    Content(&'v Dir, &'v Path),
    /// A folder in which files were changed.
    Folder,
    Removed,
    /// The directory has it.
    None,
}

impl DirView {
    /// Makes a view of a directory.
    pub fn new(dir: Arc<Dir>, changes: ChangedFiles) -> Self {
        Self { dir, changes }
    }

    /// Returns the directory, without the changes.
    pub fn dir(&self) -> &Arc<Dir> {
        &self.dir
    }

    /// Returns a path beneath the directory without links, `.` and `..`. It exists, unless the changes removed it.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn resolve(&self, path: &Path, links: Links) -> Result<PathBuf, ReadError> {
        let (mut passed, mut steps) = (Protected::default(), STEPS_MAX);
        match resolve(&self.dir, path, links, &mut passed, &mut steps) {
            Err(ReadError::NotFound) => {
                let path = without_dots(path)?;
                match self.change(&path) {
                    Change::Content(..) | Change::Folder => Ok(path),
                    Change::Removed | Change::None => Err(ReadError::NotFound),
                }
            }
            resolved => Ok(resolved?.path),
        }
    }

    /// Reads a regular file of at most `max` bytes.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn read(&self, path: &Path, links: Links, max: u64) -> Result<Vec<u8>, ReadError> {
        let path = self.resolve(path, links)?;
        match self.change(&path) {
            Change::Content(contents, name) => match read_resolved(contents, name, max) {
                // The changes name it.
                Err(ReadError::NotFound) => Err(ReadError::Io(io::ErrorKind::NotFound.into())),
                read => read,
            },
            Change::Folder => {
                let kind = EntryKind::Directory;
                Err(ReadError::NotAFile { kind })
            }
            Change::Removed => Err(ReadError::NotFound),
            Change::None => read_resolved(&self.dir, &path, max),
        }
    }

    /// Reads a file as [`Self::read`] does, following links. Returns `None` only where nothing has its name: a link to
    /// a file that does not exist is an error.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn read_optional(&self, path: &Path, max: u64) -> Result<Option<Vec<u8>>, ReadError> {
        match self.read(path, Links::Follow, max) {
            Err(ReadError::NotFound) if self.has(path) => Err(ReadError::Dangling),
            Err(ReadError::NotFound) => Ok(None),
            read => read.map(Some),
        }
    }

    /// Returns what lies at a path without `.` and `..`, or `None`. Links are not followed.
    ///
    /// # Errors
    /// [`ReadError`]: a link above the path, which may also be missing.
    pub fn kind(&self, path: &Path) -> Result<Option<EntryKind>, ReadError> {
        match self.change(path) {
            Change::Content(..) => Ok(Some(EntryKind::File)),
            Change::Folder => Ok(Some(EntryKind::Directory)),
            Change::Removed => Ok(None),
            Change::None => {
                let (mut passed, mut steps) = (Protected::default(), STEPS_MAX);
                match resolve(&self.dir, path, Links::Refuse, &mut passed, &mut steps) {
                    Ok(entry) => {
                        let stat =
                            statat(&self.dir, in_dir(&entry.path), AtFlags::SYMLINK_NOFOLLOW)?;
                        Ok(Some(EntryKind::of(&stat)))
                    }
                    Err(ReadError::Link { path: link }) if link == path => {
                        Ok(Some(EntryKind::Link))
                    }
                    Err(ReadError::NotFound) => Ok(None),
                    Err(error) => Err(error),
                }
            }
        }
    }

    /// Returns whether there is anything at a path without `.` and `..`; also if that cannot be found out.
    pub fn has(&self, path: &Path) -> bool {
        match self.change(path) {
            Change::Content(..) | Change::Folder => true,
            Change::Removed => false,
            Change::None => match self.dir.symlink_metadata(path) {
                Ok(_) => true,
                Err(error) => !is_absent(&error),
            },
        }
    }

    /// Lists a folder at a path without links: at most `max` entries of the directory, and those that the changes add.
    /// Names that are not UTF-8 are left out.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn list(&self, path: &Path, max: usize) -> Result<BTreeMap<String, EntryKind>, ReadError> {
        let mut entries = BTreeMap::new();
        // What lies beneath a changed file is hidden.
        if !self.is_hidden(path) {
            self.list_dir(path, max, &mut entries)?;
        }
        for (file, content) in self.beneath(path) {
            let mut names = file.strip_prefix(path).unwrap_or(file).iter();
            let name = names.next().and_then(|name| name.to_str());
            if let (Some(name), Some(_)) = (name, content) {
                let kind = match names.next() {
                    None => EntryKind::File,
                    Some(_) => EntryKind::Directory,
                };
                entries.insert(name.to_owned(), kind);
            }
        }
        Ok(entries)
    }

    /// Adds the entries of the directory, but those that are changed.
    fn list_dir(
        &self,
        path: &Path,
        max: usize,
        entries: &mut BTreeMap<String, EntryKind>,
    ) -> Result<(), ReadError> {
        let folder = match self.dir.open_dir(in_dir(path)) {
            Err(error) if is_absent(&error) => return Ok(()),
            folder => folder?,
        };
        for entry in folder.entries()?.take(max) {
            let Ok(name) = entry?.file_name().into_string() else {
                continue;
            };
            if self.changes.files.contains_key(&path.join(&name)) {
                continue;
            }
            match statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => drop(entries.insert(name, EntryKind::of(&stat))),
                // It was removed meanwhile.
                Err(Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn change(&self, path: &Path) -> Change<'_> {
        let Some(contents) = &self.changes.contents else {
            return Change::None;
        };
        match self.changes.files.get(path) {
            Some(Some(name)) => Change::Content(contents, name),
            _ if self.beneath(path).any(|(_, content)| content.is_some()) => Change::Folder,
            _ if self.is_hidden(path) => Change::Removed,
            _ => Change::None,
        }
    }

    /// Whether a file was changed at a path or above it.
    fn is_hidden(&self, path: &Path) -> bool {
        let mut paths = path.ancestors();
        paths.any(|path| self.changes.files.contains_key(path))
    }

    /// Returns the changed files beneath a path.
    fn beneath<'v>(
        &'v self,
        path: &'v Path,
    ) -> impl Iterator<Item = (&'v PathBuf, &'v Option<PathBuf>)> {
        let from = self.changes.files.range(path.to_owned()..);
        let within = from.take_while(move |(file, _)| file.starts_with(path));
        within.filter(move |(file, _)| file.as_path() != path)
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Returns a path without `.` and `..`, as its text alone says.
fn without_dots(path: &Path) -> Result<PathBuf, ReadError> {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            Component::ParentDir if clean.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(ReadError::Outside);
            }
        }
    }
    Ok(clean)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder(files: &[(&str, Option<&str>)]) -> (tempfile::TempDir, DirView) {
        let top = tempfile::tempdir().unwrap();
        let (own, contents) = (top.path().join("own"), top.path().join("contents"));
        fs::create_dir_all(own.join("tools")).unwrap();
        fs::create_dir(&contents).unwrap();
        for name in ["a", "b", "tools/c"] {
            fs::write(own.join(name), "own").unwrap();
        }
        std::os::unix::fs::symlink("a", own.join("link")).unwrap();
        fs::write(contents.join("1"), "changed").unwrap();
        let files = files
            .iter()
            .map(|(path, content)| (path.into(), content.map(PathBuf::from)));
        let view = ChangedFiles::new(&contents, files.collect()).unwrap();
        let dir = Dir::open_ambient_dir(&own, ambient_authority()).unwrap();
        (top, DirView::new(Arc::new(dir), view))
    }

    #[test]
    fn changed_new_and_absent_files_are_read_as_the_view_has_them() {
        // requirements-v1 §12.4: the bundle as changed is what is loaded
        let files = [("a", Some("1")), ("b", None), ("new/d", Some("1"))];
        let (_top, folder) = folder(&files);
        let check = |path: &str, expected: Result<&str, &str>| {
            let read = folder.read(Path::new(path), Links::Follow, 100);
            let read = read.map(|bytes| String::from_utf8(bytes).unwrap());
            let read = read.map_err(|error| error.to_string());
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(read, expected, "{path}");
        };
        check("a", Ok("changed"));
        check("./tools/../a", Ok("changed"));
        check("link", Ok("changed"));
        check("new/d", Ok("changed"));
        check("new/../new/./d", Ok("changed"));
        check("tools/c", Ok("own"));
        check("b", Err("there is no such file or directory"));
        check("new", Err("it is a directory, not a regular file"));
        check("../own/a", Err("the path leaves the directory"));
        check("new/../../own/a", Err("the path leaves the directory"));
    }

    #[test]
    fn only_a_name_that_nothing_has_is_an_absent_file() {
        let (top, folder) = folder(&[]);
        let own = top.path().join("own");
        let read = |name: &str| folder.read_optional(Path::new(name), 100);
        assert_eq!(read("a").unwrap().as_deref(), Some(&b"own"[..]));
        assert_eq!(read("absent").unwrap(), None);
        for (name, target) in [
            ("dangling", "nothing"),
            ("beneath", "a/b"),
            ("loop", "loop"),
        ] {
            std::os::unix::fs::symlink(target, own.join(name)).unwrap();
            assert!(read(name).is_err(), "{name}");
        }
        assert!(read("tools").is_err(), "a folder");
        let error = read("dangling").unwrap_err().to_string();
        assert!(
            error.contains("a link to a file that does not exist"),
            "{error}"
        );
    }

    #[test]
    fn links_are_refused_where_they_are_not_followed() {
        let (top, folder) = folder(&[("a", Some("1"))]);
        std::os::unix::fs::symlink("tools", top.path().join("own/folder")).unwrap();
        let read = |path: &str| folder.read(Path::new(path), Links::Refuse, 100);
        assert_eq!(read("a").unwrap(), b"changed");
        for (path, link) in [("link", "link"), ("folder/c", "folder")] {
            let refused = read(path);
            let is_link = |at: &Path| at == Path::new(link);
            assert!(
                matches!(refused, Err(ReadError::Link { path }) if is_link(&path)),
                "{path}"
            );
        }
        let kind = |path: &str| folder.kind(Path::new(path));
        assert_eq!(kind("link").unwrap(), Some(EntryKind::Link));
        assert!(matches!(kind("folder/c"), Err(ReadError::Link { .. })));
    }

    #[test]
    fn changes_hide_what_lies_at_their_path_and_beneath_it() {
        // `tools` became a file, and the file `b` a folder.
        let files = [("tools", Some("1")), ("b", None), ("b/x/y", Some("1"))];
        let (_top, folder) = folder(&files);
        let kind = |path: &str| folder.kind(Path::new(path)).unwrap();
        let list = |path: &str| -> Vec<(String, EntryKind)> {
            folder
                .list(Path::new(path), 100)
                .unwrap()
                .into_iter()
                .collect()
        };
        let entry = |name: &str, kind| (name.to_owned(), kind);
        for (path, expected) in [
            ("", Some(EntryKind::Directory)),
            ("a", Some(EntryKind::File)),
            ("a/b", None),
            ("tools", Some(EntryKind::File)),
            ("tools/c", None),
            ("b", Some(EntryKind::Directory)),
            ("b/x", Some(EntryKind::Directory)),
            ("b/x/y", Some(EntryKind::File)),
            ("c", None),
        ] {
            assert_eq!(kind(path), expected, "{path}");
            let read = folder.read(Path::new(path), Links::Refuse, 100);
            assert_eq!(read.is_ok(), expected == Some(EntryKind::File), "{path}");
        }
        let top = [
            entry("a", EntryKind::File),
            entry("b", EntryKind::Directory),
            entry("link", EntryKind::Link),
            entry("tools", EntryKind::File),
        ];
        assert_eq!(list(""), top);
        assert_eq!(list("b"), [entry("x", EntryKind::Directory)]);
        assert_eq!(list("b/x"), [entry("y", EntryKind::File)]);
    }

    #[test]
    fn a_content_that_is_missing_is_no_absent_file() {
        let (_top, folder) = folder(&[("a", Some("gone"))]);
        let read = folder.read(Path::new("a"), Links::Follow, 100);
        assert!(matches!(read, Err(ReadError::Io(_))), "{read:?}");
    }
}
