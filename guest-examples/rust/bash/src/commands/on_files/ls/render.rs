//! How `ls` writes its entries.

use std::time::{Duration, SystemTime};

use bashkit::FileType;

use super::super::names::{escape, quoted, quoted_if_needed};
use super::super::stat::{USER, USER_ID};
use super::Entry;
use super::settings::{Format, Indicators, Quoting, Settings};
use crate::commands::call::Call;
use crate::commands::dates;

/// Files whose time is within so many seconds have the time of the day, older ones the year: half a year.
const RECENT: Duration = Duration::from_secs(31_556_952 / 2);

/// A name as it is written, and its width.
struct Cell {
    text: String,
    width: usize,
}

pub(super) fn entries(call: &mut Call, settings: &Settings, entries: &[Entry]) {
    let mut text = String::new();
    match settings.format {
        Format::Long => long(settings, entries, &mut text),
        Format::Single => {
            for cell in cells(settings, entries) {
                text.push_str(&cell.text);
                text.push_str(settings.end_of_line());
            }
        }
        Format::Commas => commas(settings, &cells(settings, entries), &mut text),
        Format::Down | Format::Across => columns(settings, &cells(settings, entries), &mut text),
    }
    if settings.has_color
        && text.contains("\x1b[")
        && !call.out.windows(4).any(|bytes| bytes == b"\x1b[0m")
    {
        text.insert_str(text.find("\x1b[").unwrap_or(0), "\x1b[0m");
    }
    call.print(text);
}

/// Names with the inode and the blocks before them.
fn cells(settings: &Settings, entries: &[Entry]) -> Vec<Cell> {
    let prefixes = prefixes(settings, entries);
    let cells = entries.iter().zip(prefixes).map(|(entry, prefix)| {
        let plain = name(settings, &entry.name);
        let indicator = indicator(settings, entry.kind, entry.name_mode());
        let width = prefix.len() + plain.chars().count() + indicator.len();
        let shown = colored(settings, entry.kind, entry.name_mode(), &plain);
        Cell {
            text: format!("{prefix}{shown}{indicator}"),
            width,
        }
    });
    cells.collect()
}

impl Entry {
    fn name_mode(&self) -> u32 {
        if self.kind.is_symlink() {
            0
        } else {
            self.final_mode
        }
    }
}

fn prefixes(settings: &Settings, entries: &[Entry]) -> Vec<String> {
    let pads = settings.format != Format::Commas;
    let column = |values: Vec<String>| {
        let width = if pads {
            values.iter().map(String::len).max().unwrap_or(0)
        } else {
            0
        };
        values
            .into_iter()
            .map(move |value| format!("{value:>width$} "))
    };
    let mut prefixes = vec![String::new(); entries.len()];
    let mut add = |values: Vec<String>| {
        for (prefix, value) in prefixes.iter_mut().zip(column(values)) {
            prefix.push_str(&value);
        }
    };
    if settings.shows_inode {
        let inode = |entry: &Entry| match &entry.record {
            Some(record) => record.status.inode.to_string(),
            None => "?".to_owned(),
        };
        add(entries.iter().map(inode).collect());
    }
    if settings.shows_blocks {
        let blocks = |entry: &Entry| match &entry.record {
            Some(record) => settings.block_unit.show(record.allocated()),
            None => "?".to_owned(),
        };
        add(entries.iter().map(blocks).collect());
    }
    prefixes
}

