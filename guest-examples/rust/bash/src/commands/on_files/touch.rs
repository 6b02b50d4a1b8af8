//! `touch`.

use std::fs::FileTimes;
use std::time::SystemTime;

use super::moments::{moment, seconds_of};
use super::names::quoted;
use super::transfer::fail;
use crate::commands::call::{Call, Failure, Links};
use crate::commands::options::{Line, Spec, flag, value};
use crate::commands::{Command, Run, quoted as word};

pub(super) const TOUCH: Command = Command {
    name: "touch",
    spec: Spec::new(&[
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
    run: Run::Either(with_date, touch),
};

/// A date in words is read by `date`.
fn with_date(call: &mut Call, line: &Line) -> Result<Option<String>, Failure> {
    let Some(text) = line.value("date") else {
        return Ok(None);
    };
    if read_date(text).is_some() {
        return Ok(None);
    }
    let args = call.args.iter().enumerate().filter(|(at, arg)| {
        let before = at.checked_sub(1).and_then(|at| call.args.get(at));
        let is_value = before.is_some_and(|before| before == "-d" || before == "--date");
        !is_value
            && *arg != "-d"
            && *arg != "--date"
            && !arg.starts_with("--date=")
            && !(arg.starts_with("-d") && arg.len() > 2)
    });
    if call.args.iter().any(|arg| {
        arg.starts_with('-') && !arg.starts_with("--") && arg.len() > 2 && !arg.starts_with("-d")
    }) {
        return Err(Failure::usage(
            "a date in words needs options that are written apart: touch -c -d 'yesterday' FILE",
        ));
    }
    let args: Vec<_> = args.map(|(_, arg)| word(arg)).collect();
    if line.has("reference") {
        return Err(Failure::usage(
            "a date in words beside -r is not implemented here; use `date -r FILE -d …` and -d @SECONDS",
        ));
    }
    let (text, bad) = (
        word(text),
        word(&format!("touch: invalid date format {}", call.quoted(text))),
    );
    Ok(Some(format!(
        "t=$(date -d {text} +%s.%N 2>/dev/null) || {{ printf '%s\\n' {bad} >&2; exit 1; }}; touch -d @$t {}",
        args.join(" ")
    )))
}

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
    let sources = [line.has("date"), line.has("t"), line.has("reference")];
    if sources.iter().filter(|is_given| **is_given).count() > 1 {
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
    let now = SystemTime::now();
    if let Some(reference) = line.value("reference") {
        let path = call.path(reference);
        let path = call.files.target(&path);
        let times = path.and_then(|path| {
            Ok((
                call.files.status(&path)?.accessed,
                call.files.metadata(&path)?.modified,
            ))
        });
        return times.map_err(|error| {
            let text = crate::files::text_of(&error);
            Failure::new(
                1,
                format!("failed to get attributes of {}: {text}", quoted(reference)),
            )
        });
    }
    if let Some(text) = line.value("date") {
        let time = read_date(text);
        let time = time
            .ok_or_else(|| Failure::new(1, format!("invalid date format {}", call.quoted(text))))?;
        return Ok((time, time));
    }
    if let Some(text) = line.value("t") {
        let time = read_stamp(text, now);
        let time = time
            .ok_or_else(|| Failure::new(1, format!("invalid date format {}", call.quoted(text))))?;
        return Ok((time, time));
    }
    Ok((now, now))
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

/// Reads `@SECONDS`, `YYYY-MM-DD`, and with `T` or a space `HH:MM[:SS[.NNN]]` and `Z`, in UTC.
pub(super) fn read_date(text: &str) -> Option<SystemTime> {
    let text = text.trim();
    if let Some(number) = text.strip_prefix('@') {
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        return moment(whole.parse().ok()?, nanos(part)?);
    }
    let text = text
        .strip_suffix('Z')
        .or_else(|| text.strip_suffix(" UTC"))
        .unwrap_or(text);
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00:00"));
    let mut fields = date.split('-');
    let year = fields.next().filter(|year| year.len() == 4)?;
    let date = (
        year.parse().ok()?,
        fields.next()?.parse().ok()?,
        fields.next()?.parse().ok()?,
    );
    if fields.next().is_some() {
        return None;
    }
    let (time, part) = time.split_once('.').unwrap_or((time, ""));
    let mut fields = time.split(':');
    let number = |text: &str| text.parse::<u8>().ok().map(i64::from);
    let (hour, minute) = (number(fields.next()?)?, number(fields.next()?)?);
    let second = fields.next().map_or(Some(0), number)?;
    if fields.next().is_some() {
        return None;
    }
    moment(seconds_of(date, (hour, minute, second))?, nanos(part)?)
}

fn nanos(digits: &str) -> Option<u32> {
    if digits.is_empty() {
        return Some(0);
    }
    let digits: String = digits.chars().chain("000000000".chars()).take(9).collect();
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then(|| digits.parse().ok())?
}

/// Reads `[[CC]YY]MMDDhhmm[.ss]`.
fn read_stamp(text: &str, now: SystemTime) -> Option<SystemTime> {
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
        rest if rest.len() == 4 => {
            let year = super::moments::format(now, "%Y").parse().ok()?;
            (year, rest.to_vec())
        }
        _ => return None,
    };
    let [month, day, hour, minute] = rest.try_into().ok()?;
    moment(seconds_of((year, month, day), (hour, minute, second))?, 0)
}
