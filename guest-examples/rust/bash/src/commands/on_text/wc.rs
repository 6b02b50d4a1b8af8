//! `wc`: counts of lines, words, characters and bytes.

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::on_text::width::width;
use crate::commands::options::{Line, Spec, flag, value};
use crate::files::text_of;

const SPEC: Spec = Spec::new(&[
    flag('c', "bytes"),
    flag('m', "chars"),
    flag('l', "lines"),
    value('\0', "files0-from"),
    flag('L', "max-line-length"),
    flag('w', "words"),
]);

pub(super) const WC: Command = Command::new("wc", SPEC, wc);

const NAMES: [&str; 5] = ["lines", "words", "chars", "bytes", "max-line-length"];

#[derive(Default, Clone, Copy)]
struct Counts([u64; 5]);

fn wc(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let mut shown = NAMES.map(|name| line.has(name));
    if shown == [false; 5] {
        shown = [true, true, false, true, false];
    }
    let mut operands: Vec<String> = line.operands.clone();
    if let Some(list) = line.value("files0-from") {
        if !operands.is_empty() {
            return Err(Failure::new(
                1,
                "file operands cannot be combined with --files0-from",
            ));
        }
        let bytes = call.read(list).map_err(|error| {
            Failure::new(
                1,
                format!("cannot open '{list}' for reading: {}", text_of(&error)),
            )
        })?;
        let names = String::from_utf8_lossy(&bytes).into_owned();
        operands = names.split_terminator('\0').map(str::to_owned).collect();
    }
    let from_stdin = operands.is_empty();
    if from_stdin && line.value("files0-from").is_none() {
        operands.push("-".to_owned());
    }
    let needs = shown.get(1..3) == Some(&[false, false]) && shown.last() == Some(&false);
    let mut rows = Vec::new();
    let (mut size, mut least_width, mut exit_code) = (0, 1, 0);
    for operand in &operands {
        match call.read(operand) {
            Ok(bytes) => {
                if operand == "-" && !call.stdin_is_file {
                    least_width = 7;
                } else {
                    size += bytes.len();
                }
                rows.push((operand, Ok(count(&bytes, call.is_utf8(), needs))));
            }
            Err(error) => {
                exit_code = 1;
                if error.kind() == std::io::ErrorKind::IsADirectory {
                    least_width = 7;
                }
                rows.push((operand, Err(error)));
            }
        }
    }
    let single = shown.iter().filter(|shown| **shown).count() == 1;
    let width = if operands.len() == 1 && single || line.value("files0-from") == Some("-") {
        1
    } else {
        size.to_string().len().max(least_width)
    };
    let mut total = Counts::default();
    let several = operands.len() > 1;
    for (operand, row) in rows {
        let counts = match row {
            Ok(counts) => counts,
            Err(error) => {
                call.complain_of(operand, &error);
                if error.kind() != std::io::ErrorKind::IsADirectory {
                    continue;
                }
                Counts::default()
            }
        };
        for (index, (sum, count)) in total.0.iter_mut().zip(counts.0).enumerate() {
            *sum = if index == 4 {
                (*sum).max(count)
            } else {
                *sum + count
            };
        }
        let name = if from_stdin {
            None
        } else {
            Some(operand.as_str())
        };
        print(call, &counts, shown, width, name);
    }
    if several {
        print(call, &total, shown, width, Some("total"));
    }
    Ok(exit_code)
}

fn print(call: &mut Call, counts: &Counts, shown: [bool; 5], width: usize, name: Option<&str>) {
    let mut columns = Vec::new();
    for (count, shown) in counts.0.iter().zip(shown) {
        if shown {
            columns.push(format!("{count:>width$}"));
        }
    }
    if let Some(name) = name {
        columns.push(name.to_owned());
    }
    call.print(columns.join(" "));
    call.print("\n");
}

fn count(bytes: &[u8], is_utf8: bool, only_lines: bool) -> Counts {
    let length = bytes.len() as u64;
    let lines = memchr::memchr_iter(b'\n', bytes).count() as u64;
    if only_lines {
        return Counts([lines, 0, 0, length, 0]);
    }
    let (mut words, mut chars, mut longest) = (0, 0, 0);
    let (mut in_word, mut column) = (false, 0_u64);
    let mut take = |char: char| {
        chars += 1;
        match char {
            '\n' | '\r' | '\x0c' => {
                longest = longest.max(column);
                column = 0;
                in_word = false;
            }
            '\t' => {
                column += 8 - column % 8;
                in_word = false;
            }
            ' ' => {
                column += 1;
                in_word = false;
            }
            '\x0b' => in_word = false,
            char if char.is_control() => {}
            char if char.is_whitespace() && !matches!(char, '\u{a0}' | '\u{2007}' | '\u{202f}') => {
                column += width(char);
                in_word = false;
            }
            char => {
                column += width(char);
                if !in_word {
                    words += 1;
                }
                in_word = true;
            }
        }
    };
    if is_utf8 {
        for chunk in bytes.utf8_chunks() {
            chunk.valid().chars().for_each(&mut take);
        }
    } else {
        for byte in bytes {
            take(if byte.is_ascii() {
                char::from(*byte)
            } else {
                '\u{80}'
            });
        }
    }
    longest = longest.max(column);
    let chars = if is_utf8 { chars } else { length };
    Counts([lines, words, chars, length, longest])
}
