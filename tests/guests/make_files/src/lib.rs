//! Creates many files or folders. Input `{count, dir?, kind?}`.
//!
//! `dir` defaults to `/many` and is made. Kinds: `file` (default) and `dir` make `0`, `1`, `2` … in
//! it; `deep` makes folders named `d`, each in the one before.
//! Output `{made, error?}`; `dir` itself is not counted.

use std::fs::{self, File};
use std::io;

use guest_glue::{ToolError, Value, error, io_error, json, number, text};

guest_glue::serve!(run);

fn run(input: Value) -> Result<Value, ToolError> {
    let dir = text(&input, "dir", "/many");
    let kind = text(&input, "kind", "file");
    fs::create_dir_all(dir).map_err(|reason| error(format!("{dir}: {}", io_error(&reason))))?;
    let mut path = dir.to_owned();
    for made in 0..number(&input, "count").unwrap_or(0) {
        if kind == "deep" {
            path.push_str("/d");
        } else {
            path = format!("{dir}/{made}");
        }
        if let Err(error) = make(kind, &path) {
            return Ok(json!({ "made": made, "error": io_error(&error) }));
        }
    }
    Ok(json!({ "made": number(&input, "count").unwrap_or(0) }))
}

fn make(kind: &str, path: &str) -> io::Result<()> {
    match kind {
        "file" => File::create(path).map(drop),
        _ => fs::create_dir(path),
    }
}
