//! `mkdir`: makes a folder.

use std::fs;
use std::io;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::failure;
use crate::goondan::tool::types::ToolError;
use crate::path::GuestPath;

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
pub(crate) fn mkdir(input: &Input) -> Result<Value, ToolError> {
    let path = GuestPath::new(&input.path);
    let fail = |error: io::Error| failure::io(path.as_str(), &error);

    let existed = fs::metadata(path.as_str()).is_ok_and(|found| found.is_dir());
    if existed && !input.recursive {
        return Err(failure::already_exists(path.as_str()));
    }
    path.refuse_stray_tree(path.as_str())?;
    if input.recursive {
        fs::create_dir_all(path.as_str()).map_err(fail)?;
    } else {
        fs::create_dir(path.as_str()).map_err(fail)?;
    }
    Ok(json!({ "path": path.as_str(), "created": !existed, "recursive": input.recursive }))
}
