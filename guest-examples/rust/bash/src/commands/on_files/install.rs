//! `install`.

use std::collections::HashSet;

use super::destination::{
    B, BACKUP, Backup, Existing, NO_TARGET_DIRECTORY, SUFFIX, TARGET_DIRECTORY, pairs,
};
use super::make::make_all;
use super::modes::Mode;
use super::names::{folder, quoted};
use super::transfer::{Dereference, Make, Transfer, fail};
use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, value};

pub(super) const INSTALL: Command = Command::new(
    "install",
    Spec::new(&[
        B,
        BACKUP,
        flag('c', ""),
        flag('C', "compare"),
        flag('d', "directory"),
        flag('D', ""),
        value('m', "mode"),
        flag('p', "preserve-timestamps"),
        SUFFIX,
        TARGET_DIRECTORY,
        NO_TARGET_DIRECTORY,
        flag('v', "verbose"),
    ]),
    install,
);

fn install(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let text = line.value("mode").unwrap_or("755");
    let invalid = || Failure::new(1, format!("invalid mode {}", quoted(text)));
    let mode = Mode::parse(text).ok_or_else(invalid)?;
    let mut all = true;
    if line.has("directory") {
        if line.operands.is_empty() {
            return Err(call.misuse("missing file operand"));
        }
        for operand in &line.operands {
            all &= folders(call, line, operand)
                && set(call, operand, mode.apply(0, true, call.files.umask()));
        }
        return Ok(i32::from(!all));
    }
    if line.has("D") {
        let made = match (line.value("target-directory"), line.operands.as_slice()) {
            (Some(target), _) => folders(call, line, target),
            (None, [_, .., to]) => folders(call, line, folder(to)),
            _ => true,
        };
        if !made {
            return Ok(1);
        }
    }
    let mut transfer = Transfer {
        is_recursive: false,
        dereference: Dereference::Always,
        make: Make::Content,
        existing: Existing::Replace,
        backup: Backup::read(call, line)?,
        is_update: false,
        is_forced: true,
        removes_destination: true,
        is_verbose: line.has("verbose"),
        keeps_mode: false,
        drops_mode: true,
        keeps_times: line.has("preserve-timestamps"),
        made: HashSet::new(),
    };
    for (from, to) in pairs(call, line)? {
        if call.is_folder(&from) {
            call.complain(format_args!("omitting directory {}", quoted(&from)));
            all = false;
            continue;
        }
        if line.has("compare") && is_equal(call, &from, &to) {
            continue;
        }
        all &= transfer.copy(call, &from, &to)
            && set(call, &to, mode.apply(0, false, call.files.umask()));
    }
    Ok(i32::from(!all))
}

fn is_equal(call: &Call, from: &str, to: &str) -> bool {
    let read = |operand| call.files.read(&call.path(operand));
    matches!((read(from), read(to)), (Ok(a), Ok(b)) if a == b)
}

/// Makes folders; with `-v`, each is named.
fn folders(call: &mut Call, line: &Line, operand: &str) -> bool {
    let start = call.out.len();
    let made = make_all(call, operand, None, line.has("verbose"));
    let text = String::from_utf8_lossy(call.out.get(start..).unwrap_or_default());
    let text = text.replace("install: created directory", "install: creating directory");
    call.out.truncate(start);
    call.print(text);
    made
}

fn set(call: &mut Call, operand: &str, mode: u32) -> bool {
    let path = call.path(operand);
    if call
        .files
        .metadata(&path)
        .is_ok_and(|metadata| metadata.mode & 0o7777 == mode)
    {
        return true;
    }
    match call.files.set_mode(&path, mode) {
        Ok(()) => true,
        Err(error) => fail(
            call,
            format_args!("cannot change permissions of {}", quoted(operand)),
            &error,
        ),
    }
}
