//! `ls`.

use std::cmp::Ordering;
use std::time::SystemTime;

use bashkit::FileType;

use super::names::{joined, quoted};
use super::stat::Record;
use super::transfer::fail;
use crate::commands::Command;
use crate::commands::call::{Call, Failure, Links};
use crate::commands::on_text::glob::{Slash, matches};
use crate::commands::options::{Line, Spec, flag, optional, value};
use settings::{Dereference, Settings, Sort, Time};

mod render;
mod settings;

pub(super) const LS: Command = Command::new(
    "ls",
    Spec::new(&[
        flag('a', "all"),
        flag('A', "almost-all"),
        flag('\0', "author"),
        flag('b', "escape"),
        value('\0', "block-size"),
        flag('B', "ignore-backups"),
        flag('c', ""),
        flag('C', ""),
        optional('\0', "color"),
        flag('d', "directory"),
        flag('f', ""),
        optional('F', "classify"),
        flag('\0', "file-type"),
        value('\0', "format"),
        flag('\0', "full-time"),
        flag('g', ""),
        flag('\0', "group-directories-first"),
        flag('G', "no-group"),
        flag('h', "human-readable"),
        flag('\0', "si"),
        flag('H', "dereference-command-line"),
        flag('\0', "dereference-command-line-symlink-to-dir"),
        value('\0', "hide"),
        value('\0', "indicator-style"),
        flag('i', "inode"),
        value('I', "ignore"),
        flag('k', "kibibytes"),
        flag('l', ""),
        flag('L', "dereference"),
        flag('m', ""),
        flag('n', "numeric-uid-gid"),
        flag('N', "literal"),
        flag('o', ""),
        flag('p', ""),
        flag('q', "hide-control-chars"),
        flag('\0', "show-control-chars"),
        flag('Q', "quote-name"),
        value('\0', "quoting-style"),
        flag('r', "reverse"),
        flag('R', "recursive"),
        flag('s', "size"),
        flag('S', ""),
        value('\0', "sort"),
        value('\0', "time"),
        value('\0', "time-style"),
        flag('t', ""),
        value('T', "tabsize"),
        flag('u', ""),
        flag('U', ""),
        flag('v', ""),
        value('w', "width"),
        flag('x', ""),
        flag('X', ""),
        flag('\0', "zero"),
        flag('1', ""),
    ]),
    ls,
);

/// A file in a listing.
struct Entry {
    name: String,
    kind: FileType,
    /// Read only if the listing shows or sorts by more than names and kinds.
    record: Option<Record>,
    /// What a link leads to, as its text says.
    target: Option<String>,
    /// The kind after all links; `None` if that is missing.
    final_kind: Option<FileType>,
    final_mode: u32,
}

fn ls(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let settings = Settings::read(call, line)?;
    let here = [".".to_owned()];
    let operands = if line.operands.is_empty() {
        &here[..]
    } else {
        &line.operands
    };
    let mut exit_code = 0;
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for operand in operands {
        let links = match settings.dereference {
            Dereference::Always | Dereference::Operands => Links::Follow,
            Dereference::Folders if call.is_folder(operand) => Links::Follow,
            Dereference::Folders | Dereference::Never => Links::Keep,
        };
        let metadata = match call.metadata(operand, links) {
            Err(error)
                if settings.dereference == Dereference::Operands
                    && error.kind() == std::io::ErrorKind::NotFound =>
            {
                call.metadata(operand, Links::Keep)
            }
            metadata => metadata,
        };
        match metadata {
            Ok(metadata) => {
                let entry = entry(call, &settings, operand, operand, metadata.file_type, links);
                if metadata.file_type.is_dir() && !settings.lists_folders_themselves {
                    folders.push(entry);
                } else {
                    files.push(entry);
                }
            }
            Err(error) => {
                fail(
                    call,
                    format_args!("cannot access {}", quoted(operand)),
                    &error,
                );
                exit_code = 2;
            }
        }
    }
    settings.sort(&mut files);
    settings.sort(&mut folders);
    let mut is_first = true;
    if !files.is_empty() {
        render::entries(call, &settings, &files);
        is_first = false;
    }
    let has_titles = operands.len() > 1 || settings.is_recursive;
    for folder in folders {
        folder_of(
            call,
            &settings,
            &folder.name,
            has_titles,
            &mut is_first,
            &mut exit_code,
        );
    }
    Ok(exit_code)
}

/// Lists a folder, and with `-R` those within it.
fn folder_of(
    call: &mut Call,
    settings: &Settings,
    folder: &str,
    has_title: bool,
    is_first: &mut bool,
    exit_code: &mut i32,
) {
    let path = call.path(folder);
    let names = call
        .files
        .target(&path)
        .and_then(|path| call.files.names(&path));
    let names = match names {
        Ok(names) => names,
        Err(error) => {
            fail(
                call,
                format_args!("cannot open directory {}", quoted(folder)),
                &error,
            );
            *exit_code = (*exit_code).max(if has_title { 1 } else { 2 });
            return;
        }
    };
    if has_title {
        let title = if *is_first {
            format!("{folder}:\n")
        } else {
            format!("\n{folder}:\n")
        };
        call.print(title);
    }
    *is_first = false;
    let mut entries = Vec::with_capacity(names.len());
    if settings.shows_dots {
        for name in [".", ".."] {
            let operand = joined(folder, name);
            entries.push(entry(
                call,
                settings,
                name,
                &operand,
                FileType::Directory,
                Links::Follow,
            ));
        }
    }
    let links = if settings.dereference == Dereference::Always {
        Links::Follow
    } else {
        Links::Keep
    };
    for (name, kind) in names {
        if settings.shows(&name) {
            let operand = if settings.needs_records() {
                joined(folder, &name)
            } else {
                String::new()
            };
            let mut entry = entry(call, settings, &name, &operand, kind, links);
            if links == Links::Follow && entry.final_kind.is_none() {
                fail(
                    call,
                    format_args!("cannot access {}", quoted(&operand)),
                    &std::io::Error::new(std::io::ErrorKind::NotFound, "No such file or directory"),
                );
                *exit_code = (*exit_code).max(1);
                entry.record = None;
            }
            entries.push(entry);
        }
    }
    settings.sort(&mut entries);
    if settings.has_total() {
        let bytes = entries
            .iter()
            .filter_map(|entry| entry.record.as_ref())
            .map(Record::allocated)
            .sum();
        let total = settings.block_unit.show(bytes);
        call.print(format!("total {total}{}", settings.end_of_line()));
    }
    render::entries(call, settings, &entries);
    if settings.is_recursive {
        for entry in &entries {
            if entry.kind.is_dir() && entry.name != "." && entry.name != ".." {
                folder_of(
                    call,
                    settings,
                    &joined(folder, &entry.name),
                    true,
                    is_first,
                    exit_code,
                );
            }
        }
    }
}

