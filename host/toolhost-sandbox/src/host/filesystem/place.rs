//! Where a name is made, moved or removed.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use cap_std::fs::{Dir, Metadata, MetadataExt};
use rustix::fs::{AtFlags, Mode, OFlags};

use super::beneath::open_beneath;
use super::budget::Gone;
use crate::workdir::{FileId, file_id};

/// A name in a directory. The way there is walked once and held, so that what was looked at is what
/// is changed, even while another call swaps what lies on the way.
pub(super) struct Place<'a> {
    dir: HeldDir<'a>,
    /// The way to it, as it was said.
    way: &'a str,
    name: &'a str,
}

enum HeldDir<'a> {
    Start(&'a Dir),
    Parent(Dir),
}

/// Splits the last name, and the slashes behind it, from the way there. What ends in no name of its
/// own is all way.
fn split(path: &str) -> (&str, &str) {
    let trimmed = path.trim_end_matches('/');
    let at = trimmed.rfind('/').map_or(0, |slash| slash + 1);
    match (trimmed.get(at..), path.split_at_checked(at)) {
        (None | Some("" | "." | ".."), _) | (_, None) => (path, "."),
        (Some(_), Some(split)) => split,
    }
}

/// The last name of a path, without what is behind it.
pub(super) fn last_name(path: &str) -> &str {
    split(path).1.trim_end_matches('/')
}

impl<'a> Place<'a> {
    pub(super) fn of(start: &'a Dir, path: &'a str) -> io::Result<Self> {
        let (way, name) = split(path);
        let is_here = way.is_empty() && !path.is_empty();
        let dir = match is_here {
            true => HeldDir::Start(start),
            false => {
                let parent = open_beneath(start, way, OFlags::PATH | OFlags::DIRECTORY)?;
                HeldDir::Parent(Dir::from_std_file(parent))
            }
        };
        Ok(Self { dir, way, name })
    }

    fn dir(&self) -> &Dir {
        match &self.dir {
            HeldDir::Start(dir) => dir,
            HeldDir::Parent(dir) => dir,
        }
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.dir().as_fd()
    }

    /// The folder.
    pub(super) fn folder(&self) -> io::Result<FileId> {
        Ok(file_id(&self.dir().dir_metadata()?))
    }

    /// The name, without the slashes behind it.
    pub(super) fn name(&self) -> &str {
        self.name.trim_end_matches('/')
    }

    /// A path from the same start to what a link of this name says.
    pub(super) fn beside(&self, target: String) -> String {
        if target.starts_with('/') {
            return target;
        }
        format!("{}{target}", self.way)
    }

    /// What bears the name, held. None where nothing does.
    pub(super) fn look(&self) -> io::Result<Option<Held>> {
        match open_beneath(self.dir(), self.name, OFlags::PATH | OFlags::NOFOLLOW) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            found => found.and_then(Held::of).map(Some),
        }
    }

    // A system call that takes a single name follows no link, but that one before a slash: those that
    // would are asked after a look.

    pub(super) fn make_file(&self, flags: OFlags) -> io::Result<File> {
        let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        Ok(rustix::fs::openat(self.fd(), self.name, flags, mode)?.into())
    }

    pub(super) fn make_dir(&self) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(
            self.fd(),
            self.name,
            Mode::from_raw_mode(0o777),
        )?)
    }

    pub(super) fn make_link(&self, target: &str) -> io::Result<()> {
        Ok(rustix::fs::symlinkat(target, self.fd(), self.name)?)
    }

    pub(super) fn hard_link(&self, to: &Place<'_>) -> io::Result<()> {
        let flags = AtFlags::empty();
        Ok(rustix::fs::linkat(
            self.fd(),
            self.name,
            to.fd(),
            to.name,
            flags,
        )?)
    }

    pub(super) fn read_link(&self) -> io::Result<Vec<u8>> {
        let target = rustix::fs::readlinkat(self.fd(), self.name(), Vec::new())?;
        Ok(target.into_bytes())
    }

    pub(super) fn remove_file(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(
            self.fd(),
            self.name,
            AtFlags::empty(),
        )?)
    }

    pub(super) fn remove_dir(&self) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(
            self.fd(),
            self.name,
            AtFlags::REMOVEDIR,
        )?)
    }

    pub(super) fn rename(&self, to: &Place<'_>) -> io::Result<()> {
        Ok(rustix::fs::renameat(
            self.fd(),
            self.name,
            to.fd(),
            to.name,
        )?)
    }
}

/// What bore a name when it was looked at.
pub(super) struct Held {
    handle: File,
    pub(super) metadata: Metadata,
}

impl Held {
    fn of(handle: File) -> io::Result<Self> {
        let metadata = Metadata::from_file(&handle)?;
        Ok(Self { handle, metadata })
    }

    pub(super) fn id(&self) -> FileId {
        file_id(&self.metadata)
    }

    /// What went with its last name: nothing where the name was no longer its own, or where it has
    /// others.
    pub(super) fn freed(&self) -> Gone {
        let was_last = self.metadata.is_file() && self.metadata.nlink() == 1;
        let now = Metadata::from_file(&self.handle).ok();
        now.filter(|now| was_last && now.nlink() == 0)
            .map_or_else(Gone::default, |gone| Gone {
                bytes: gone.len(),
                on_disk: gone.blocks().saturating_mul(512),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn the_last_name_is_split_from_the_way() {
        for (path, way, name) in [
            ("a", "", "a"),
            ("a/", "", "a/"),
            ("a/b", "a/", "b"),
            ("a//b//", "a//", "b//"),
            ("/a", "/", "a"),
            ("../a", "../", "a"),
            ("", "", "."),
            ("/", "/", "."),
            (".", ".", "."),
            ("..", "..", "."),
            ("a/..", "a/..", "."),
            ("a/./", "a/./", "."),
        ] {
            assert_eq!(split(path), (way, name), "{path}");
        }
    }
}
