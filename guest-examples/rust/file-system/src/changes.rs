//! Changes of files that are made all together, or taken back.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};

use toolhost_guest::ToolError;

use crate::failure;
use crate::path::make_folders;

/// One change, with what is needed to take it back.
pub(crate) enum Change {
    Create {
        path: String,
        bytes: Vec<u8>,
    },
    /// Writes within the file, whose mode and links stay.
    Write {
        path: String,
        before: Vec<u8>,
        after: Vec<u8>,
    },
    Rename {
        from: String,
        to: String,
    },
    Delete {
        path: String,
        before: Vec<u8>,
    },
}

/// What has been done, in order.
enum Step<'a> {
    Folder(String),
    Change(&'a Change),
}

/// Makes every change. If one fails, those before it are taken back, the last first.
pub(crate) fn commit(changes: &[Change]) -> Result<(), ToolError> {
    let mut done = Vec::new();
    for change in changes {
        if let Err((path, error)) = make(change, &mut done) {
            let failure = failure::io(path, &error);
            let left: Vec<_> = done.iter().rev().filter_map(take_back).collect();
            return Err(match left.as_slice() {
                [] => failure.at("nothing is changed"),
                left => failure.at(format!("these could not be restored: {}", left.join(", "))),
            });
        }
    }
    Ok(())
}

fn make<'a>(change: &'a Change, done: &mut Vec<Step<'a>>) -> Result<(), (&'a str, io::Error)> {
    let (Change::Create { path, .. }
    | Change::Write { path, .. }
    | Change::Rename { to: path, .. }
    | Change::Delete { path, .. }) = change;
    let fail = |error| (path.as_str(), error);
    match change {
        Change::Create { bytes, .. } => {
            folders_for(path, done).map_err(fail)?;
            let mut options = OpenOptions::new();
            let mut file = options
                .write(true)
                .create_new(true)
                .open(path)
                .map_err(fail)?;
            done.push(Step::Change(change));
            file.write_all(bytes).map_err(fail)
        }
        Change::Write { after, .. } => {
            let mut options = OpenOptions::new();
            let mut file = options
                .write(true)
                .truncate(true)
                .open(path)
                .map_err(fail)?;
            done.push(Step::Change(change));
            file.write_all(after).map_err(fail)
        }
        Change::Rename { from, to } => {
            folders_for(to, done).map_err(fail)?;
            fs::rename(from, to).map_err(fail)?;
            done.push(Step::Change(change));
            Ok(())
        }
        Change::Delete { .. } => {
            fs::remove_file(path).map_err(fail)?;
            done.push(Step::Change(change));
            Ok(())
        }
    }
}

/// Makes the folders above a file, and notes the first that is new.
fn folders_for<'a>(path: &str, done: &mut Vec<Step<'a>>) -> io::Result<()> {
    let mut folders = Vec::new();
    let mut folder = path;
    while let Some((parent, _)) = folder.rsplit_once('/').filter(|it| !it.0.is_empty()) {
        if fs::symlink_metadata(parent).is_ok() {
            break;
        }
        folders.push(parent.to_owned());
        folder = parent;
    }
    if let Some(deepest) = folders.first() {
        make_folders(deepest)?;
    }
    done.extend(folders.into_iter().rev().map(Step::Folder));
    Ok(())
}

/// Takes a step back, and returns the path of what could not be restored.
fn take_back(step: &Step<'_>) -> Option<String> {
    let (path, result) = match step {
        Step::Folder(path) => (path, fs::remove_dir(path)),
        Step::Change(Change::Create { path, .. }) => (path, fs::remove_file(path)),
        Step::Change(Change::Write { path, before, .. } | Change::Delete { path, before }) => {
            (path, fs::write(path, before))
        }
        Step::Change(Change::Rename { from, to }) => (from, fs::rename(to, from)),
    };
    result.is_err().then(|| path.clone())
}
