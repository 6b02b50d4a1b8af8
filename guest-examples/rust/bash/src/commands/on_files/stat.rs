//! `stat`.

use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use bashkit::{FileType, Metadata};

use super::modes::letters;
use super::names::{escape_of, quoted};
use super::sizes::allocated;
use super::transfer::fail;
use crate::commands::Command;
use crate::commands::call::{Call, Failure, Links};
use crate::commands::dates::{self, Moment};
use crate::commands::options::{Line, Spec, flag, value};
use crate::status::Status;

/// The user and the group of all files.
pub(in crate::commands) const USER: &str = "sandbox";
pub(in crate::commands) const USER_ID: u32 = 1000;

pub(super) const STAT: Command = Command::new(
    "stat",
    Spec::new(&[
        value('c', "format"),
        flag('L', "dereference"),
        value('\0', "printf"),
        flag('t', "terse"),
    ]),
    stat,
);

/// What is known of a file.
pub(super) struct Record {
    pub(super) metadata: Metadata,
    pub(super) status: Status,
    pub(super) path: PathBuf,
}

impl Record {
    /// # Errors
    /// Nothing is there, or it cannot be read.
    pub(super) fn read(call: &Call, operand: &str, links: Links) -> io::Result<Self> {
        let metadata = call.metadata(operand, links)?;
        let mut path = call.path(operand);
        if links == Links::Follow || operand.ends_with('/') {
            path = call.files.target(&path)?;
        }
        let status = call.files.status(&path)?;
        Ok(Self {
            metadata,
            status,
            path,
        })
    }

    pub(super) fn kind(&self) -> FileType {
        self.metadata.file_type
    }

    pub(super) fn size(&self) -> u64 {
        if self.kind().is_dir() {
            self.status.size
        } else {
            self.metadata.size
        }
    }

    /// Bytes on a disk.
    pub(super) fn allocated(&self) -> u64 {
        if self.kind().is_symlink() {
            0
        } else {
            allocated(self.size())
        }
    }

    /// `drwxr-xr-x`
    pub(super) fn permissions(&self) -> String {
        let kind = match self.kind() {
            FileType::Directory => 'd',
            FileType::Symlink => 'l',
            FileType::File | FileType::Fifo => '-',
        };
        format!("{kind}{}", letters(self.metadata.mode))
    }

    fn type_bits(&self) -> u32 {
        match self.kind() {
            FileType::Directory => 0o040_000,
            FileType::Symlink => 0o120_000,
            FileType::File | FileType::Fifo => 0o100_000,
        }
    }

    fn kind_name(&self) -> &'static str {
        match self.kind() {
            FileType::Directory => "directory",
            FileType::Symlink => "symbolic link",
            FileType::File | FileType::Fifo if self.metadata.size == 0 => "regular empty file",
            FileType::File | FileType::Fifo => "regular file",
        }
    }
}

const FULL: &str = "  File: %+N\n  Size: %-10s\tBlocks: %-10b IO Block: %-6o %F\n\
    Device: %Hd,%Ld\tInode: %-11i Links: %h\n\
    Access: (%04a/%10.10A)  Uid: (%5u/%8U)   Gid: (%5g/%8G)\n\
    Access: %x\nModify: %y\nChange: %z\n Birth: %w\n";
const TERSE: &str = "%n %s %b %f %u %g %D %i %h %t %T %X %Y %Z %W %o\n";

fn stat(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    if line.operands.is_empty() {
        return Err(call.misuse("missing operand"));
    }
    let (pattern, has_escapes, ends_line) = match line.last_of(&["format", "printf"]) {
        Some("printf") => (line.value("printf").unwrap_or_default(), true, false),
        Some(_) => (line.value("format").unwrap_or_default(), false, true),
        None if line.has("terse") => (TERSE, false, false),
        None => (FULL, false, false),
    };
    let links = if line.has("dereference") {
        Links::Follow
    } else {
        Links::Keep
    };
    let mut all = true;
    for operand in &line.operands {
        match Record::read(call, operand, links) {
            Ok(record) => {
                let mut text = String::new();
                render(call, operand, &record, pattern, has_escapes, &mut text);
                call.print(text);
                if ends_line {
                    call.print("\n");
                }
            }
            Err(error) => {
                all = fail(
                    call,
                    format_args!("cannot statx {}", quoted(operand)),
                    &error,
                )
            }
        }
    }
    Ok(i32::from(!all))
}

