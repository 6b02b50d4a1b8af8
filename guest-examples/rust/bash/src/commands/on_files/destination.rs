//! Where `cp`, `mv`, `ln` and `install` write, and what they do with what is there.

use std::io;

use super::names::{base, joined, quoted};
use crate::commands::call::{Call, Failure, Links};
use crate::commands::options::{Line, Opt, flag, optional, value};
use crate::files::text_of;

pub(super) const TARGET_DIRECTORY: Opt = value('t', "target-directory");
pub(super) const NO_TARGET_DIRECTORY: Opt = flag('T', "no-target-directory");
pub(super) const B: Opt = flag('b', "");
pub(super) const BACKUP: Opt = optional('\0', "backup");
pub(super) const SUFFIX: Opt = value('S', "suffix");

/// Returns each source with its destination.
pub(super) fn pairs(call: &Call, line: &Line) -> Result<Vec<(String, String)>, Failure> {
    let operands = &line.operands;
    let Some((last, before)) = operands.split_last() else {
        return Err(call.misuse("missing file operand"));
    };
    if line.has("no-target-directory") {
        return match operands.as_slice() {
            [from, to] => Ok(vec![(from.clone(), to.clone())]),
            [_, _, extra, ..] => Err(call.misuse(format_args!("extra operand {}", quoted(extra)))),
            _ => Err(no_destination(call, last)),
        };
    }
    if let Some(folder) = line.value("target-directory") {
        is_folder(call, folder).map_err(|error| {
            let text = format!("target directory {}: {}", quoted(folder), text_of(&error));
            Failure::new(1, text)
        })?;
        return Ok(inside(operands, folder));
    }
    match before {
        [] => Err(no_destination(call, last)),
        [from] if !call.is_folder(last) => Ok(vec![(from.clone(), last.clone())]),
        _ => {
            is_folder(call, last).map_err(|error| {
                let text = format!("target {}: {}", quoted(last), text_of(&error));
                Failure::new(1, text)
            })?;
            Ok(inside(before, last))
        }
    }
}

fn no_destination(call: &Call, operand: &str) -> Failure {
    let operand = quoted(operand);
    call.misuse(format_args!(
        "missing destination file operand after {operand}"
    ))
}

fn is_folder(call: &Call, operand: &str) -> io::Result<()> {
    if call.metadata(operand, Links::Follow)?.file_type.is_dir() {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::NotADirectory,
        "Not a directory",
    ))
}

fn inside(sources: &[String], folder: &str) -> Vec<(String, String)> {
    let pair = |from: &String| {
        let to = match base(from) {
            ".." => folder.to_owned(),
            name => joined(folder, name),
        };
        (from.clone(), to)
    };
    sources.iter().map(pair).collect()
}

/// What is done with a file at the destination.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Existing {
    Replace,
    Keep,
    Ask,
}

impl Existing {
    pub(super) fn read(line: &Line) -> Self {
        match line.last_of(&["no-clobber", "interactive", "force"]) {
            Some("no-clobber") => Self::Keep,
            Some("interactive") => Self::Ask,
            _ => Self::Replace,
        }
    }
}

/// How a file at the destination is renamed before it is replaced.
pub(super) enum Backup {
    None,
    Simple(String),
    Numbered,
    /// Numbered if there are numbered ones.
    Existing(String),
}

impl Backup {
    pub(super) fn read(call: &Call, line: &Line) -> Result<Self, Failure> {
        if !line.has("b") && !line.has("backup") && !line.has("suffix") {
            return Ok(Self::None);
        }
        let of_env = |name: &str| call.env.get(name).map(String::as_str);
        let suffix = line
            .value("suffix")
            .or_else(|| of_env("SIMPLE_BACKUP_SUFFIX"));
        let suffix = suffix
            .filter(|suffix| !suffix.is_empty())
            .unwrap_or("~")
            .to_owned();
        let control = line.value("backup").or_else(|| of_env("VERSION_CONTROL"));
        match control.unwrap_or("existing") {
            "none" | "off" => Ok(Self::None),
            "simple" | "never" => Ok(Self::Simple(suffix)),
            "numbered" | "t" => Ok(Self::Numbered),
            "existing" | "nil" => Ok(Self::Existing(suffix)),
            other => {
                let text = "Valid arguments are:\n  - 'none', 'off'\n  - 'simple', 'never'\n  \
                    - 'existing', 'nil'\n  - 'numbered', 't'";
                let other = quoted(other);
                Err(call.misuse(format_args!(
                    "invalid argument {other} for 'backup type'\n{text}"
                )))
            }
        }
    }

    pub(super) fn is_some(&self) -> bool {
        !matches!(self, Self::None)
    }

    /// Renames what is at the destination; returns its new name.
    pub(super) fn make(&self, call: &Call, operand: &str) -> io::Result<Option<String>> {
        let numbered = |last: u64| format!("{operand}.~{}~", last + 1);
        let name = match self {
            Self::None => return Ok(None),
            Self::Simple(suffix) => format!("{operand}{suffix}"),
            Self::Numbered => numbered(last_number(call, operand)),
            Self::Existing(suffix) => match last_number(call, operand) {
                0 => format!("{operand}{suffix}"),
                last => numbered(last),
            },
        };
        call.files.rename(&call.path(operand), &call.path(&name))?;
        Ok(Some(name))
    }
}

/// The highest number of the numbered backups of a file, or 0.
fn last_number(call: &Call, operand: &str) -> u64 {
    let folder = call.path(super::names::folder(operand));
    let prefix = format!("{}.~", base(operand));
    let names = call.files.names(&folder).unwrap_or_default();
    let number = |(name, _): &(String, _)| -> Option<u64> {
        let rest = name.strip_prefix(&prefix)?;
        rest.strip_suffix('~')?.parse().ok()
    };
    names.iter().filter_map(number).max().unwrap_or(0)
}
