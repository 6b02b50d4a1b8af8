//! `readlink` and `realpath`.

use std::io;
use std::path::{Component, Path, PathBuf};

use super::names::quoted_if_needed;
use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, value};
use crate::files::text_of;

pub(super) const READLINK: Command = Command::new(
    "readlink",
    Spec::new(&[
        flag('f', "canonicalize"),
        flag('e', "canonicalize-existing"),
        flag('m', "canonicalize-missing"),
        flag('n', "no-newline"),
        flag('q', "quiet"),
        flag('s', "silent"),
        flag('v', "verbose"),
        flag('z', "zero"),
    ]),
    readlink,
);

pub(super) const REALPATH: Command = Command::new(
    "realpath",
    Spec::new(&[
        flag('e', "canonicalize-existing"),
        flag('m', "canonicalize-missing"),
        flag('L', "logical"),
        flag('P', "physical"),
        flag('q', "quiet"),
        value('\0', "relative-to"),
        value('\0', "relative-base"),
        flag('s', "strip"),
        flag('\0', "no-symlinks"),
        flag('z', "zero"),
    ]),
    realpath,
);

/// What may be missing of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Nothing,
    Last,
    All,
}

fn readlink(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    if line.operands.is_empty() {
        return Err(call.misuse("missing operand"));
    }
    let missing = match line.last_of(&[
        "canonicalize",
        "canonicalize-existing",
        "canonicalize-missing",
    ]) {
        Some("canonicalize") => Some(Missing::Last),
        Some("canonicalize-existing") => Some(Missing::Nothing),
        Some(_) => Some(Missing::All),
        None => None,
    };
    let end = match line.last_of(&["zero", "no-newline"]) {
        _ if line.has("no-newline") && line.operands.len() == 1 => "",
        Some("zero") => "\0",
        _ => "\n",
    };
    let mut exit_code = 0;
    for operand in &line.operands {
        let result = match missing {
            Some(missing) => canonical(call, operand, missing, false),
            None => link_text(call, operand),
        };
        match result {
            Ok(path) => {
                call.print(path.as_os_str().as_encoded_bytes());
                call.print(end);
            }
            Err(error) => {
                if line.has("verbose") {
                    let operand = quoted_if_needed(operand);
                    call.complain(format_args!("{operand}: {}", text_of(&error)));
                }
                exit_code = 1;
            }
        }
    }
    Ok(exit_code)
}

fn link_text(call: &Call, operand: &str) -> io::Result<PathBuf> {
    let path = call.path(operand);
    if call.files.metadata(&path)?.file_type.is_symlink() && !operand.ends_with('/') {
        return call.files.read_link(&path);
    }
    Err(io::Error::new(
        io::ErrorKind::InvalidInput,
        "Invalid argument",
    ))
}

fn realpath(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    if line.operands.is_empty() {
        return Err(call.misuse("missing operand"));
    }
    let missing = match line.last_of(&["canonicalize-existing", "canonicalize-missing"]) {
        Some("canonicalize-existing") => Missing::Nothing,
        Some(_) => Missing::All,
        None => Missing::Last,
    };
    let keeps_links = line.has("strip") || line.has("no-symlinks");
    let base_of = |name: &str| -> Result<Option<PathBuf>, Failure> {
        let Some(operand) = line.value(name) else {
            return Ok(None);
        };
        canonical(call, operand, missing, keeps_links)
            .map(Some)
            .map_err(|error| {
                Failure::new(
                    1,
                    format!("{}: {}", quoted_if_needed(operand), text_of(&error)),
                )
            })
    };
    let (mut to, within) = (base_of("relative-to")?, base_of("relative-base")?);
    if let Some(within) = &within {
        match &to {
            Some(folder) if !folder.starts_with(within) => to = None,
            Some(_) => {}
            None => to = Some(within.clone()),
        }
    }
    let mut exit_code = 0;
    for operand in &line.operands {
        let logical;
        let mut operand = operand;
        if line.has("logical") {
            logical = bashkit::normalize_path(&call.cwd.join(operand))
                .to_string_lossy()
                .into_owned();
            operand = &logical;
        }
        match canonical(call, operand, missing, keeps_links) {
            Ok(path) => {
                let is_within = within
                    .as_ref()
                    .is_none_or(|within| path.starts_with(within));
                let text = match &to {
                    Some(folder) if is_within => relative(&path, folder),
                    _ => path.to_string_lossy().into_owned(),
                };
                call.print(text);
                call.print(if line.has("zero") { "\0" } else { "\n" });
            }
            Err(error) => {
                if !line.has("quiet") {
                    let operand = quoted_if_needed(operand);
                    call.complain(format_args!("{operand}: {}", text_of(&error)));
                }
                exit_code = 1;
            }
        }
    }
    Ok(exit_code)
}

