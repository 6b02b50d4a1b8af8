//! `write`: makes or replaces a file, or adds to its end.

use std::fs::OpenOptions;
use std::io::{self, Write as _};

use serde::Deserialize;
use toolhost_guest::{Context, ToolError, Value, json};

use crate::failure;
use crate::path::{GuestPath, make_folders};

#[derive(Deserialize)]
pub(crate) struct Input {
    path: String,
    content: String,
    #[serde(default)]
    append: bool,
}

/// Returns `{path, size, written: true}`; `size` is the file's after writing.
pub(crate) fn write(_: &Context, input: Input) -> Result<Value, ToolError> {
    let path = GuestPath::new(&input.path);
    let fail = |error: io::Error| failure::io(path.as_str(), &error);

    path.refuse_stray_tree(path.parent())?;
    make_folders(path.parent()).map_err(fail)?;
    let mut options = OpenOptions::new();
    if input.append {
        options.append(true);
    } else {
        options.write(true).truncate(true);
    }
    let mut file = options.create(true).open(path.as_str()).map_err(fail)?;
    file.write_all(input.content.as_bytes()).map_err(fail)?;
    let size = file.metadata().map_err(fail)?.len();
    Ok(json!({ "path": path.as_str(), "size": size, "written": true }))
}
