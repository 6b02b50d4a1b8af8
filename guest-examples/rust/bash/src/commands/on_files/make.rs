//! `mkdir`.

use std::io;

use super::modes::Mode;
use super::names::quoted;
use super::transfer::fail;
use crate::commands::Command;
use crate::commands::call::{Call, Failure, Links};
use crate::commands::options::{Line, Spec, flag, value};

pub(super) const MKDIR: Command = Command::new(
    "mkdir",
    Spec::new(&[
        value('m', "mode"),
        flag('p', "parents"),
        flag('v', "verbose"),
    ]),
    mkdir,
);

fn mkdir(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    if line.operands.is_empty() {
        return Err(call.misuse("missing operand"));
    }
    let mode = match line.value("mode") {
        Some(text) => {
            let mode = Mode::parse(text);
            let mode =
                mode.ok_or_else(|| Failure::new(1, format!("invalid mode {}", call.quoted(text))))?;
            Some(mode.apply(0o777, true, call.files.umask()))
        }
        None => None,
    };
    let mut all = true;
    for operand in &line.operands {
        all &= if line.has("parents") {
            make_all(call, operand, mode, line.has("verbose"))
        } else {
            make(call, operand, mode, line.has("verbose"))
        };
    }
    Ok(i32::from(!all))
}

fn make(call: &mut Call, operand: &str, mode: Option<u32>, is_verbose: bool) -> bool {
    let (path, shown) = (call.path(operand), call.quoted(operand));
    let made = if operand.is_empty() {
        Err(io::Error::new(
            io::ErrorKind::NotFound,
            "No such file or directory",
        ))
    } else if call.files.metadata(&path).is_ok() {
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "File exists"))
    } else {
        call.files.make_folder(&path)
    };
    if let Err(error) = made {
        return fail(
            call,
            format_args!("cannot create directory {}", shown),
            &error,
        );
    }
    if is_verbose {
        call.print(format!(
            "{}: created directory {}\n",
            call.name,
            quoted(operand)
        ));
    }
    match mode {
        Some(mode) if mode != 0o777 & !call.files.umask() => match call.files.set_mode(&path, mode)
        {
            Ok(()) => true,
            Err(error) => fail(
                call,
                format_args!("cannot set permissions of {}", quoted(operand)),
                &error,
            ),
        },
        _ => true,
    }
}

/// Makes a folder and those above it that are missing. Those above have the usual mode.
pub(super) fn make_all(
    call: &mut Call,
    operand: &str,
    mode: Option<u32>,
    is_verbose: bool,
) -> bool {
    if call.is_folder(operand) {
        return true;
    }
    let trimmed = operand.trim_end_matches('/');
    for (at, _) in trimmed.match_indices('/').filter(|(at, _)| *at > 0) {
        let above = trimmed.get(..at).unwrap_or(trimmed);
        if above.ends_with('/') || call.is_folder(above) {
            continue;
        }
        if call.metadata(above, Links::Follow).is_ok() {
            let shown = call.quoted(above);
            call.complain(format_args!(
                "cannot create directory {shown}: Not a directory"
            ));
            return false;
        }
        if !make(call, above, None, is_verbose) {
            return false;
        }
    }
    if trimmed.is_empty() || !call.is_folder(trimmed) {
        return make(
            call,
            if trimmed.is_empty() { operand } else { trimmed },
            mode,
            is_verbose,
        );
    }
    true
}
