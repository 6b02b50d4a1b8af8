//! `truncate`: sets the size of files.

use std::io::ErrorKind;

use super::names::quoted;
use super::transfer::fail;
use crate::commands::Command;
use crate::commands::call::{Call, Failure, Links};
use crate::commands::on_text::sizes::size;
use crate::commands::options::{Line, Spec, flag, value};

pub(super) const TRUNCATE: Command = Command::new(
    "truncate",
    Spec::new(&[
        flag('c', "no-create"),
        value('r', "reference"),
        value('s', "size"),
    ]),
    truncate,
);

/// What the number of `-s` does to a size.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Set,
    Add,
    Subtract,
    AtMost,
    AtLeast,
    RoundDown,
    RoundUp,
}

fn truncate(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let given = line
        .value("size")
        .map(|text| parse(call, text))
        .transpose()?;
    let reference = line.value("reference");
    if given.is_none() && reference.is_none() {
        let (size, reference) = (call.quoted("--size"), call.quoted("--reference"));
        return Err(call.misuse(format!("you must specify either {size} or {reference}")));
    }
    if line.operands.is_empty() {
        return Err(call.misuse("missing file operand"));
    }
    let base = match reference {
        Some(_) if given.is_some_and(|(change, _)| change == Change::Set) => {
            let (size, reference) = (call.quoted("--size"), call.quoted("--reference"));
            return Err(call.misuse(format!(
                "you must specify a relative {size} with {reference}"
            )));
        }
        Some(reference) => Some(
            call.metadata(reference, Links::Follow)
                .map_err(|error| {
                    let why = crate::files::text_of(&error);
                    Failure::new(1, format!("cannot stat {}: {why}", quoted(reference)))
                })?
                .size,
        ),
        None => None,
    };
    let mut exit_code = 0;
    for operand in &line.operands {
        let path = call.path(operand);
        let current = match call.metadata(operand, Links::Follow) {
            Ok(metadata) => Some(metadata.size),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                let shown = quoted(operand);
                fail(
                    call,
                    format_args!("cannot open {shown} for writing"),
                    &error,
                );
                exit_code = 1;
                continue;
            }
        };
        if current.is_none() && line.has("no-create") {
            continue;
        }
        let base = base.or(current).unwrap_or(0);
        let (change, number) = given.unwrap_or((Change::Set, base));
        let new = match change {
            Change::Set => Some(number),
            Change::Add => base.checked_add(number),
            Change::Subtract => Some(base.saturating_sub(number)),
            Change::AtMost => Some(base.min(number)),
            Change::AtLeast => Some(base.max(number)),
            Change::RoundDown => Some(base - base % number),
            Change::RoundUp => base.div_ceil(number).checked_mul(number),
        };
        let Some(new) = new else {
            call.complain(format_args!(
                "overflow extending size of file {}",
                quoted(operand)
            ));
            exit_code = 1;
            continue;
        };
        if let Err(error) = call.files.set_size(&path, new) {
            let shown = quoted(operand);
            fail(
                call,
                format_args!("cannot open {shown} for writing"),
                &error,
            );
            exit_code = 1;
        }
    }
    Ok(exit_code)
}

fn parse(call: &Call, text: &str) -> Result<(Change, u64), Failure> {
    let trimmed = text.trim_start();
    let signs = [
        ('+', Change::Add),
        ('-', Change::Subtract),
        ('<', Change::AtMost),
        ('>', Change::AtLeast),
        ('/', Change::RoundDown),
        ('%', Change::RoundUp),
    ];
    let sign = signs.iter().find(|(sign, _)| trimmed.starts_with(*sign));
    let (change, digits) = match sign {
        Some((_, change)) => (*change, trimmed.get(1..).unwrap_or_default()),
        None => (Change::Set, trimmed),
    };
    let number = size(digits)
        .ok_or_else(|| Failure::new(1, format!("Invalid number: {}", call.quoted(text))))?;
    if number == 0 && matches!(change, Change::RoundDown | Change::RoundUp) {
        return Err(Failure::new(1, "division by zero"));
    }
    Ok((change, number))
}