fn long(settings: &Settings, entries: &[Entry], text: &mut String) {
    let now = SystemTime::now();
    let prefixes = prefixes(settings, entries);
    let mut rows: Vec<(Vec<String>, &Entry)> = Vec::with_capacity(entries.len());
    for entry in entries {
        let mut row = Vec::new();
        let owner = || {
            if settings.is_numeric {
                USER_ID.to_string()
            } else {
                USER.to_owned()
            }
        };
        match &entry.record {
            Some(record) => {
                row.extend([record.permissions(), record.status.links.to_string()]);
                row.extend(settings.shows_owner.then(owner));
                row.extend(settings.shows_group.then(owner));
                row.extend(settings.shows_author.then(owner));
                row.push(settings.size_unit.show(record.size()));
                row.push(date(settings, entry.time(settings.time), now));
            }
            None => {
                let columns = 2
                    + usize::from(settings.shows_owner)
                    + usize::from(settings.shows_group)
                    + usize::from(settings.shows_author);
                row.push("l?????????".to_owned());
                row.extend(std::iter::repeat_n("?".to_owned(), columns + 1));
            }
        }
        rows.push((row, entry));
    }
    let count = rows.first().map_or(0, |(row, _)| row.len());
    let width = |at: usize| {
        rows.iter()
            .filter_map(|(row, _)| row.get(at))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    for ((row, entry), prefix) in rows.iter().zip(prefixes) {
        text.push_str(&prefix);
        for (at, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let is_left = at == 0 || (at > 1 && at + 2 < count && !settings.is_numeric);
            if is_left {
                text.push_str(&format!("{cell:<width$} "));
            } else {
                text.push_str(&format!("{cell:>width$} "));
            }
        }
        let plain = name(settings, &entry.name);
        text.push_str(&colored(settings, entry.kind, entry.name_mode(), &plain));
        if let Some(target) = &entry.target {
            let plain = name(settings, target);
            let kind = entry.final_kind.unwrap_or(FileType::Symlink);
            let shown = match entry.final_kind {
                Some(_) => colored(settings, kind, entry.final_mode, &plain),
                None => plain,
            };
            text.push_str(&format!(" -> {shown}"));
            if entry.final_kind.is_some() {
                text.push_str(indicator(settings, kind, entry.final_mode));
            }
        } else {
            text.push_str(indicator(settings, entry.kind, entry.final_mode));
        }
        text.push_str(settings.end_of_line());
    }
}

fn date(settings: &Settings, time: SystemTime, now: SystemTime) -> String {
    let is_recent = time <= now && now.duration_since(time).is_ok_and(|age| age < RECENT);
    let style = settings
        .time_style
        .strip_prefix("posix-")
        .unwrap_or(&settings.time_style);
    let pattern = match style {
        "full-iso" => "%Y-%m-%d %H:%M:%S.%N %z",
        "long-iso" => "%Y-%m-%d %H:%M",
        "iso" if is_recent => "%m-%d %H:%M",
        "iso" => "%Y-%m-%d ",
        _ => match style.strip_prefix('+') {
            Some(pattern) => match pattern.split_once('\n') {
                Some((_, recent)) if is_recent => recent,
                Some((old, _)) => old,
                None => pattern,
            },
            None if is_recent => "%b %e %H:%M",
            None => "%b %e  %Y",
        },
    };
    dates::format(pattern, time.into(), &settings.zone)
}

fn name(settings: &Settings, name: &str) -> String {
    match settings.quoting {
        Quoting::Literal => name.to_owned(),
        Quoting::QuestionMarks => name
            .chars()
            .map(|char| if char.is_control() { '?' } else { char })
            .collect(),
        Quoting::Escape => escaped(name, ' '),
        Quoting::C => format!("\"{}\"", escaped(name, '"')),
        Quoting::Shell => quoted_if_needed(name),
        Quoting::ShellAlways => quoted(name),
    }
}

fn escaped(name: &str, special: char) -> String {
    let mut text = String::new();
    for char in name.chars() {
        if char.is_control() {
            escape(char, &mut text);
        } else {
            if char == special || char == '\\' {
                text.push('\\');
            }
            text.push(char);
        }
    }
    text
}

fn indicator(settings: &Settings, kind: FileType, mode: u32) -> &'static str {
    match (settings.indicators, kind) {
        (Indicators::None, _) => "",
        (_, FileType::Directory) => "/",
        (Indicators::Slash, _) => "",
        (_, FileType::Symlink) => "@",
        (_, FileType::Fifo) => "|",
        (Indicators::Classify, FileType::File) if mode & 0o111 != 0 => "*",
        (_, FileType::File) => "",
    }
}

fn colored(settings: &Settings, kind: FileType, mode: u32, text: &str) -> String {
    let color = match kind {
        _ if !settings.has_color => return text.to_owned(),
        FileType::Directory => "01;34",
        FileType::Symlink => "01;36",
        FileType::File if mode & 0o111 != 0 => "01;32",
        FileType::File | FileType::Fifo => return text.to_owned(),
    };
    format!("\x1b[{color}m{text}\x1b[0m")
}

fn commas(settings: &Settings, cells: &[Cell], text: &mut String) {
    let mut column = 0;
    for (at, cell) in cells.iter().enumerate() {
        let is_last = at + 1 == cells.len();
        if at > 0 {
            if settings.width > 0
                && column + cell.width + 2 + usize::from(!is_last) > settings.width
            {
                text.push_str(",\n");
                column = 0;
            } else {
                text.push_str(", ");
                column += 2;
            }
        }
        text.push_str(&cell.text);
        column += cell.width;
    }
    if !cells.is_empty() {
        text.push_str(settings.end_of_line());
    }
}

/// As many columns as the width has room for.
fn columns(settings: &Settings, cells: &[Cell], text: &mut String) {
    let limit = if settings.width == 0 {
        usize::MAX
    } else {
        settings.width
    };
    let is_down = settings.format == Format::Down;
    let widths_of = |columns: usize| {
        let rows = cells.len().div_ceil(columns);
        let mut widths = vec![0_usize; columns];
        for (at, cell) in cells.iter().enumerate() {
            let column = if is_down { at / rows } else { at % columns };
            let padding = if column + 1 == columns { 0 } else { 2 };
            if let Some(width) = widths.get_mut(column) {
                *width = (*width).max(cell.width + padding);
            }
        }
        widths
    };
    let most = cells.len().min(if settings.width == 0 {
        usize::MAX
    } else {
        (settings.width / 3).max(1)
    });
    let fitting = (1..=most)
        .rev()
        .find(|columns| widths_of(*columns).iter().sum::<usize>() < limit);
    let columns = fitting.unwrap_or(1);
    let widths = widths_of(columns);
    let rows = cells.len().div_ceil(columns);
    for row in 0..rows {
        let (mut position, mut wanted) = (0, 0);
        for (column, width) in widths.iter().enumerate() {
            let at = if is_down {
                column * rows + row
            } else {
                row * columns + column
            };
            let Some(cell) = cells.get(at) else { break };
            indent(settings.tab, position, wanted, text);
            text.push_str(&cell.text);
            position = wanted + cell.width;
            wanted += width;
        }
        text.push_str(settings.end_of_line());
    }
}

fn indent(tab: usize, mut from: usize, to: usize, text: &mut String) {
    while from < to {
        if tab != 0 && to / tab > (from + 1) / tab {
            text.push('\t');
            from += tab - from % tab;
        } else {
            text.push(' ');
            from += 1;
        }
    }
}
