//! `mktemp`: a new file or folder that only its owner may read.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::io::ErrorKind;

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, optional, value};
use crate::files::text_of;

pub(super) const MKTEMP: Command = Command::new(
    "mktemp",
    Spec::new(&[
        flag('d', "directory"),
        flag('q', "quiet"),
        flag('t', ""),
        flag('u', "dry-run"),
        value('p', ""),
        optional('\0', "tmpdir"),
        value('\0', "suffix"),
    ]),
    mktemp,
);

const CHARACTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// How often another name is tried.
const ATTEMPTS: u64 = 100;

fn mktemp(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    if line.operands.len() > 1 {
        return Err(call.misuse("too many templates"));
    }
    let operand = line.operands.first();
    let template = operand.map_or("tmp.XXXXXXXXXX", String::as_str);
    let (body, suffix) = match line.value("suffix") {
        Some(_) if !template.ends_with('X') => {
            let text = format!(
                "with --suffix, template {} must end in X",
                call.quoted(template)
            );
            return Err(Failure::new(1, text));
        }
        Some(suffix) => (template, suffix),
        None => template.split_at(template.rfind('X').map_or(template.len(), |at| at + 1)),
    };
    let start = body.trim_end_matches('X');
    let number = body.len() - start.len();
    if number < 3 {
        return Err(Failure::new(
            1,
            format!("too few X's in template {}", call.quoted(template)),
        ));
    }
    if suffix.contains('/') {
        let text = format!(
            "invalid suffix {}, contains directory separator",
            call.quoted(suffix)
        );
        return Err(Failure::new(1, text));
    }
    let start = match folder(call, line, operand.is_some()) {
        Some(_) if template.starts_with('/') => {
            let text = format!(
                "invalid template, {}; with --tmpdir, it may not be absolute",
                call.quoted(template)
            );
            return Err(Failure::new(1, text));
        }
        Some(folder) => format!("{}/{start}", folder.trim_end_matches('/')),
        None => start.to_owned(),
    };
    let is_folder = line.has("directory");
    match make(call, &start, number, suffix, is_folder, line.has("dry-run")) {
        Ok(name) => {
            call.print(format!("{name}\n"));
            Ok(0)
        }
        Err(error) => {
            if !line.has("quiet") {
                let what = if is_folder { "directory" } else { "file" };
                let shown = call.quoted(&format!("{start}{}{suffix}", "X".repeat(number)));
                let why = text_of(&error);
                call.complain(format_args!(
                    "failed to create {what} via template {shown}: {why}"
                ));
            }
            Ok(1)
        }
    }
}

/// The folder that the options ask for, or that a call without a template has.
fn folder(call: &Call, line: &Line, has_template: bool) -> Option<String> {
    let set = call.env.get("TMPDIR").filter(|folder| !folder.is_empty());
    let usual = || set.map_or("/tmp", String::as_str).to_owned();
    if line.has("t") {
        let given = line.value("p").map(str::to_owned);
        return Some(set.cloned().or(given).unwrap_or_else(usual));
    }
    match line.last_of(&["p", "tmpdir"]) {
        Some(name) => {
            let given = line.value(name).filter(|folder| !folder.is_empty());
            Some(given.map_or_else(usual, str::to_owned))
        }
        None => (!has_template).then(usual),
    }
}

fn make(
    call: &Call,
    start: &str,
    number: usize,
    suffix: &str,
    is_folder: bool,
    is_dry: bool,
) -> std::io::Result<String> {
    let random = RandomState::new();
    let mut last = std::io::Error::from(ErrorKind::AlreadyExists);
    for attempt in 0..ATTEMPTS {
        let letters = (0..number).map(|at| {
            let mut hasher = random.build_hasher();
            hasher.write_u64(attempt);
            hasher.write_usize(at);
            let index = hasher.finish() % CHARACTERS.len() as u64;
            let index = usize::try_from(index).unwrap_or(0);
            char::from(CHARACTERS.get(index).copied().unwrap_or(b'X'))
        });
        let name = format!("{start}{}{suffix}", letters.collect::<String>());
        let path = call.path(&name);
        if call.files.metadata(&path).is_ok() {
            continue;
        }
        if is_dry {
            return Ok(name);
        }
        let made = if is_folder {
            call.files.make_folder(&path)
        } else {
            call.files.write(&path, b"")
        };
        match made {
            Ok(()) => {
                let mode = if is_folder { 0o700 } else { 0o600 };
                call.files.set_mode(&path, mode & !call.files.umask())?;
                return Ok(name);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}
