//! `cat`: files one after another.

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag};

const SPEC: Spec = Spec::new(&[
    flag('A', "show-all"),
    flag('b', "number-nonblank"),
    flag('e', ""),
    flag('E', "show-ends"),
    flag('n', "number"),
    flag('s', "squeeze-blank"),
    flag('t', ""),
    flag('T', "show-tabs"),
    flag('u', ""),
    flag('v', "show-nonprinting"),
]);

pub(super) const CAT: Command = Command::new("cat", SPEC, cat);

struct Shown {
    ends: bool,
    tabs: bool,
    others: bool,
    numbers: bool,
    numbers_of_text: bool,
    squeezes: bool,
}

fn cat(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let any = |names: &[&str]| names.iter().any(|name| line.has(name));
    let shown = Shown {
        ends: any(&["show-all", "e", "show-ends"]),
        tabs: any(&["show-all", "t", "show-tabs"]),
        others: any(&["show-all", "e", "t", "show-nonprinting"]),
        numbers: any(&["number", "number-nonblank"]),
        numbers_of_text: line.has("number-nonblank"),
        squeezes: line.has("squeeze-blank"),
    };
    let is_plain = !(shown.ends || shown.tabs || shown.others || shown.numbers || shown.squeezes);
    let mut state = State {
        number: 0,
        blank_lines: 0,
        in_line: false,
    };
    let mut exit_code = 0;
    for operand in line.operands_or_stdin() {
        match call.read(operand) {
            Ok(bytes) if is_plain => call.print(bytes),
            Ok(bytes) => print(call, &bytes, &shown, &mut state),
            Err(error) => {
                call.complain_of(operand, &error);
                exit_code = 1;
            }
        }
    }
    Ok(exit_code)
}

struct State {
    number: u64,
    blank_lines: u64,
    /// Whether the last file ended within a line.
    in_line: bool,
}

fn print(call: &mut Call, bytes: &[u8], shown: &Shown, state: &mut State) {
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let (content, has_end) = match line.strip_suffix(b"\n") {
            Some(content) => (content, true),
            None => (line, false),
        };
        let is_blank = content.is_empty() && !state.in_line;
        state.blank_lines = if is_blank { state.blank_lines + 1 } else { 0 };
        if is_blank && shown.squeezes && state.blank_lines > 1 {
            continue;
        }
        if shown.numbers && !state.in_line && !(is_blank && shown.numbers_of_text) {
            state.number += 1;
            call.print(format!("{:>6}\t", state.number));
        }
        state.in_line = !has_end;
        for (at, byte) in content.iter().enumerate() {
            let is_return = shown.ends && *byte == b'\r' && has_end && at + 1 == content.len();
            match byte {
                b'\t' if shown.tabs => call.print("^I"),
                b'\t' => call.out.push(b'\t'),
                b'\r' if is_return && !shown.others => call.print("^M"),
                byte if shown.others => push_visible(&mut call.out, *byte),
                byte => call.out.push(*byte),
            }
        }
        if has_end {
            call.print(if shown.ends { "$\n" } else { "\n" });
        }
    }
}

fn push_visible(out: &mut Vec<u8>, byte: u8) {
    let byte = if byte >= 0x80 {
        out.extend_from_slice(b"M-");
        byte - 0x80
    } else {
        byte
    };
    match byte {
        0..0x20 => out.extend_from_slice(&[b'^', byte + 0x40]),
        0x7F => out.extend_from_slice(b"^?"),
        byte => out.push(byte),
    }
}
