//! `cp`.

use std::collections::HashSet;

use super::destination::{
    B, BACKUP, Backup, Existing, NO_TARGET_DIRECTORY, SUFFIX, TARGET_DIRECTORY, pairs,
};
use super::names::{folder, joined, quoted};
use super::transfer::{Dereference, Make, Transfer};
use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, optional, value};
use crate::files::text_of;

pub(super) const CP: Command = Command::new(
    "cp",
    Spec::new(&[
        flag('a', "archive"),
        flag('\0', "attributes-only"),
        B,
        BACKUP,
        flag('d', "no-dereference-preserve-links"),
        flag('f', "force"),
        flag('i', "interactive"),
        flag('H', "dereference-operands"),
        flag('L', "dereference"),
        flag('n', "no-clobber"),
        flag('P', "no-dereference"),
        flag('p', "preserve-usual"),
        optional('\0', "preserve"),
        value('\0', "no-preserve"),
        flag('\0', "parents"),
        flag('R', "recursive"),
        flag('r', ""),
        optional('\0', "reflink"),
        flag('\0', "remove-destination"),
        value('\0', "sparse"),
        flag('\0', "strip-trailing-slashes"),
        flag('s', "symbolic-link"),
        SUFFIX,
        TARGET_DIRECTORY,
        NO_TARGET_DIRECTORY,
        flag('u', "update"),
        flag('v', "verbose"),
        flag('x', "one-file-system"),
    ]),
    cp,
);

fn cp(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let mut transfer = transfer(call, line)?;
    let mut all = true;
    if line.has("parents") {
        let (target, sources) = match (line.value("target-directory"), line.operands.split_last()) {
            (Some(target), _) => (target, line.operands.as_slice()),
            (None, Some((target, sources))) if !sources.is_empty() => (target.as_str(), sources),
            _ => return Err(call.misuse("missing file operand")),
        };
        if !call.is_folder(target) {
            let text = "with --parents, the destination must be a directory";
            return Err(call.misuse(text));
        }
        for source in sources {
            all &= with_parents(call, &mut transfer, source, target);
        }
        return Ok(i32::from(!all));
    }
    for (from, to) in pairs(call, line)? {
        let from = if line.has("strip-trailing-slashes") {
            from.trim_end_matches('/')
        } else {
            &from
        };
        all &= transfer.copy(call, from, &to);
    }
    Ok(i32::from(!all))
}

/// Copies a source with the folders that its name has.
fn with_parents(call: &mut Call, transfer: &mut Transfer, source: &str, target: &str) -> bool {
    let relative = source.trim_matches('/');
    let mut made = String::new();
    for part in folder(relative).split('/').filter(|part| *part != ".") {
        if !made.is_empty() {
            made.push('/');
        }
        made.push_str(part);
        let (to, path) = (joined(target, &made), call.path(&joined(target, &made)));
        if call.is_folder(&to) {
            continue;
        }
        if let Err(error) = call.files.make_folder(&path) {
            let text = text_of(&error);
            call.complain(format_args!(
                "cannot make directory {}: {text}",
                quoted(&to)
            ));
            return false;
        }
        if transfer.is_verbose {
            call.print(format!("{made} -> {to}\n"));
        }
    }
    transfer.copy(call, source, &joined(target, relative))
}

fn transfer(call: &Call, line: &Line) -> Result<Transfer, Failure> {
    let is_archive = line.has("archive");
    let is_recursive = is_archive || line.has("recursive") || line.has("r");
    let order = [
        "archive",
        "no-dereference-preserve-links",
        "no-dereference",
        "dereference",
        "dereference-operands",
    ];
    let makes_link = line.has("symbolic-link");
    let dereference = match line.last_of(&order) {
        Some("dereference") => Dereference::Always,
        Some("dereference-operands") => Dereference::Operands,
        Some(_) => Dereference::Never,
        None if is_recursive && !makes_link => Dereference::Never,
        None => Dereference::Always,
    };
    let mut preserve = (is_archive, is_archive);
    let mut drops_mode = false;
    for (name, value) in line.given() {
        match (name.as_str(), value) {
            ("preserve-usual", _) | ("preserve", None) => preserve = (true, true),
            ("preserve" | "no-preserve", Some(list)) => {
                for attribute in list.split(',') {
                    let on = name == "preserve";
                    match attribute {
                        "all" => preserve = (on, on),
                        "mode" => (preserve.0, drops_mode) = (on, !on),
                        "timestamps" => preserve.1 = on,
                        "ownership" | "links" | "context" | "xattr" => {}
                        other => {
                            let other = quoted(other);
                            return Err(call.misuse(format_args!(
                                "invalid argument {other} for '--{name}'\nValid arguments are:\n  \
                                - 'mode'\n  - 'timestamps'\n  - 'ownership'\n  - 'links'\n  \
                                - 'context'\n  - 'xattr'\n  - 'all'"
                            )));
                        }
                    }
                }
            }
            _ => {}
        }
    }
    if let Some(when) = line.value("reflink")
        && when == "always"
    {
        return Err(Failure::usage(
            "--reflink=always: files here are not shared; use --reflink=auto",
        ));
    }
    let make = if makes_link {
        Make::SymbolicLink
    } else if line.has("attributes-only") {
        Make::Attributes
    } else {
        Make::Content
    };
    let existing = match line.last_of(&["no-clobber", "interactive"]) {
        Some("no-clobber") => Existing::Keep,
        Some("interactive") => Existing::Ask,
        _ => Existing::Replace,
    };
    let backup = Backup::read(call, line)?;
    if backup.is_some() && existing == Existing::Keep {
        return Err(call.misuse("options --backup and --no-clobber are mutually exclusive"));
    }
    Ok(Transfer {
        is_recursive,
        dereference,
        make,
        existing,
        backup,
        is_update: line.has("update"),
        is_forced: line.has("force"),
        removes_destination: line.has("remove-destination"),
        is_verbose: line.has("verbose"),
        keeps_mode: preserve.0,
        drops_mode,
        keeps_times: preserve.1,
        made: HashSet::new(),
    })
}
