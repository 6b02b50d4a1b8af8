//! `ln`.

use std::io;
use std::path::Path;

use super::destination::{
    B, BACKUP, Backup, Existing, NO_TARGET_DIRECTORY, SUFFIX, TARGET_DIRECTORY, pairs,
};
use super::names::{base, folder, joined, quoted};
use super::resolve::relative;
use super::transfer::fail;
use crate::commands::Command;
use crate::commands::call::{Call, Failure, Links};
use crate::commands::options::{Line, Spec, flag};

pub(super) const LN: Command = Command::new(
    "ln",
    Spec::new(&[
        B,
        BACKUP,
        flag('f', "force"),
        flag('i', "interactive"),
        flag('n', "no-dereference"),
        flag('r', "relative"),
        flag('s', "symbolic"),
        SUFFIX,
        TARGET_DIRECTORY,
        NO_TARGET_DIRECTORY,
        flag('v', "verbose"),
    ]),
    ln,
);

fn ln(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    if !line.has("symbolic") {
        if let Some(operand) = line.operands.first()
            && let Err(error) = call.metadata(operand, Links::Follow)
        {
            fail(
                call,
                format_args!("failed to access {}", quoted(operand)),
                &error,
            );
            return Ok(1);
        }
        if line.operands.is_empty() {
            return Err(call.misuse("missing file operand"));
        }
        return Err(Failure::new(
            1,
            "hard links cannot be made here; `ln -s` makes a symbolic link, `cp` a copy",
        ));
    }
    let backup = Backup::read(call, line)?;
    let pairs = match line.operands.as_slice() {
        [target] if !line.has("target-directory") && !line.has("no-target-directory") => {
            vec![(target.clone(), joined(".", base(target)))]
        }
        [target, link]
            if line.has("no-dereference")
                && is_link(call, link)
                && !line.has("target-directory") =>
        {
            vec![(target.clone(), link.clone())]
        }
        _ => pairs(call, line)?,
    };
    let mut all = true;
    for (target, link) in pairs {
        all &= make(call, line, &target, &link, &backup);
    }
    Ok(i32::from(!all))
}

fn is_link(call: &Call, operand: &str) -> bool {
    let metadata = call.files.metadata(&call.path(operand));
    metadata.is_ok_and(|metadata| metadata.file_type.is_symlink())
}

fn make(call: &mut Call, line: &Line, target: &str, link: &str, backup: &Backup) -> bool {
    let path = call.path(link);
    let existing = call.files.metadata(&path).ok();
    let mut saved = None;
    if let Some(existing) = &existing {
        if existing.file_type.is_dir()
            && (line.has("force") || line.has("interactive") || backup.is_some())
        {
            call.complain(format_args!("{link}: cannot overwrite directory"));
            return false;
        }
        let policy = Existing::read(line);
        if policy == Existing::Ask && !call.confirm(format_args!("replace {}?", quoted(link))) {
            return true;
        }
        if backup.is_some() {
            match backup.make(call, link) {
                Ok(name) => saved = name,
                Err(error) => {
                    return fail(call, format_args!("cannot backup {}", quoted(link)), &error);
                }
            }
        } else if policy == Existing::Ask || line.has("force") {
            if is_same(call, target, link) {
                call.complain(format_args!(
                    "{} and {} are the same file",
                    quoted(target),
                    quoted(link)
                ));
                return false;
            }
            if let Err(error) = call.files.remove_file(&path) {
                return fail(call, format_args!("cannot remove {}", quoted(link)), &error);
            }
        } else {
            call.complain(format_args!(
                "failed to create symbolic link {}: File exists",
                quoted(link)
            ));
            return false;
        }
    }
    let text = if line.has("relative") {
        relative_to_link(call, target, link)
    } else {
        target.to_owned()
    };
    let made = if text.is_empty() {
        Err(io::Error::new(
            io::ErrorKind::NotFound,
            "No such file or directory",
        ))
    } else {
        call.files.symlink(Path::new(&text), &path)
    };
    if let Err(error) = made {
        let arrow = if text.is_empty() { " -> ''" } else { "" };
        let what = format!("failed to create symbolic link {}{arrow}", quoted(link));
        if text.starts_with('/') && error.kind() == io::ErrorKind::PermissionDenied {
            let next = "a link here has a relative path; `ln -sr` makes one";
            call.complain(format_args!(
                "{what}: {}: {next}",
                crate::files::text_of(&error)
            ));
            return false;
        }
        return fail(call, format_args!("{what}"), &error);
    }
    if line.has("verbose") {
        let saved = saved.map(|name| format!("{} ~ ", quoted(&name)));
        call.print(format!(
            "{}{} -> {}\n",
            saved.unwrap_or_default(),
            quoted(link),
            quoted(&text)
        ));
    }
    true
}

fn is_same(call: &Call, target: &str, link: &str) -> bool {
    let folder_of_link = call.path(folder(link));
    let target = bashkit::normalize_path(&folder_of_link.join(target));
    target == call.path(link)
}

/// The path from the folder of a link to its target.
fn relative_to_link(call: &Call, target: &str, link: &str) -> String {
    let folder = call.path(folder(link));
    let folder = call.files.canonical(&folder).unwrap_or(folder);
    let target = call.path(target);
    let target = call.files.canonical(&target).unwrap_or(target);
    relative(&target, &folder)
}
