//! `move` and `copy`: to the path that is named, never into a folder of that name.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Write as _};

use serde::Deserialize;
use toolhost_guest::{Context, ToolError, Value, files, json};

use crate::failure::{self, failure};
use crate::path::{GuestPath, make_folders};
use crate::remove::remove_tree;
use crate::walk::{Entry, Ignored, Kind, Walk};

/// Bytes that are copied at once.
const CHUNK: usize = 1 << 16;

#[derive(Deserialize)]
pub(crate) struct MoveInput {
    from: String,
    to: String,
    #[serde(default)]
    overwrite: bool,
}

#[derive(Deserialize)]
pub(crate) struct CopyInput {
    from: String,
    to: String,
    #[serde(default)]
    overwrite: bool,
    #[serde(default)]
    recursive: bool,
}

/// Both ends, with the target's parents made.
struct Ends {
    from: GuestPath,
    to: GuestPath,
    /// Whether a file is replaced.
    replaces: bool,
}

/// Returns `{from, to, replaced}`.
pub(crate) fn move_entry(_: &Context, input: MoveInput) -> Result<Value, ToolError> {
    let ends = Ends::new(&input.from, &input.to, input.overwrite)?;
    let (from, to) = (ends.from.as_str(), ends.to.as_str());
    let source = fs::symlink_metadata(from).map_err(|error| failure::io(from, &error))?;
    if source.is_dir() && ends.replaces {
        return Err(failure::file_exists(to)
            .suggestion("a folder replaces no file: remove it first, or choose another path"));
    }
    fs::rename(from, to).map_err(|error| failure::io(to, &error))?;
    Ok(json!({ "from": from, "to": to, "replaced": ends.replaces }))
}

/// Returns `{from, to, replaced, files, bytes, skipped?}`.
pub(crate) fn copy(_: &Context, input: CopyInput) -> Result<Value, ToolError> {
    let ends = Ends::new(&input.from, &input.to, input.overwrite)?;
    let (from, to) = (ends.from.as_str(), ends.to.as_str());
    let source = fs::metadata(from).map_err(|error| failure::io(from, &error))?;
    if !source.is_dir() {
        let bytes = copy_file(from, to, ends.replaces)?;
        return Ok(
            json!({ "from": from, "to": to, "replaced": ends.replaces, "files": 1, "bytes": bytes }),
        );
    }
    if !input.recursive {
        return Err(failure::is_directory(from)
            .suggestion("pass `recursive: true` to copy it with all beneath"));
    }
    if ends.replaces {
        return Err(failure::file_exists(to)
            .suggestion("a folder replaces no file: remove it first, or choose another path"));
    }
    copy_tree(from, to)
}

impl Ends {
    fn new(from: &str, to: &str, overwrite: bool) -> Result<Self, ToolError> {
        let (from, to) = (GuestPath::new(from), GuestPath::new(to));
        if from.as_str() == "/" || to.as_str() == "/" {
            return Err(failure::workdir_itself());
        }
        let fail = |error: io::Error| failure::io(from.as_str(), &error);
        fs::symlink_metadata(from.as_str()).map_err(fail)?;
        if to.as_str() == from.as_str() || to.as_str().starts_with(&format!("{}/", from.as_str())) {
            return Err(failure::input(&format!(
                "{} is {} or lies within it",
                to.as_str(),
                from.as_str()
            )));
        }
        let replaces = match fs::symlink_metadata(to.as_str()) {
            Ok(there) => {
                refuse_loss(&from, &to, &there, overwrite)?;
                true
            }
            Err(error) if error.kind() == ErrorKind::NotFound => false,
            Err(error) => return Err(failure::io(to.as_str(), &error)),
        };
        to.refuse_stray_tree(to.parent())?;
        make_folders(to.parent()).map_err(|error| failure::io(to.parent(), &error))?;
        Ok(Self { from, to, replaces })
    }
}

