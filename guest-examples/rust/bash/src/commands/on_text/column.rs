//! `column`: lists in columns, and tables.

use super::width::width;
use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, value};
use crate::files::text_of;

const SPEC: Spec = Spec::new(&[
    value('c', "output-width"),
    flag('d', "table-noheadings"),
    flag('J', "json"),
    flag('L', "keep-empty-lines"),
    value('l', "table-columns-limit"),
    value('N', "table-columns"),
    value('n', "table-name"),
    value('H', "table-hide"),
    value('O', "table-order"),
    value('o', "output-separator"),
    value('R', "table-right"),
    value('s', "separator"),
    flag('t', "table"),
    flag('x', "fillrows"),
]);

pub(super) const COLUMN: Command = Command::new("column", SPEC, column);

/// Columns of the output, if neither an option nor `COLUMNS` says it.
const USUAL_WIDTH: usize = 80;
const TAB: usize = 8;

fn wide(text: &str) -> usize {
    let columns: u64 = text.chars().map(width).sum();
    usize::try_from(columns).unwrap_or(usize::MAX)
}

fn column(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let mut exit_code = 0;
    let mut lines = Vec::new();
    for operand in line.operands_or_stdin() {
        match call.read(operand) {
            Ok(text) => {
                let text = String::from_utf8_lossy(&text);
                lines.extend(text.lines().map(str::to_owned));
            }
            Err(error) => {
                let why = text_of(&error);
                call.complain(format_args!("{operand}: {why}"));
                exit_code = 1;
            }
        }
    }
    if !line.has("keep-empty-lines") {
        lines.retain(|line| !line.trim().is_empty());
    }
    if line.has("table") || line.has("json") {
        table(call, line, &lines)?;
        return Ok(exit_code);
    }
    let of_environment = || call.env.get("COLUMNS").and_then(|text| text.parse().ok());
    let width = match line.value("output-width") {
        Some("unlimited") => usize::MAX,
        Some(text) => text
            .parse()
            .map_err(|_| Failure::new(1, format!("invalid columns argument: '{text}'")))?,
        None => of_environment().unwrap_or(USUAL_WIDTH),
    };
    let cells: Vec<&str> = lines.iter().map(String::as_str).collect();
    let text = list(&cells, width, line.has("fillrows"));
    call.print(text);
    Ok(exit_code)
}

/// Writes entries in columns of the same width, down or across, with tabs between them.
fn list(entries: &[&str], room: usize, across: bool) -> String {
    let longest = entries.iter().map(|entry| wide(entry)).max().unwrap_or(0);
    if longest >= room {
        return entries.iter().map(|entry| format!("{entry}\n")).collect();
    }
    let step = (longest + TAB) / TAB * TAB;
    let count = (room / step).max(1);
    let rows = entries.len().div_ceil(count);
    let mut text = String::new();
    for row in 0..rows {
        let in_row: Vec<_> = if across {
            entries.iter().skip(row * count).take(count).collect()
        } else {
            entries.iter().skip(row).step_by(rows).collect()
        };
        let (mut at, mut end) = (0, step);
        for (index, entry) in in_row.iter().enumerate() {
            text.push_str(entry);
            at += wide(entry);
            if index + 1 == in_row.len() {
                break;
            }
            while (at + TAB) / TAB * TAB <= end {
                at = (at + TAB) / TAB * TAB;
                text.push('\t');
            }
            end += step;
        }
        text.push('\n');
    }
    text
}

/// Cuts a line into cells; without separators of its own, blanks in a row are one.
fn cells(line: &str, separators: Option<&str>, limit: Option<usize>) -> Vec<String> {
    let is_separator = |char: char| match separators {
        Some(separators) => separators.contains(char),
        None => matches!(char, ' ' | '\t'),
    };
    let mut cells = Vec::new();
    let mut rest = line;
    loop {
        if separators.is_none() {
            rest = rest.trim_start_matches(is_separator);
            if rest.is_empty() {
                break;
            }
        }
        if limit.is_some_and(|limit| cells.len() + 1 >= limit) {
            cells.push(rest.to_owned());
            break;
        }
        match rest.find(is_separator) {
            Some(at) => {
                let (cell, after) = rest.split_at(at);
                cells.push(cell.to_owned());
                let length = after.chars().next().map_or(0, char::len_utf8);
                rest = after.get(length..).unwrap_or_default();
            }
            None => {
                cells.push(rest.to_owned());
                break;
            }
        }
    }
    // What ends in a separator has no cell after it.
    if separators.is_some() && cells.len() > 1 && cells.last().is_some_and(String::is_empty) {
        cells.pop();
    }
    cells
}

