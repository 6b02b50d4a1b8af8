//! Files that are read in the place of those of a bundle's directory: the bundle as a changeset leaves it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use toolhost_contract::Protected;

use super::read::{ReadError, STEPS_MAX, read_beneath, resolve};

/// Files that replace those of a bundle's directory while the bundle is read: see
/// [`Bundle::open_with`](super::Bundle::open_with). The default replaces none.
#[derive(Debug, Clone, Default)]
pub struct BundleView {
    /// The directory with the contents.
    contents: Option<Arc<Dir>>,
    /// For each path of the bundle, the name of its content; none if the file is absent.
    files: BTreeMap<PathBuf, Option<PathBuf>>,
}

impl BundleView {
    /// Makes a view. Each key of `files` is a path in the bundle's directory, without `.` and `..`; its value
    /// is the path of the content beneath `contents`, or none if the file is absent.
    ///
    /// # Errors
    /// The error of opening `contents`.
    pub fn new(
        contents: &Path,
        files: BTreeMap<PathBuf, Option<PathBuf>>,
    ) -> Result<Self, io::Error> {
        let contents = Dir::open_ambient_dir(contents, ambient_authority())?;
        Ok(Self {
            contents: Some(Arc::new(contents)),
            files,
        })
    }
}

/// The directory of a bundle, with the files of a view in the place of its own.
#[derive(Debug)]
pub(super) struct BundleFolder {
    dir: Arc<Dir>,
    view: BundleView,
}

impl BundleFolder {
    pub(super) fn new(dir: Arc<Dir>, view: BundleView) -> Self {
        Self { dir, view }
    }

    /// The directory itself, without the view.
    pub(super) fn dir(&self) -> &Arc<Dir> {
        &self.dir
    }

    /// Returns a path beneath the directory without links, `.` and `..`.
    pub(super) fn resolve(&self, path: &Path) -> Result<PathBuf, ReadError> {
        let mut steps = STEPS_MAX;
        let resolved = resolve(&self.dir, path, &mut Protected::default(), &mut steps);
        match resolved {
            Err(ReadError::NotFound) => {
                let path = without_dots(path)?;
                match self.view.files.get(&path) {
                    Some(Some(_)) => Ok(path),
                    _ if self.is_new_folder(&path) => Ok(path),
                    _ => Err(ReadError::NotFound),
                }
            }
            resolved => Ok(resolved?.path),
        }
    }

    /// Reads a regular file of at most `max` bytes.
    pub(super) fn read(&self, path: &Path, max: u64) -> Result<Vec<u8>, ReadError> {
        let Some(contents) = &self.view.contents else {
            return read_beneath(&self.dir, path, max);
        };
        let resolved = self.resolve(path)?;
        match self.view.files.get(&resolved) {
            Some(Some(content)) => read_beneath(contents, content, max),
            Some(None) => Err(ReadError::NotFound),
            // A file of the view may have taken the place of a folder.
            None if resolved
                .ancestors()
                .skip(1)
                .any(|ancestor| self.replaces(ancestor)) =>
            {
                Err(ReadError::NotFound)
            }
            None => match read_beneath(&self.dir, &resolved, max) {
                Err(ReadError::NotFound) if self.is_new_folder(&resolved) => {
                    let kind = "a directory";
                    Err(ReadError::NotAFile { kind })
                }
                read => read,
            },
        }
    }

    /// Returns whether there is anything at a path without links; also if that cannot be found out.
    pub(super) fn has(&self, path: &Path) -> bool {
        match self.view.files.get(path) {
            Some(content) => content.is_some(),
            None if self.is_new_folder(path) => true,
            None => match self.dir.symlink_metadata(path) {
                Ok(_) => true,
                Err(error) => !matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ),
            },
        }
    }

    /// Reads a file as [`Self::read`] does. Returns `None` only where nothing has its name: a link to a file that does
    /// not exist is an error.
    pub(super) fn read_optional(
        &self,
        path: &Path,
        max: u64,
    ) -> Result<Option<Vec<u8>>, ReadError> {
        match self.read(path, max) {
            Err(ReadError::NotFound) if self.has(path) => {
                let kind = "a link to a file that does not exist";
                Err(ReadError::NotAFile { kind })
            }
            Err(ReadError::NotFound) => Ok(None),
            read => read.map(Some),
        }
    }

    fn replaces(&self, path: &Path) -> bool {
        matches!(self.view.files.get(path), Some(Some(_)))
    }

    /// Whether the view has files beneath a path.
    fn is_new_folder(&self, path: &Path) -> bool {
        let mut files = self.view.files.iter();
        files.any(|(file, content)| content.is_some() && file != path && file.starts_with(path))
    }
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

    fn folder(files: &[(&str, Option<&str>)]) -> (tempfile::TempDir, BundleFolder) {
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
        let view = BundleView::new(&contents, files.collect()).unwrap();
        let dir = Dir::open_ambient_dir(&own, ambient_authority()).unwrap();
        (top, BundleFolder::new(Arc::new(dir), view))
    }

    #[test]
    fn changed_new_and_absent_files_are_read_as_the_view_has_them() {
        // requirements-v1 §12.4: the bundle as changed is what is loaded
        let files = [("a", Some("1")), ("b", None), ("new/d", Some("1"))];
        let (_top, folder) = folder(&files);
        let check = |path: &str, expected: Result<&str, &str>| {
            let read = folder.read(Path::new(path), 100);
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
        check("../own/a", Err("the path leaves the bundle's directory"));
        check(
            "new/../../own/a",
            Err("the path leaves the bundle's directory"),
        );
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
}
