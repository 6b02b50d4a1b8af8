//! The state of a file, as its metadata tells it.

use std::io::ErrorKind;
use std::path::Path;

use std::fs::metadata;
use std::os::unix::fs::MetadataExt;

/// The state of the file that a path leads to. Two states differ if the file may have changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FileState {
    /// The path leads nowhere, or cannot be followed.
    Absent(ErrorKind),
    /// Its content is not looked at: any file may be created in it.
    Directory { device: u64, inode: u64 },
    File {
        device: u64,
        inode: u64,
        bytes: u64,
        /// Seconds and nanoseconds.
        modified: (i64, i64),
        /// When its content, name or attributes changed. Programs cannot set it.
        changed: (i64, i64),
    },
}

impl FileState {
    pub(super) fn of(path: &Path) -> Self {
        let metadata = match metadata(path) {
            Ok(metadata) => metadata,
            Err(error) => return Self::Absent(error.kind()),
        };
        let (device, inode) = (metadata.dev(), metadata.ino());
        if metadata.is_dir() {
            Self::Directory { device, inode }
        } else {
            Self::File {
                device,
                inode,
                bytes: metadata.size(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn files_that_appear_in_a_directory_do_not_change_its_state() {
        let dir = tempfile::tempdir().unwrap();
        let before = FileState::of(dir.path());
        std::thread::sleep(Duration::from_millis(10));
        fs::write(dir.path().join("f"), "").unwrap();
        assert_eq!(FileState::of(dir.path()), before);
    }

    #[test]
    fn every_way_to_replace_a_file_changes_its_state() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::create_dir_all(path("releases/1")).unwrap();
        fs::create_dir(path("releases/2")).unwrap();
        for release in ["releases/1/f", "releases/2/f"] {
            fs::write(path(release), "one").unwrap();
        }
        symlink("releases/1", path("now")).unwrap();
        let file = path("now/f");
        let mut before = FileState::of(&file);
        assert_eq!(FileState::of(&file), before);
        let mut changes = |what: &str, change: &dyn Fn()| {
            // The clock of a file system may have steps of 4 ms.
            std::thread::sleep(Duration::from_millis(10));
            change();
            let now = FileState::of(&file);
            assert_ne!(now, before, "{what}");
            before = now;
        };
        changes("written in place, as long, with the old time", &|| {
            let open_file = fs::File::options().write(true).open(&file).unwrap();
            let modified = open_file.metadata().unwrap().modified().unwrap();
            fs::write(&file, "two").unwrap();
            open_file.set_modified(modified).unwrap();
        });
        changes("renamed over", &|| {
            fs::write(path("new"), "two").unwrap();
            fs::rename(path("new"), &file).unwrap();
        });
        changes("another link on the path", &|| {
            symlink("releases/2", path("next")).unwrap();
            fs::rename(path("next"), path("now")).unwrap();
        });
        changes("directory removed", &|| {
            fs::remove_dir_all(path("releases")).unwrap();
        });
        changes("directory created again", &|| {
            fs::create_dir_all(path("releases/2")).unwrap();
            fs::write(path("releases/2/f"), "two").unwrap();
        });
        changes("dated back", &|| {
            let open_file = fs::File::options().write(true).open(&file).unwrap();
            open_file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        });
        changes("loop of links", &|| {
            fs::remove_file(path("now")).unwrap();
            symlink("now", path("now")).unwrap();
        });
    }
}
