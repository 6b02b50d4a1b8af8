//! `paste`: lines of files side by side.

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, value};
use crate::files::text_of;

const SPEC: Spec = Spec::new(&[
    value('d', "delimiters"),
    flag('s', "serial"),
    flag('z', "zero-terminated"),
]);

pub(super) const PASTE: Command = Command::new("paste", SPEC, paste);

fn paste(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let end = if line.has("zero-terminated") {
        0
    } else {
        b'\n'
    };
    let delimiters = delimiters(line.value("delimiters").unwrap_or("\t"));
    let delimiter = |index: usize| {
        let index = index.checked_rem(delimiters.len()).unwrap_or(0);
        delimiters.get(index).map_or(&[] as &[u8], Vec::as_slice)
    };
    let mut exit_code = 0;
    let mut texts = Vec::new();
    let operands: Vec<&str> = line.operands_or_stdin().collect();
    let stdins = operands.iter().filter(|operand| **operand == "-").count();
    let mut from_stdin = 0;
    for operand in operands {
        match call.read(operand) {
            Ok(text) => {
                let mut lines: Vec<Vec<u8>> = text
                    .split(|byte| *byte == end)
                    .map(<[u8]>::to_vec)
                    .collect();
                if lines.last().is_some_and(Vec::is_empty) {
                    lines.pop();
                }
                if operand == "-" && !line.has("serial") {
                    // Each `-` takes its turn at the lines.
                    let own = lines.into_iter().skip(from_stdin).step_by(stdins);
                    lines = own.collect();
                    from_stdin += 1;
                }
                texts.push(lines);
            }
            Err(error) => {
                if !line.has("serial") {
                    return Err(Failure::new(1, format!("{operand}: {}", text_of(&error))));
                }
                call.complain_of(operand, &error);
                exit_code = 1;
            }
        }
    }
    if line.has("serial") {
        for lines in texts {
            for (index, text) in lines.iter().enumerate() {
                if index > 0 {
                    call.print(delimiter(index - 1));
                }
                call.print(text);
            }
            call.out.push(end);
        }
        return Ok(exit_code);
    }
    let rows = texts.iter().map(Vec::len).max().unwrap_or(0);
    for row in 0..rows {
        for (index, lines) in texts.iter().enumerate() {
            if index > 0 {
                call.print(delimiter(index - 1));
            }
            if let Some(text) = lines.get(row) {
                call.print(text);
            }
        }
        call.out.push(end);
    }
    Ok(exit_code)
}

/// One text for each place between columns; `\0` is nothing.
fn delimiters(list: &str) -> Vec<Vec<u8>> {
    let (mut result, mut chars) = (Vec::new(), list.chars());
    while let Some(char) = chars.next() {
        let text = match char {
            '\\' => match chars.next() {
                Some('n') => "\n".to_owned(),
                Some('t') => "\t".to_owned(),
                Some('0') => String::new(),
                Some(other) => other.to_string(),
                None => "\\".to_owned(),
            },
            char => char.to_string(),
        };
        result.push(text.into_bytes());
    }
    result
}