/// The absolute path of an operand without links, `.` and `..`.
fn canonical(
    call: &Call,
    operand: &str,
    missing: Missing,
    keeps_links: bool,
) -> io::Result<PathBuf> {
    let not_found = || io::Error::new(io::ErrorKind::NotFound, "No such file or directory");
    if operand.is_empty() {
        return Err(not_found());
    }
    let path = call.cwd.join(operand);
    let mut physical = PathBuf::from("/");
    let mut parts: Vec<Component> = path.components().collect();
    let count = parts.len();
    let mut is_missing = false;
    let mut is_file = false;
    for (at, part) in parts.drain(..).enumerate() {
        match part {
            Component::RootDir | Component::Prefix(_) => physical = PathBuf::from("/"),
            Component::CurDir => {}
            Component::ParentDir => {
                physical.pop();
            }
            Component::Normal(name) => {
                if is_file && missing != Missing::All {
                    return Err(io::Error::new(
                        io::ErrorKind::NotADirectory,
                        "Not a directory",
                    ));
                }
                if is_missing && missing != Missing::All {
                    return Err(not_found());
                }
                physical.push(name);
                let is_last = at + 1 == count;
                match step(call, &physical, keeps_links) {
                    Ok(path) => {
                        physical = path;
                        let metadata = call.files.metadata(&physical);
                        is_missing = metadata.is_err();
                        is_file = metadata.is_ok_and(|metadata| {
                            !metadata.file_type.is_dir() && !metadata.file_type.is_symlink()
                        });
                    }
                    Err(error)
                        if missing == Missing::All && error.kind() == io::ErrorKind::NotFound =>
                    {
                        is_missing = true
                    }
                    Err(error)
                        if error.kind() == io::ErrorKind::NotFound
                            && is_last
                            && missing == Missing::Last =>
                    {
                        is_missing = true;
                    }
                    Err(error) => return Err(error),
                }
                if is_missing && missing == Missing::Nothing {
                    return Err(not_found());
                }
            }
        }
    }
    if is_file && operand.ends_with('/') && missing != Missing::All {
        return Err(io::Error::new(
            io::ErrorKind::NotADirectory,
            "Not a directory",
        ));
    }
    Ok(physical)
}

/// Follows the links at the end of a path, also to what is missing.
fn step(call: &Call, path: &Path, keeps_links: bool) -> io::Result<PathBuf> {
    if keeps_links {
        return Ok(path.to_owned());
    }
    match call.files.target(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        target => return target,
    }
    let mut path = path.to_owned();
    while let Ok(text) = call.files.read_link(&path) {
        let folder = path.parent().unwrap_or(&path).to_owned();
        path = bashkit::normalize_path(&folder.join(text));
    }
    match path.parent() {
        Some(folder) if call.files.metadata(folder).is_err() => Err(io::Error::new(
            io::ErrorKind::NotFound,
            "No such file or directory",
        )),
        _ => Ok(path),
    }
}

/// The path from a folder to a path, both absolute.
pub(super) fn relative(path: &Path, folder: &Path) -> String {
    let mut above = 0;
    for ancestor in folder.ancestors() {
        if let Ok(rest) = path.strip_prefix(ancestor) {
            let mut parts = vec![".."; above];
            let rest = rest.to_string_lossy();
            if !rest.is_empty() {
                parts.push(&rest);
            }
            return if parts.is_empty() {
                ".".to_owned()
            } else {
                parts.join("/")
            };
        }
        above += 1;
    }
    path.to_string_lossy().into_owned()
}
