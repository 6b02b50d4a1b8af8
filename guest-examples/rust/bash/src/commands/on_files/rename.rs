//! `mv`.

use std::collections::HashSet;
use std::io;

use super::destination::{
    B, BACKUP, Backup, Existing, NO_TARGET_DIRECTORY, SUFFIX, TARGET_DIRECTORY, pairs,
};
use super::names::quoted;
use super::remove::remove_all;
use super::transfer::{Dereference, Make, Transfer, fail};
use crate::commands::Command;
use crate::commands::call::{Call, Failure, Links};
use crate::commands::options::{Line, Spec, flag};

pub(super) const MV: Command = Command::new(
    "mv",
    Spec::new(&[
        B,
        BACKUP,
        flag('f', "force"),
        flag('i', "interactive"),
        flag('n', "no-clobber"),
        flag('\0', "strip-trailing-slashes"),
        SUFFIX,
        TARGET_DIRECTORY,
        NO_TARGET_DIRECTORY,
        flag('u', "update"),
        flag('v', "verbose"),
    ]),
    mv,
);

fn mv(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let backup = Backup::read(call, line)?;
    let existing = Existing::read(line);
    if backup.is_some() && existing == Existing::Keep {
        return Err(call.misuse("options --backup and --no-clobber are mutually exclusive"));
    }
    let mut all = true;
    let mut made = HashSet::new();
    for (from, to) in pairs(call, line)? {
        let from = if line.has("strip-trailing-slashes") {
            from.trim_end_matches('/')
        } else {
            &from
        };
        if made.contains(&call.path(&to)) {
            call.complain(format_args!(
                "will not overwrite just-created {} with {}",
                quoted(&to),
                quoted(from)
            ));
            all = false;
            continue;
        }
        all &= rename(call, line, (from, &to), existing, &backup);
        made.insert(call.path(&to));
    }
    Ok(i32::from(!all))
}

fn rename(
    call: &mut Call,
    line: &Line,
    (from, to): (&str, &str),
    policy: Existing,
    backup: &Backup,
) -> bool {
    let source = match call.metadata(from, Links::Keep) {
        Ok(source) => source,
        Err(error) => return fail(call, format_args!("cannot stat {}", quoted(from)), &error),
    };
    let is_folder = source.file_type.is_dir();
    let what = format!("cannot move {} to {}", quoted(from), quoted(to));
    if matches!(super::names::base(from), "." | ".." | "/") {
        call.complain(format_args!("{what}: Device or resource busy"));
        return false;
    }
    let (old, new) = (call.path(from), call.path(to));
    let mut saved = None;
    match call.metadata(to, Links::Keep) {
        Ok(target) => {
            let is_same = old == new
                || (target.file_type == source.file_type
                    && matches!((call.files.canonical_new(&old), call.files.canonical_new(&new)), (Ok(a), Ok(b)) if a == b));
            if is_same && is_folder {
                call.complain(format_args!(
                    "cannot move {} to a subdirectory of itself, {}",
                    quoted(from),
                    quoted(to)
                ));
                return false;
            }
            if is_same {
                call.complain(format_args!(
                    "{} and {} are the same file",
                    quoted(from),
                    quoted(to)
                ));
                return false;
            }
            if policy == Existing::Keep
                || (line.has("update") && !is_folder && target.modified >= source.modified)
            {
                return true;
            }
            if policy == Existing::Ask && !call.confirm(format_args!("overwrite {}?", quoted(to))) {
                return true;
            }
            match (is_folder, target.file_type.is_dir()) {
                (false, true) => {
                    call.complain(format_args!(
                        "cannot overwrite directory {} with non-directory",
                        quoted(to)
                    ));
                    return false;
                }
                (true, false) if !backup.is_some() => {
                    call.complain(format_args!(
                        "cannot overwrite non-directory {} with directory {}",
                        quoted(to),
                        quoted(from)
                    ));
                    return false;
                }
                _ => {}
            }
            match backup.make(call, to) {
                Ok(name) => saved = name,
                Err(error) => {
                    return fail(call, format_args!("cannot backup {}", quoted(to)), &error);
                }
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if to.ends_with('/') && !is_folder {
                call.complain(format_args!("{what}: Not a directory"));
                return false;
            }
        }
        Err(error) => return fail(call, format_args!("cannot stat {}", quoted(to)), &error),
    }
    if is_folder && is_within(call, &old, &new) {
        call.complain(format_args!(
            "cannot move {} to a subdirectory of itself, {}",
            quoted(from),
            quoted(to)
        ));
        return false;
    }
    let moved = match call.files.rename(&old, &new) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            copy(call, from, to, is_folder)
        }
        Err(error) => fail(call, format_args!("{what}"), &error),
        Ok(()) => true,
    };
    if moved && line.has("verbose") {
        let saved = saved.map(|name| format!(" (backup: {})", quoted(&name)));
        call.print(format!(
            "renamed {} -> {}{}\n",
            quoted(from),
            quoted(to),
            saved.unwrap_or_default()
        ));
    }
    moved
}

fn is_within(call: &Call, old: &std::path::Path, new: &std::path::Path) -> bool {
    match (call.files.canonical_new(old), call.files.canonical_new(new)) {
        (Ok(old), Ok(new)) => new.starts_with(old),
        _ => false,
    }
}

/// Moves between the workdir and the files in memory.
fn copy(call: &mut Call, from: &str, to: &str, is_folder: bool) -> bool {
    let mut transfer = Transfer {
        is_recursive: true,
        dereference: Dereference::Never,
        make: Make::Content,
        existing: Existing::Replace,
        backup: Backup::None,
        is_update: false,
        is_forced: true,
        removes_destination: !is_folder,
        is_verbose: false,
        keeps_mode: true,
        drops_mode: false,
        keeps_times: true,
        made: HashSet::new(),
    };
    transfer.copy(call, from, to) && remove_all(call, from)
}
