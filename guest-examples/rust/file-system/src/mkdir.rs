//! `mkdir`: makes a folder.

use std::fs;
use std::io;

use serde::Deserialize;
use toolhost_guest::{Context, ToolError, Value, json};

use crate::failure;
use crate::path::{GuestPath, make_folders};

#[derive(Deserialize)]
pub(crate) struct Input {
    path: String,
    #[serde(default = "yes")]
    recursive: bool,
}

fn yes() -> bool {
    true
}

/// Returns `{path, created, recursive}`; `created` is false for a folder that was there already.
pub(crate) fn mkdir(_: &Context, input: Input) -> Result<Value, ToolError> {
    let path = GuestPath::new(&input.path);
    let fail = |error: io::Error| failure::io(path.as_str(), &error);

    path.refuse_stray_tree(path.as_str())?;
    let created = if input.recursive {
        make_folders(path.as_str()).map_err(fail)?
    } else {
        fs::create_dir(path.as_str()).map_err(fail)?;
        true
    };
    Ok(json!({ "path": path.as_str(), "created": created, "recursive": input.recursive }))
}