/// The columns that an option names, by number or by name.
fn places(names: &[String], text: Option<&str>, count: usize) -> Result<Vec<usize>, Failure> {
    let mut places = Vec::new();
    for part in text
        .unwrap_or_default()
        .split(',')
        .filter(|part| !part.is_empty())
    {
        if part == "0" {
            places.extend(0..count);
        } else if let Some(place) = names.iter().position(|name| name == part) {
            places.push(place);
        } else if let Ok(number) = part.parse::<usize>() {
            places.push(number - 1);
        } else {
            return Err(Failure::new(1, format!("undefined column name '{part}'")));
        }
    }
    Ok(places)
}

fn table(call: &mut Call, line: &Line, lines: &[String]) -> Result<(), Failure> {
    let limit = match line.value("table-columns-limit") {
        Some(text) => match text.parse::<usize>() {
            Ok(limit) if limit > 0 => Some(limit),
            _ => return Err(Failure::new(1, "columns limit must be greater than zero")),
        },
        None => None,
    };
    let separators = line.value("separator");
    let rows = lines.iter().map(|line| cells(line, separators, limit));
    let mut rows: Vec<Vec<String>> = rows.collect();
    let names: Vec<String> = match line.value("table-columns") {
        Some(names) => names.split(',').map(str::to_owned).collect(),
        None => Vec::new(),
    };
    let widest = rows.iter().map(Vec::len).max().unwrap_or(0);
    let count = widest.max(names.len());
    let mut order: Vec<usize> = places(&names, line.value("table-order"), count)?;
    order.retain(|place| *place < count);
    let rest: Vec<_> = (0..count).filter(|place| !order.contains(place)).collect();
    order.extend(rest);
    let hidden = places(&names, line.value("table-hide"), count)?;
    order.retain(|place| !hidden.contains(place));
    if line.has("json") {
        return json(call, line, &rows, &names, &order);
    }
    if !names.is_empty() && !line.has("table-noheadings") && !rows.is_empty() {
        rows.insert(0, names.clone());
    }
    let right = places(&names, line.value("table-right"), count)?;
    let separator = line.value("output-separator").unwrap_or("  ");
    let cell = |row: &[String], place: usize| row.get(place).cloned().unwrap_or_default();
    let width_of = |place: &usize| rows.iter().map(|row| wide(&cell(row, *place))).max();
    let widths: Vec<usize> = order
        .iter()
        .map(|place| width_of(place).unwrap_or(0))
        .collect();
    let mut text = String::new();
    for row in &rows {
        for (index, (place, width)) in order.iter().zip(&widths).enumerate() {
            let is_last = index + 1 == order.len();
            let cell = cell(row, *place);
            let pad = " ".repeat(width.saturating_sub(wide(&cell)));
            if right.contains(place) {
                text.push_str(&pad);
                text.push_str(&cell);
            } else {
                text.push_str(&cell);
                if !is_last {
                    text.push_str(&pad);
                }
            }
            if !is_last {
                text.push_str(separator);
            }
        }
        text.push('\n');
    }
    call.print(text);
    Ok(())
}

fn json(
    call: &mut Call,
    line: &Line,
    rows: &[Vec<String>],
    names: &[String],
    order: &[usize],
) -> Result<(), Failure> {
    let mut items = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        if row.len() > names.len() {
            return Err(Failure::new(
                1,
                format!(
                    "line {}: for JSON the name of the column {} is required",
                    number + 1,
                    names.len() + 1
                ),
            ));
        }
        let members = order.iter().filter_map(|place| {
            let name = names.get(*place)?.to_lowercase();
            let value = match row.get(*place) {
                Some(cell) => quoted(cell),
                None => "null".to_owned(),
            };
            Some(format!("         {}: {value}", quoted(&name)))
        });
        let members: Vec<_> = members.collect();
        items.push(format!("{{\n{}\n      }}", members.join(",\n")));
    }
    let name = line.value("table-name").unwrap_or("table");
    call.print(format!(
        "{{\n   {}: [\n      {}\n   ]\n}}\n",
        quoted(name),
        items.join(",")
    ));
    Ok(())
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for char in text.chars() {
        match char {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            char if char.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(char))),
            char => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}
