//! `write`: makes or replaces a file, or adds to its end.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write as _};

use serde::Deserialize;
use toolhost_guest::{Context, ToolError, Value, json};

use crate::encoding::Codec;
use crate::failure;
use crate::path::{GuestPath, make_folders};

#[derive(Deserialize)]
pub(crate) struct Input {
    path: String,
    content: String,
    #[serde(default)]
    append: bool,
    #[serde(default = "yes")]
    overwrite: bool,
    #[serde(default = "yes")]
    folders: bool,
    encoding: Option<String>,
}

fn yes() -> bool {
    true
}

/// Returns `{path, size, written: true}`; `size` is the file's after writing.
pub(crate) fn write(_: &Context, input: Input) -> Result<Value, ToolError> {
    let path = GuestPath::new(&input.path);
    let fail = |error: io::Error| match error.kind() {
        ErrorKind::AlreadyExists => failure::file_exists(path.as_str()),
        _ => failure::io(path.as_str(), &error),
    };
    // Before the file is opened: what cannot be encoded must not empty it.
    let encoded = match Codec::new(input.encoding.as_deref())? {
        Codec::Utf8 => None,
        codec => Some(codec.encode(&input.content, path.as_str())?),
    };
    let bytes = encoded.as_deref().unwrap_or(input.content.as_bytes());

    if input.folders {
        path.refuse_stray_tree(path.parent())?;
        make_folders(path.parent()).map_err(fail)?;
    }
    let mut options = OpenOptions::new();
    if input.append {
        options.append(true).create(true);
    } else if input.overwrite {
        options.write(true).truncate(true).create(true);
    } else {
        options.write(true).create_new(true);
    }
    let mut file = options.open(path.as_str()).map_err(fail)?;
    file.write_all(bytes).map_err(fail)?;
    let size = file.metadata().map_err(fail)?.len();
    Ok(json!({ "path": path.as_str(), "size": size, "written": true }))
}