fn render(
    call: &Call,
    operand: &str,
    record: &Record,
    pattern: &str,
    has_escapes: bool,
    text: &mut String,
) {
    let mut rest = pattern;
    while let Some(char) = rest.chars().next() {
        rest = rest.get(char.len_utf8()..).unwrap_or_default();
        match char {
            '\\' if has_escapes => {
                let (char, length) = escape_of(rest);
                text.push(char);
                rest = rest.get(length..).unwrap_or_default();
            }
            '%' => rest = directive(call, operand, record, rest, text),
            _ => text.push(char),
        }
    }
}

/// Writes a directive; returns what follows it.
fn directive<'a>(
    call: &Call,
    operand: &str,
    record: &Record,
    pattern: &'a str,
    text: &mut String,
) -> &'a str {
    let flags = pattern
        .find(|char| !"-0+ #'".contains(char))
        .unwrap_or(pattern.len());
    let (flags, rest) = pattern.split_at(flags);
    let digits = |text: &str| {
        text.find(|char: char| !char.is_ascii_digit())
            .unwrap_or(text.len())
    };
    let (width, mut rest) = rest.split_at(digits(rest));
    let mut precision = None;
    if let Some(after) = rest.strip_prefix('.') {
        let (number, after) = after.split_at(digits(after));
        (precision, rest) = (Some(number.parse().unwrap_or(9_usize)), after);
    }
    let (letter, length) = match rest.get(..2) {
        Some(two @ ("Hd" | "Ld" | "Hr" | "Lr")) => (two, 2),
        _ => match rest.chars().next() {
            Some(char) => (
                rest.get(..char.len_utf8()).unwrap_or_default(),
                char.len_utf8(),
            ),
            None => {
                text.push('%');
                return rest;
            }
        },
    };
    let value = value_of(call, operand, record, letter, precision, flags);
    let width = width.parse().unwrap_or(0);
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
    let padded = if flags.contains('-') {
        format!("{value:<width$}")
    } else if flags.contains('0') && is_number {
        format!("{value:0>width$}")
    } else {
        format!("{value:>width$}")
    };
    text.push_str(&padded);
    rest.get(length..).unwrap_or_default()
}

fn value_of(
    call: &Call,
    operand: &str,
    record: &Record,
    letter: &str,
    precision: Option<usize>,
    flags: &str,
) -> String {
    let Record {
        metadata, status, ..
    } = record;
    let seconds = |time: SystemTime| {
        let Moment { seconds, nanos } = time.into();
        match precision {
            Some(digits) if digits > 0 => {
                let nanos = format!("{nanos:09}");
                format!("{seconds}.{}", nanos.get(..digits.min(9)).unwrap_or(&nanos))
            }
            _ => seconds.to_string(),
        }
    };
    let full =
        |time: SystemTime| dates::format("%Y-%m-%d %H:%M:%S.%N %z", time.into(), &call.zone());
    match letter {
        "a" if flags.contains('#') => format!("0{:o}", metadata.mode & 0o7777),
        "a" => format!("{:o}", metadata.mode & 0o7777),
        "A" => record.permissions(),
        "b" => (record.allocated() / 512).to_string(),
        "B" => "512".to_owned(),
        "C" => "?".to_owned(),
        "d" => status.device.to_string(),
        "D" => format!("{:x}", status.device),
        "Hd" => (status.device >> 8 & 0xfff).to_string(),
        "Ld" => (status.device & 0xff).to_string(),
        "f" => format!("{:x}", record.type_bits() | metadata.mode & 0o7777),
        "F" => record.kind_name().to_owned(),
        "g" | "u" => USER_ID.to_string(),
        "G" | "U" => USER.to_owned(),
        "h" => status.links.to_string(),
        "i" => status.inode.to_string(),
        "m" => "/".to_owned(),
        "n" => operand.to_owned(),
        "N" => match call.files.read_link(&record.path) {
            Ok(target) if record.kind().is_symlink() => {
                format!(
                    "{} -> {}",
                    shown(flags, operand),
                    shown(flags, &target.to_string_lossy())
                )
            }
            _ => shown(flags, operand),
        },
        "o" => "4096".to_owned(),
        "r" | "t" | "T" | "R" | "Hr" | "Lr" => "0".to_owned(),
        "s" => record.size().to_string(),
        "w" => "-".to_owned(),
        "W" => "0".to_owned(),
        "x" => full(status.accessed),
        "X" => seconds(status.accessed),
        "y" => full(metadata.modified),
        "Y" => seconds(metadata.modified),
        "z" => full(status.changed),
        "Z" => seconds(status.changed),
        "%" => "%".to_owned(),
        _ => "?".to_owned(),
    }
}

/// A name as `%N` has it; `%+N` is for the text without a format.
fn shown(flags: &str, name: &str) -> String {
    if flags.contains('+') {
        name.to_owned()
    } else {
        quoted(name)
    }
}
