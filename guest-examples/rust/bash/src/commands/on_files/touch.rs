//! `touch`.

use std::fs::FileTimes;
use std::time::SystemTime;

use super::names::quoted;
use super::transfer::fail;
use crate::commands::Command;
use crate::commands::call::{Call, Failure, Links};
use crate::commands::dates::{self, Civil, Moment, Zone};
use crate::commands::options::{Line, Spec, flag, value};
use crate::files::text_of;

pub(super) const TOUCH: Command = Command::new(
    "touch",
    Spec::new(&[
        flag('a', ""),
        flag('c', "no-create"),
        value('d', "date"),
        flag('f', ""),
        flag('h', "no-dereference"),
        flag('m', ""),
        value('r', "reference"),
        value('t', ""),
        value('\0', "time"),
    ]),
    touch,
);

#[derive(Clone, Copy)]
struct Times {
    accessed: Option<SystemTime>,
    modified: Option<SystemTime>,
}

fn touch(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let (mut accessed, mut modified) = (line.has("a"), line.has("m"));
    match line.value("time") {
        None => {}
        Some("access" | "atime" | "use") => accessed = true,
        Some("modify" | "mtime") => modified = true,
        Some(other) => {
            let other = quoted(other);
            return Err(call.misuse(format_args!(
                "invalid argument {other} for '--time'\nValid arguments are:\n  \
                - 'atime', 'access', 'use'\n  - 'mtime', 'modify'"
            )));
        }
    }
    if !accessed && !modified {
        (accessed, modified) = (true, true);
    }
    if line.has("t") && (line.has("date") || line.has("reference")) {
        return Err(call.misuse("cannot specify times from more than one source"));
    }
    let (a, m) = times(call, line)?;
    if line.operands.is_empty() {
        return Err(call.misuse("missing file operand"));
    }
    let times = Times {
        accessed: accessed.then_some(a),
        modified: modified.then_some(m),
    };
    let mut all = true;
    for operand in &line.operands {
        all &= file(call, line, operand, times);
    }
    Ok(i32::from(!all))
}

fn times(call: &Call, line: &Line) -> Result<(SystemTime, SystemTime), Failure> {
    let mut now = (Moment::now(), Moment::now());
    if let Some(reference) = line.value("reference") {
        let path = call.files.target(&call.path(reference));
        let times = path.and_then(|path| {
            let accessed = call.files.status(&path)?.accessed;
            Ok((accessed.into(), call.files.metadata(&path)?.modified.into()))
        });
        now = times.map_err(|error| {
            let (text, reference) = (text_of(&error), quoted(reference));
            Failure::new(
                1,
                format!("failed to get attributes of {reference}: {text}"),
            )
        })?;
    }
    let wrong = |text| Failure::new(1, format!("invalid date format {}", call.quoted(text)));
    if let Some(text) = line.value("date") {
        let zone = call.zone();
        // What is relative counts from the times of the reference.
        let read = |now| dates::read(text, now, &zone).ok_or_else(|| wrong(text));
        return Ok((read(now.0)?.into(), read(now.1)?.into()));
    }
    if let Some(text) = line.value("t") {
        let time = read_stamp(text, now.0, &call.zone()).ok_or_else(|| wrong(text))?;
        return Ok((time.into(), time.into()));
    }
    Ok((now.0.into(), now.1.into()))
}

fn file(call: &mut Call, line: &Line, operand: &str, times: Times) -> bool {
    let path = call.path(operand);
    let is_link = line.has("no-dereference");
    let links = if is_link { Links::Keep } else { Links::Follow };
    let path = match call.metadata(operand, links) {
        Ok(metadata) if metadata.file_type.is_symlink() => {
            call.complain(format_args!("setting times of {}: the times of a link cannot be set here; without -h, those of its file", quoted(operand)));
            return false;
        }
        Ok(_) => call.files.target(&path).unwrap_or(path),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            if line.has("no-create") {
                return true;
            }
            if is_link {
                return fail(
                    call,
                    format_args!("setting times of {}", quoted(operand)),
                    &error,
                );
            }
            let target = dangling(call, path);
            if operand.ends_with('/') || operand.is_empty() {
                let what = if operand.is_empty() {
                    "cannot touch"
                } else {
                    "setting times of"
                };
                return fail(call, format_args!("{what} {}", quoted(operand)), &error);
            }
            if let Err(error) = call.files.write(&target, b"") {
                return fail(
                    call,
                    format_args!("cannot touch {}", quoted(operand)),
                    &error,
                );
            }
            if !["date", "t", "reference"].iter().any(|name| line.has(name)) {
                return true;
            }
            target
        }
        Err(error) => {
            let what = if operand.ends_with('/') {
                "setting times of"
            } else {
                "cannot touch"
            };
            return fail(call, format_args!("{what} {}", quoted(operand)), &error);
        }
    };
    let set = match times {
        Times {
            accessed: None,
            modified: Some(modified),
        } => call.files.set_modified(&path, modified),
        Times {
            accessed: Some(accessed),
            modified: Some(modified),
        } => call.files.set_modified(&path, modified).and_then(|()| {
            call.files.set_times(
                &path,
                FileTimes::new()
                    .set_accessed(accessed)
                    .set_modified(modified),
            )
        }),
        Times {
            accessed: Some(accessed),
            modified: None,
        } => call
            .files
            .set_times(&path, FileTimes::new().set_accessed(accessed)),
        Times {
            accessed: None,
            modified: None,
        } => Ok(()),
    };
    match set {
        Ok(()) => true,
        Err(error) => fail(
            call,
            format_args!("setting times of {}", quoted(operand)),
            &error,
        ),
    }
}

/// The file that a link leads to, which is missing.
fn dangling(call: &Call, mut path: std::path::PathBuf) -> std::path::PathBuf {
    for _ in 0..40 {
        let Ok(target) = call.files.read_link(&path) else {
            break;
        };
        let folder = path.parent().unwrap_or(&path).to_owned();
        path = bashkit::normalize_path(&folder.join(target));
    }
    path
}

/// Reads `[[CC]YY]MMDDhhmm[.ss]`.
fn read_stamp(text: &str, now: Moment, zone: &Zone) -> Option<Moment> {
    let (digits, second) = match text.split_once('.') {
        Some((digits, second)) if second.len() == 2 => (digits, second.parse().ok()?),
        Some(_) => return None,
        None => (text, 0),
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let pairs: Option<Vec<i64>> = (0..digits.len())
        .step_by(2)
        .map(|at| digits.get(at..at + 2)?.parse().ok())
        .collect();
    let (year, rest) = match pairs?.as_slice() {
        [century, year, rest @ ..] if rest.len() == 4 => (century * 100 + year, rest.to_vec()),
        [year, rest @ ..] if rest.len() == 4 => (
            if *year < 69 { 2000 + year } else { 1900 + year },
            rest.to_vec(),
        ),
        rest if rest.len() == 4 => (zone.civil(now.seconds).year, rest.to_vec()),
        _ => return None,
    };
    let [month, day, hour, minute] = rest.try_into().ok()?;
    let civil = Civil {
        year,
        month,
        day,
        hour,
        minute,
        second,
    };
    let seconds = zone.seconds(&civil);
    // The calendar has such a date, and the day such a time; a minute may have a leap second.
    let shown = Civil {
        second: second.min(59),
        ..civil
    };
    let is_valid = second <= 60 && zone.civil(zone.seconds(&shown)) == shown;
    is_valid.then_some(Moment { seconds, nanos: 0 })
}
