//! `remove`: removes a file, a link or a folder.

use std::fs;
use std::io;

use serde::Deserialize;
use toolhost_guest::{Context, ToolError, Value, json};

use crate::failure;
use crate::path::GuestPath;

#[derive(Deserialize)]
pub(crate) struct Input {
    path: String,
    #[serde(default)]
    recursive: bool,
}

/// Returns `{path, removed}`: how many entries, with all beneath. A link is removed, and not what it leads to.
pub(crate) fn remove(_: &Context, input: Input) -> Result<Value, ToolError> {
    let path = GuestPath::new(&input.path);
    if path.as_str() == "/" {
        return Err(failure::workdir_itself());
    }
    let fail = |error: io::Error| failure::io(path.as_str(), &error);
    let removed = if !fs::symlink_metadata(path.as_str()).map_err(fail)?.is_dir() {
        fs::remove_file(path.as_str()).map_err(fail)?;
        1
    } else if input.recursive {
        remove_tree(path.as_str())?
    } else {
        if fs::read_dir(path.as_str()).map_err(fail)?.next().is_some() {
            return Err(failure::not_empty(path.as_str()));
        }
        fs::remove_dir(path.as_str()).map_err(fail)?;
        1
    };
    Ok(json!({ "path": path.as_str(), "removed": removed }))
}

/// Removes a folder with all beneath, the deepest first, and returns how many entries that was.
pub(crate) fn remove_tree(root: &str) -> Result<u64, ToolError> {
    let mut folders = vec![root.to_owned()];
    let mut removed = 0;
    let mut at = 0;
    while let Some(folder) = folders.get(at).cloned() {
        let fail = |error: io::Error| failure::io(&folder, &error);
        for entry in fs::read_dir(&folder)
            .map_err(fail)?
            .collect::<Result<Vec<_>, _>>()
            .map_err(fail)?
        {
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.file_type().map_err(fail)?.is_dir() {
                folders.push(path);
            } else {
                fs::remove_file(&path).map_err(|error| failure::io(&path, &error))?;
                removed += 1;
            }
        }
        at += 1;
    }
    for folder in folders.iter().rev() {
        fs::remove_dir(folder).map_err(|error| failure::io(folder, &error))?;
        removed += 1;
    }
    Ok(removed)
}
