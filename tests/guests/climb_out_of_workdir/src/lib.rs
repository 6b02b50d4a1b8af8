//! Tries to reach files outside of the workdir through std.
//!
//! Input `{op, paths, other?}`. Output `{results: [{path, ok, detail | error}]}`, in the order of
//! `paths`; `error` is an errno's name.
//!
//! | op | does | detail |
//! |---|---|---|
//! | `read` | reads the file | its first 200 bytes as text |
//! | `write` | replaces it with `climbed` | bytes written |
//! | `append` | adds `climbed` to it | bytes written |
//! | `truncate` | makes it empty, without creating it | |
//! | `mkdir`, `rmdir`, `unlink` | | |
//! | `rename` | renames `other` (default `/inside`) to the path | |
//! | `rename_from` | renames the path to `other` (default `/stolen`) | |
//! | `link` | links the path to `other` (default `/stolen`): a hard link to outside | |
//! | `link_to` | links `other` (default `/inside`) to the path: a hard link made outside | |
//! | `symlink` | makes `other` (default `/planted`) a link to the path; nothing is followed | |
//! | `symlink_at` | makes the path a link to `other` (default `inside`) | |
//! | `readlink` | | the target |
//! | `stat`, `lstat` | | `{type, size}` |
//! | `list` | | names, sorted |
//! | `set_times` | sets the modification time to 1 s after 1970 | |

use std::fs::{self, File, FileTimes, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::time::{Duration, UNIX_EPOCH};

use guest_glue::{Attempt, ToolError, Value, error, json, symlink, text};

guest_glue::serve!(run);

const MARK: &[u8] = b"climbed";

fn run(input: Value) -> Result<Value, ToolError> {
    let op = text(&input, "op", "read");
    let paths = input["paths"]
        .as_array()
        .ok_or_else(|| error("paths is missing"))?;
    let mut results = Vec::new();
    for path in paths {
        let path = path.as_str().ok_or_else(|| error("a path is not text"))?;
        let other = |default| text(&input, "other", default).to_owned();
        let done = attempt(op, path, &other).ok_or_else(|| error(format!("no op `{op}`")))?;
        let mut result = done.attempt();
        result["path"] = json!(path);
        results.push(result);
    }
    Ok(json!({ "results": results }))
}

fn attempt(
    op: &str,
    path: &str,
    other: &dyn Fn(&'static str) -> String,
) -> Option<io::Result<Value>> {
    let done = |result: io::Result<()>| result.map(|()| Value::Null);
    Some(match op {
        "read" => read(path),
        "write" => File::create(path).and_then(mark),
        "append" => OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .and_then(mark),
        "truncate" => done(
            OpenOptions::new()
                .write(true)
                .truncate(true)
                .open(path)
                .map(drop),
        ),
        "mkdir" => done(fs::create_dir(path)),
        "rmdir" => done(fs::remove_dir(path)),
        "unlink" => done(fs::remove_file(path)),
        "rename" => done(fs::rename(other("/inside"), path)),
        "rename_from" => done(fs::rename(path, other("/stolen"))),
        "link" => done(fs::hard_link(path, other("/stolen"))),
        "link_to" => done(fs::hard_link(other("/inside"), path)),
        "symlink" => done(symlink(path, &other("/planted"))),
        "symlink_at" => done(symlink(&other("inside"), path)),
        "readlink" => fs::read_link(path).map(|target| json!(target.to_string_lossy())),
        "stat" => fs::metadata(path).map(|it| describe(&it)),
        "lstat" => fs::symlink_metadata(path).map(|it| describe(&it)),
        "list" => list(path),
        "set_times" => done(set_times(path)),
        _ => return None,
    })
}

fn read(path: &str) -> io::Result<Value> {
    let mut bytes = Vec::new();
    File::open(path)?.take(200).read_to_end(&mut bytes)?;
    Ok(json!(String::from_utf8_lossy(&bytes)))
}

fn mark(mut file: File) -> io::Result<Value> {
    file.write_all(MARK)?;
    Ok(json!(MARK.len()))
}

fn describe(metadata: &Metadata) -> Value {
    let kind = match metadata.file_type() {
        it if it.is_dir() => "dir",
        it if it.is_symlink() => "symlink",
        it if it.is_file() => "file",
        _ => "other",
    };
    json!({ "type": kind, "size": metadata.len() })
}

fn list(path: &str) -> io::Result<Value> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(json!(names))
}

fn set_times(path: &str) -> io::Result<()> {
    let times = FileTimes::new().set_modified(UNIX_EPOCH + Duration::from_secs(1));
    File::open(path)?.set_times(times)
}
