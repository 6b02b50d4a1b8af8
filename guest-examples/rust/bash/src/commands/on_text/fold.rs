//! `fold`, `rev`, `expand`, `unexpand`: lines in other shapes.

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Numbers, Spec, flag, value};

const FOLD_SPEC: Spec = Spec::new(&[flag('b', "bytes"), flag('s', "spaces"), value('w', "width")])
    .numbers(Numbers::Value);
const EXPAND_SPEC: Spec =
    Spec::new(&[flag('i', "initial"), value('t', "tabs")]).numbers(Numbers::Value);
const UNEXPAND_SPEC: Spec = Spec::new(&[
    flag('a', "all"),
    flag('\0', "first-only"),
    value('t', "tabs"),
]);

pub(super) const FOLD: Command = Command::new("fold", FOLD_SPEC, fold);
pub(super) const REV: Command = Command::new("rev", Spec::new(&[]), rev);
pub(super) const EXPAND: Command = Command::new("expand", EXPAND_SPEC, expand);
pub(super) const UNEXPAND: Command = Command::new("unexpand", UNEXPAND_SPEC, unexpand);

/// Calls a function for each line of the operands, with what ends it.
fn each_line(
    call: &mut Call,
    line: &Line,
    mut put: impl FnMut(&mut Vec<u8>, &[u8]),
) -> Result<i32, Failure> {
    let mut exit_code = 0;
    for operand in line.operands_or_stdin() {
        match call.read(operand) {
            Ok(text) => {
                for line in text.split_inclusive(|byte| *byte == b'\n') {
                    let content = line.strip_suffix(b"\n").unwrap_or(line);
                    put(&mut call.out, content);
                    call.out
                        .extend_from_slice(line.get(content.len()..).unwrap_or_default());
                }
            }
            Err(error) if call.name == "rev" => {
                let why = crate::files::text_of(&error);
                call.complain(format_args!("cannot open {operand}: {why}"));
                exit_code = 1;
            }
            Err(error) => {
                call.complain_of(operand, &error);
                exit_code = 1;
            }
        }
    }
    Ok(exit_code)
}

fn fold(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let text = line.value("width").or(line.value("number")).unwrap_or("80");
    let width: usize = match text.parse() {
        Ok(width) if width > 0 => width,
        parsed => {
            let why = if parsed.is_ok() {
                ": Numerical result out of range"
            } else {
                ""
            };
            let text = format!("invalid number of columns: {}{why}", call.quoted(text));
            return Err(Failure::new(1, text));
        }
    };
    let (by_bytes, at_spaces) = (line.has("bytes"), line.has("spaces"));
    each_line(call, line, |out, content| {
        let mut rest = content;
        loop {
            let (mut column, mut end, mut space) = (0, 0, None);
            for (at, byte) in rest.iter().enumerate() {
                let next = match byte {
                    b'\t' if !by_bytes => column - column % 8 + 8,
                    8 if !by_bytes => usize::saturating_sub(column, 1),
                    b'\r' if !by_bytes => 0,
                    _ => column + 1,
                };
                if next > width && at > 0 {
                    break;
                }
                column = next;
                end = at + 1;
                if matches!(byte, b' ' | b'\t') {
                    space = Some(end);
                }
            }
            if end == rest.len() {
                out.extend_from_slice(rest);
                return;
            }
            let end = space.filter(|_| at_spaces).unwrap_or(end);
            out.extend_from_slice(rest.get(..end).unwrap_or_default());
            out.push(b'\n');
            rest = rest.get(end..).unwrap_or_default();
        }
    })
}

fn rev(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    each_line(call, line, |out, content| {
        match std::str::from_utf8(content) {
            Ok(text) => out.extend(text.chars().rev().collect::<String>().bytes()),
            Err(_) => out.extend(content.iter().rev()),
        }
    })
}

/// The places of tabs: every so many columns, or a list.
fn tabs(line: &Line) -> Result<Vec<usize>, Failure> {
    let text = line.value("tabs").or(line.value("number")).unwrap_or("8");
    let mut tabs: Vec<usize> = Vec::new();
    for part in text.split([',', ' ']).filter(|part| !part.is_empty()) {
        let tab = part.parse().map_err(|_| {
            Failure::new(
                1,
                format!("tab size contains invalid character(s): '{part}'"),
            )
        })?;
        if tab == 0 {
            return Err(Failure::new(1, "tab size cannot be 0"));
        }
        if tabs.last().is_some_and(|last| *last >= tab) {
            return Err(Failure::new(1, "tab sizes must be ascending"));
        }
        tabs.push(tab);
    }
    Ok(tabs)
}

/// The column of the next tab after one.
fn next_tab(tabs: &[usize], column: usize) -> Option<usize> {
    match tabs {
        [size] => Some((column / size + 1) * size),
        tabs => tabs.iter().copied().find(|tab| *tab > column),
    }
}

fn expand(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let (tabs, initial) = (tabs(line)?, line.has("initial"));
    each_line(call, line, |out, content| {
        let (mut column, mut is_initial) = (0, true);
        for byte in content {
            if *byte == b'\t' && (is_initial || !initial) {
                let next = next_tab(&tabs, column).unwrap_or(column + 1);
                out.extend(std::iter::repeat_n(b' ', next - column));
                column = next;
                continue;
            }
            is_initial &= matches!(byte, b' ' | b'\t');
            column = if *byte == 8 {
                column.saturating_sub(1)
            } else {
                column + 1
            };
            out.push(*byte);
        }
    })
}

fn unexpand(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let all = (line.has("all") || line.has("tabs")) && !line.has("first-only");
    let tabs = tabs(line)?;
    each_line(call, line, |out, content| {
        let (mut column, mut blanks, mut is_initial) = (0, Vec::new(), true);
        for byte in content {
            let converts = is_initial || all;
            if converts && matches!(byte, b' ' | b'\t') {
                let next = next_tab(&tabs, column);
                column = if *byte == b'\t' {
                    next.unwrap_or(column + 1)
                } else {
                    column + 1
                };
                blanks.push(*byte);
                // One blank before a tab stays, unless others follow or precede it.
                if Some(column) == next && (blanks.len() > 1 || *byte == b'\t') {
                    blanks.clear();
                    out.push(b'\t');
                }
                continue;
            }
            out.append(&mut blanks);
            is_initial = false;
            column += 1;
            out.push(*byte);
        }
        out.append(&mut blanks);
    })
}
