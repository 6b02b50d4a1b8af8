//! `date`: the time now, and other moments, as texts.

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::dates::{Moment, Zone, format, read};
use crate::commands::options::{Line, Spec, flag, optional, value};
use crate::files::text_of;

const SPEC: Spec = Spec::new(&[
    value('d', "date"),
    value('f', "file"),
    optional('I', "iso-8601"),
    flag('R', "rfc-email"),
    flag('\0', "rfc-822"),
    flag('\0', "rfc-2822"),
    value('\0', "rfc-3339"),
    value('r', "reference"),
    flag('u', "utc"),
    flag('\0', "universal"),
    flag('\0', "uct"),
]);

pub(super) const DATE: Command = Command::new("date", SPEC, date);

fn date(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let now = Moment::now();
    let utc = ["utc", "universal", "uct"]
        .iter()
        .any(|name| line.has(name));
    let zone = if utc { Zone::utc() } else { call.zone() };
    let text = text_of_format(call, line)?;
    if let Some(file) = line.value("file") {
        let bytes = call
            .read(file)
            .map_err(|error| Failure::new(1, format!("{file}: {}", text_of(&error))))?;
        let mut exit_code = 0;
        for written in String::from_utf8_lossy(&bytes).lines() {
            match read(written, now, &zone) {
                Some(moment) => print(call, &text, moment, &zone),
                None => {
                    let written = call.quoted(written);
                    call.complain(format_args!("invalid date {written}"));
                    exit_code = 1;
                }
            }
        }
        return Ok(exit_code);
    }
    let moment = if let Some(file) = line.value("reference") {
        let metadata = call.files.target_metadata(&call.path(file));
        let metadata =
            metadata.map_err(|error| Failure::new(1, format!("{file}: {}", text_of(&error))))?;
        metadata.modified.into()
    } else if let Some(written) = line.value("date") {
        read(written, now, &zone)
            .ok_or_else(|| Failure::new(1, format!("invalid date {}", call.quoted(written))))?
    } else {
        now
    };
    print(call, &text, moment, &zone);
    Ok(0)
}

fn print(call: &mut Call, text: &str, moment: Moment, zone: &Zone) {
    call.print(format(text, moment, zone));
    call.print("\n");
}

/// Returns the format that the options or the operand ask for.
fn text_of_format(call: &Call, line: &Line) -> Result<String, Failure> {
    let mut given = None;
    for (name, value) in line.given() {
        let format = match (&*name, value) {
            ("iso-8601", None | Some("date")) | ("rfc-3339", Some("date")) => "%Y-%m-%d",
            ("iso-8601", Some("hours")) => "%Y-%m-%dT%H%:z",
            ("iso-8601", Some("minutes")) => "%Y-%m-%dT%H:%M%:z",
            ("iso-8601", Some("seconds")) => "%Y-%m-%dT%H:%M:%S%:z",
            ("iso-8601", Some("ns")) => "%Y-%m-%dT%H:%M:%S,%N%:z",
            ("rfc-3339", Some("seconds")) => "%Y-%m-%d %H:%M:%S%:z",
            ("rfc-3339", Some("ns")) => "%Y-%m-%d %H:%M:%S.%N%:z",
            ("iso-8601" | "rfc-3339", Some(other)) => {
                let other = call.quoted(other);
                let option = call.quoted(&format!("--{name}"));
                return Err(Failure::new(
                    1,
                    format!("invalid argument {other} for {option}"),
                ));
            }
            ("rfc-email" | "rfc-822" | "rfc-2822", _) => "%a, %d %b %Y %H:%M:%S %z",
            _ => continue,
        };
        if given.replace(format).is_some() {
            return Err(Failure::new(1, "multiple output formats specified"));
        }
    }
    let mut operands = line.operands.iter();
    let operand = operands.next();
    if let Some(extra) = operands.next() {
        let extra = call.quoted(extra);
        let text = format!("extra operand {extra}\nTry 'date --help' for more information.");
        return Err(Failure::new(1, text));
    }
    match (
        operand.map(|operand| operand.strip_prefix('+').ok_or(operand)),
        given,
    ) {
        (None, Some(format)) => Ok(format.to_owned()),
        (None, None) => Ok("%a %b %e %H:%M:%S %Z %Y".to_owned()),
        (Some(Ok(_)), Some(_)) => Err(Failure::new(1, "multiple output formats specified")),
        (Some(Ok(format)), None) => Ok(format.to_owned()),
        (Some(Err(operand)), _) if line.has("date") || line.has("file") => {
            let text = format!(
                "the argument {} lacks a leading '+';\nwhen using an option to specify date(s), any non-option\nargument must be a format string beginning with '+'\nTry 'date --help' for more information.",
                call.quoted(operand)
            );
            Err(Failure::new(1, text))
        }
        (Some(Err(operand)), _) => Err(Failure::new(
            1,
            format!("invalid date {}", call.quoted(operand)),
        )),
    }
}