fn refuse_loss(
    from: &GuestPath,
    to: &GuestPath,
    there: &Metadata,
    overwrite: bool,
) -> Result<(), ToolError> {
    if there.is_dir() {
        let name = from.as_str().rsplit('/').next().unwrap_or_default();
        let suggestion = format!(
            "`to` is the new path itself: pass `{}/{name}` to put it into that folder",
            to.as_str()
        );
        return Err(failure(
            "ALREADY_EXISTS",
            "AlreadyExistsError",
            format!("a folder is there already: {}", to.as_str()),
            suggestion,
        ));
    }
    if overwrite {
        Ok(())
    } else {
        Err(failure::file_exists(to.as_str()))
    }
}

/// Copies a file. One that is replaced stays until the copy is whole, also if both paths lead to it.
fn copy_file(from: &str, to: &str, replaces: bool) -> Result<u64, ToolError> {
    if !replaces {
        return write_copy(from, to, from);
    }
    let unfinished = format!("{to}.unfinished");
    let copied = write_copy(from, &unfinished, to)?;
    fs::rename(&unfinished, to).map_err(|error| failure::io(to, &error))?;
    Ok(copied)
}

/// Writes a copy under a name that is free, with the permissions of `like`, or leaves no file there.
fn write_copy(from: &str, to: &str, like: &str) -> Result<u64, ToolError> {
    let mut source = File::open(from).map_err(|error| failure::io(from, &error))?;
    let mut options = OpenOptions::new();
    let target = options.write(true).create_new(true).open(to);
    let mut target = target.map_err(|error| failure::io(to, &error))?;
    let copied = stream(&mut source, &mut target).and_then(|copied| {
        let mode = files::mode(like)?;
        if mode != files::mode(to)? {
            files::set_mode(to, mode)?;
        }
        Ok(copied)
    });
    copied.map_err(|error| {
        // The error is the one that matters.
        let _ = fs::remove_file(to);
        failure::io(to, &error)
    })
}

fn stream(source: &mut File, target: &mut File) -> io::Result<u64> {
    let mut chunk = vec![0; CHUNK];
    let mut copied = 0;
    loop {
        let read = source.read(&mut chunk)?;
        let Some(bytes) = chunk.get(..read).filter(|it| !it.is_empty()) else {
            return Ok(copied);
        };
        target.write_all(bytes)?;
        copied += read as u64;
    }
}

/// Copies a folder. A link to a file becomes a file; one to a folder, or to nothing, is skipped and named.
fn copy_tree(from: &str, to: &str) -> Result<Value, ToolError> {
    let mut walk = Walk::new(from, usize::MAX, Ignored::Shown, None)?;
    // All of them before any is made: `to` may lie within `from`, by a path that does not show it.
    let entries: Vec<_> = walk.by_ref().collect();
    if let Some(folder) = walk.unreadable().first() {
        return Err(failure::io(folder, &ErrorKind::PermissionDenied.into()));
    }
    fs::create_dir(to).map_err(|error| failure::io(to, &error))?;
    let Copied {
        files,
        bytes,
        mut skipped,
    } = copy_entries(from, to, entries).inspect_err(|_| {
        // Half a copy is none. The error is the one that matters.
        let _ = remove_tree(to);
    })?;
    let mut result =
        json!({ "from": from, "to": to, "replaced": false, "files": files, "bytes": bytes });
    if let (Some(result), false) = (result.as_object_mut(), skipped.is_empty()) {
        skipped.truncate(100);
        result.insert("skipped".into(), json!(skipped));
    }
    Ok(result)
}

#[derive(Default)]
struct Copied {
    files: u64,
    bytes: u64,
    skipped: Vec<String>,
}

fn copy_entries(from: &str, to: &str, entries: Vec<Entry>) -> Result<Copied, ToolError> {
    let mut copied = Copied::default();
    for entry in entries {
        let below = entry.path.strip_prefix(from).unwrap_or(&entry.path);
        let target = format!("{to}{below}");
        let leads_to_file = || fs::metadata(&entry.path).is_ok_and(|it| it.is_file());
        match entry.kind {
            Kind::Dir => fs::create_dir(&target).map_err(|error| failure::io(&target, &error))?,
            Kind::Link if !leads_to_file() => copied.skipped.push(entry.path),
            Kind::Link | Kind::File => {
                copied.bytes += write_copy(&entry.path, &target, &entry.path)?;
                copied.files += 1;
            }
        }
    }
    Ok(copied)
}