fn entry(
    call: &Call,
    settings: &Settings,
    name: &str,
    operand: &str,
    kind: FileType,
    links: Links,
) -> Entry {
    let mut entry = Entry {
        name: name.to_owned(),
        kind,
        record: None,
        target: None,
        final_kind: Some(kind),
        final_mode: 0,
    };
    if !settings.needs_records() {
        return entry;
    }
    entry.record = Record::read(call, operand, links)
        .or_else(|_| Record::read(call, operand, Links::Keep))
        .ok();
    if let Some(record) = &entry.record {
        entry.kind = record.kind();
        entry.final_kind = Some(record.kind());
        entry.final_mode = record.metadata.mode;
    }
    if entry.kind.is_symlink() {
        let target = call.files.read_link(&call.path(operand));
        entry.target = target
            .ok()
            .map(|target| target.to_string_lossy().into_owned());
        let metadata = call.metadata(operand, Links::Follow).ok();
        entry.final_kind = metadata.as_ref().map(|metadata| metadata.file_type);
        entry.final_mode = metadata.map_or(0, |metadata| metadata.mode);
    }
    entry
}

impl Entry {
    fn time(&self, time: Time) -> SystemTime {
        let Some(record) = &self.record else {
            return SystemTime::UNIX_EPOCH;
        };
        match time {
            Time::Modified => record.metadata.modified,
            Time::Accessed => record.status.accessed,
            Time::Changed => record.status.changed,
        }
    }

    fn size(&self) -> u64 {
        self.record.as_ref().map_or(0, Record::size)
    }

    fn extension(&self) -> &str {
        self.name
            .rfind('.')
            .and_then(|at| self.name.get(at..))
            .unwrap_or_default()
    }
}

impl Settings {
    fn shows(&self, name: &str) -> bool {
        let is_hidden = name.starts_with('.') && !self.shows_hidden;
        let is_covered =
            !self.shows_hidden && self.hidden.iter().any(|pattern| is_match(pattern, name));
        let is_ignored = self.ignored.iter().any(|pattern| is_match(pattern, name));
        !is_hidden && !is_covered && !is_ignored
    }

    fn sort(&self, entries: &mut [Entry]) {
        let by_name = |a: &Entry, b: &Entry| a.name.cmp(&b.name);
        let compare = |a: &Entry, b: &Entry| match self.sort {
            Sort::Name => by_name(a, b),
            Sort::None => Ordering::Equal,
            Sort::Size => b.size().cmp(&a.size()).then_with(|| by_name(a, b)),
            Sort::Time => b
                .time(self.time)
                .cmp(&a.time(self.time))
                .then_with(|| by_name(a, b)),
            Sort::Extension => a.extension().cmp(b.extension()).then_with(|| by_name(a, b)),
            Sort::Version => version(&a.name, &b.name).then_with(|| by_name(a, b)),
            Sort::Width => a
                .name
                .chars()
                .count()
                .cmp(&b.name.chars().count())
                .then_with(|| by_name(a, b)),
        };
        if self.sort != Sort::None {
            entries.sort_by(compare);
            if self.is_reversed {
                entries.reverse();
            }
        }
        if self.folders_first && self.sort != Sort::None {
            entries.sort_by_key(|entry| !entry.final_kind.is_some_and(|kind| kind.is_dir()));
        }
    }
}

fn is_match(pattern: &str, name: &str) -> bool {
    (!name.starts_with('.') || pattern.starts_with('.')) && matches(pattern, name, Slash::IsAny)
}

/// Compares names with numbers as numbers.
pub(super) fn version(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let text = |name: &str| {
            name.find(|char: char| char.is_ascii_digit())
                .unwrap_or(name.len())
        };
        let (text_a, rest_a) = a.split_at(text(a));
        let (text_b, rest_b) = b.split_at(text(b));
        let order = text_a.cmp(text_b);
        if order != Ordering::Equal || (rest_a.is_empty() && rest_b.is_empty()) {
            return order;
        }
        let digits = |name: &str| {
            name.find(|char: char| !char.is_ascii_digit())
                .unwrap_or(name.len())
        };
        let (number_a, after_a) = rest_a.split_at(digits(rest_a));
        let (number_b, after_b) = rest_b.split_at(digits(rest_b));
        let (value_a, value_b) = (
            number_a.trim_start_matches('0'),
            number_b.trim_start_matches('0'),
        );
        let order = value_a
            .len()
            .cmp(&value_b.len())
            .then_with(|| value_a.cmp(value_b));
        if order != Ordering::Equal {
            return order;
        }
        (a, b) = (after_a, after_b);
    }
}
