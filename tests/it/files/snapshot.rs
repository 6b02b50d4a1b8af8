//! Snapshots of a directory on the host, to compare before and after a call.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use toolhost_sandbox::FileId;

/// The metadata and contents of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    inode: u64,
    links: u64,
    mode: u32,
    modified: (i64, i64),
    contents: Contents,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Contents {
    File(Vec<u8>),
    Link(PathBuf),
    Folder,
    Special,
}

/// Names relative to the directory; the directory itself is the empty name.
pub(crate) type Tree = BTreeMap<PathBuf, Entry>;

/// Reads everything beneath `top`, except beneath `except`.
pub(crate) fn tree(top: &Path, except: Option<&Path>) -> Tree {
    let mut found = Tree::new();
    let mut folders = vec![top.to_owned()];
    found.insert(PathBuf::new(), entry(top));
    while let Some(folder) = folders.pop() {
        for name in fs::read_dir(&folder).unwrap() {
            let path = name.unwrap().path();
            if Some(path.as_path()) == except {
                continue;
            }
            let entry = entry(&path);
            if entry.contents == Contents::Folder {
                folders.push(path.clone());
            }
            found.insert(path.strip_prefix(top).unwrap().to_owned(), entry);
        }
    }
    found
}

/// Returns the identity of a file, without following a link.
pub(crate) fn file_id(path: &Path) -> FileId {
    let metadata = fs::symlink_metadata(path).unwrap();
    FileId {
        device: metadata.dev(),
        inode: metadata.ino(),
    }
}

fn entry(path: &Path) -> Entry {
    let metadata = fs::symlink_metadata(path).unwrap();
    let kind = metadata.file_type();
    let contents = if kind.is_symlink() {
        Contents::Link(fs::read_link(path).unwrap())
    } else if kind.is_dir() {
        Contents::Folder
    } else if kind.is_fifo() || kind.is_socket() || kind.is_char_device() {
        Contents::Special
    } else {
        Contents::File(fs::read(path).unwrap())
    };
    Entry {
        inode: metadata.ino(),
        links: metadata.nlink(),
        mode: metadata.mode(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        contents,
    }
}
