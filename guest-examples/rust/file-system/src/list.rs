//! `list`: what is in a folder, sorted, in pages.

use std::fs;

use serde::{Deserialize, Serialize};
use toolhost_guest::{Context, ToolError};

use crate::failure;
use crate::path::GuestPath;
use crate::room::{RESULT_MAX, json_len};
use crate::walk::{self, Ignored, Walk};

const DEFAULT_LIMIT: usize = 1_000;
const LIMIT_MAX: usize = 10_000;

/// Entries that are counted at most.
const COUNTED_MAX: usize = 200_000;

/// Bytes of an entry in JSON, without its name and path.
const ENTRY_LEN: usize = 80;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Input {
    path: String,
    recursive: bool,
    depth: Option<usize>,
    include_dirs: bool,
    include_files: bool,
    limit: Option<usize>,
    cursor: Option<String>,
}

impl Default for Input {
    fn default() -> Self {
        Self {
            path: ".".into(),
            recursive: false,
            depth: None,
            include_dirs: true,
            include_files: true,
            limit: None,
            cursor: None,
        }
    }
}

#[derive(Serialize)]
pub(crate) struct Output {
    path: String,
    recursive: bool,
    /// Entries in this page.
    count: usize,
    /// Entries in all pages from this one on, unless they are too many to count.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining: Option<usize>,
    truncated: bool,
    /// Passed back for the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    /// Folders beneath that cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<String>,
    entries: Vec<Entry>,
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

pub(crate) fn list(_: &Context, input: Input) -> Result<Output, ToolError> {
    let root = GuestPath::new(&input.path);
    let limit = input.limit.unwrap_or(DEFAULT_LIMIT).min(LIMIT_MAX);
    let depth = match (input.depth, input.recursive) {
        (Some(depth), _) => depth.max(1),
        (None, true) => usize::MAX,
        (None, false) => 1,
    };
    let cursor = input
        .cursor
        .as_deref()
        .map(|cursor| cursor_of(cursor, &root))
        .transpose()?;
    let mut walk = Walk::new(root.as_str(), depth, Ignored::Shown, cursor)?;
    let mut entries: Vec<Entry> = Vec::new();
    let (mut room, mut remaining, mut is_full) = (RESULT_MAX, 0, false);
    for found in walk.by_ref() {
        // Only a link must be looked at to know what it is.
        let target = (found.kind == walk::Kind::Link)
            .then(|| fs::metadata(&found.path).ok())
            .flatten();
        let is_dir = found.kind == walk::Kind::Dir || target.as_ref().is_some_and(|it| it.is_dir());
        if !(if is_dir {
            input.include_dirs
        } else {
            input.include_files
        }) {
            continue;
        }
        remaining += 1;
        if remaining > COUNTED_MAX {
            break;
        }
        let needed = ENTRY_LEN + json_len(&found.name) + json_len(&found.path);
        is_full |= entries.len() >= limit || needed > room;
        if is_full {
            continue;
        }
        room -= needed;
        entries.push(entry(found, is_dir, target));
    }
    let truncated = remaining > entries.len();
    let cursor = entries
        .last()
        .filter(|_| truncated)
        .map(|it| it.path.clone());
    Ok(Output {
        path: root.as_str().into(),
        recursive: depth > 1,
        count: entries.len(),
        remaining: (remaining <= COUNTED_MAX).then_some(remaining),
        truncated,
        cursor,
        unreadable: walk.unreadable().into(),
        entries,
    })
}

/// A dangling link is a file without a size.
fn entry(found: walk::Entry, is_dir: bool, target: Option<fs::Metadata>) -> Entry {
    let size = match found.kind {
        walk::Kind::Link => target.filter(fs::Metadata::is_file),
        walk::Kind::File => fs::metadata(&found.path).ok(),
        walk::Kind::Dir => None,
    };
    Entry {
        name: found.name,
        path: found.path,
        kind: if is_dir { Kind::Dir } else { Kind::File },
        size: size.map(|it| it.len()),
    }
}

/// Parses a cursor: the path of the last entry before.
pub(crate) fn cursor_of(cursor: &str, root: &GuestPath) -> Result<String, ToolError> {
    let beneath = format!("{}/", root.as_str().trim_end_matches('/'));
    if cursor.starts_with(&beneath) {
        Ok(cursor.to_owned())
    } else {
        Err(failure::cursor(cursor, root.as_str()))
    }
}
