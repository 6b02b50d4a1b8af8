//! `list`: what is in a folder, sorted by path.

use std::fs::{self, DirEntry};
use std::io;

use serde::{Deserialize, Serialize};
use toolhost_guest::{Context, ToolError, Value, json};

use crate::failure;
use crate::path::GuestPath;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Input {
    path: String,
    recursive: bool,
    include_dirs: bool,
    include_files: bool,
}

impl Default for Input {
    fn default() -> Self {
        Self {
            path: ".".into(),
            recursive: false,
            include_dirs: true,
            include_files: true,
        }
    }
}

#[derive(Serialize)]
struct Entry {
    name: String,
    path: String,
    #[serde(rename = "type")]
    kind: Kind,
    /// Bytes; of files only.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    File,
    Dir,
}

/// Returns `{path, recursive, count, entries: [{name, path, type, size?}]}`.
pub(crate) fn list(_: &Context, input: Input) -> Result<Value, ToolError> {
    let root = GuestPath::new(&input.path);
    let mut entries = Vec::new();
    let mut folders = vec![root.as_str().to_owned()];
    while let Some(folder) = folders.pop() {
        let fail = |error: io::Error| failure::io(&folder, &error);
        for found in fs::read_dir(&folder).map_err(fail)? {
            let found = found.map_err(fail)?;
            let entry = entry(&folder, &found);
            // A link to a folder is listed but not entered: it may lead back here.
            let is_real_folder = found.file_type().is_ok_and(|kind| kind.is_dir());
            if input.recursive && is_real_folder {
                folders.push(entry.path.clone());
            }
            let wanted = match entry.kind {
                Kind::Dir => input.include_dirs,
                Kind::File => input.include_files,
            };
            if wanted {
                entries.push(entry);
            }
        }
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(json!({
        "path": root.as_str(),
        "recursive": input.recursive,
        "count": entries.len(),
        "entries": entries,
    }))
}

fn entry(folder: &str, found: &DirEntry) -> Entry {
    let name = found.file_name().to_string_lossy().into_owned();
    let path = format!("{}/{name}", folder.trim_end_matches('/'));
    // A link counts as its target; a dangling link is a file without a size.
    let metadata = fs::metadata(&path).ok();
    let kind = match &metadata {
        Some(metadata) if metadata.is_dir() => Kind::Dir,
        _ => Kind::File,
    };
    let size = metadata.filter(|it| it.is_file()).map(|it| it.len());
    Entry {
        name,
        path,
        kind,
        size,
    }
}
