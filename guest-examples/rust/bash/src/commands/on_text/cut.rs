//! `cut`: parts of lines.

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, value};

const SPEC: Spec = Spec::new(&[
    value('b', "bytes"),
    value('c', "characters"),
    value('d', "delimiter"),
    value('f', "fields"),
    flag('n', ""),
    flag('\0', "complement"),
    flag('s', "only-delimited"),
    value('\0', "output-delimiter"),
    flag('z', "zero-terminated"),
]);

pub(super) const CUT: Command = Command::new("cut", SPEC, cut);

const TRY: &str = "\nTry 'cut --help' for more information.";

/// Ranges of positions, counted from 1, in order and apart.
type Ranges = Vec<(usize, usize)>;

fn cut(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let wrong = |text: &str| Err(Failure::new(1, format!("{text}{TRY}")));
    let lists: Vec<_> = line
        .given()
        .filter(|(name, _)| matches!(&**name, "bytes" | "characters" | "fields"))
        .collect();
    let (by_fields, list) = match &*lists {
        [] => return wrong("you must specify a list of bytes, characters, or fields"),
        [(name, list)] => (name == "fields", list.unwrap_or_default()),
        _ => return wrong("only one list may be specified"),
    };
    let delimiter = match line.value("delimiter").map(str::as_bytes) {
        None => b'\t',
        Some([]) => 0,
        Some([byte]) => *byte,
        Some(_) => return wrong("the delimiter must be a single character"),
    };
    if !by_fields && line.has("delimiter") {
        return wrong("an input delimiter may be specified only when operating on fields");
    }
    if !by_fields && line.has("only-delimited") {
        return wrong(
            "suppressing non-delimited lines makes sense\n\tonly when operating on fields",
        );
    }
    let mut ranges = ranges(call, list, by_fields)?;
    if line.has("complement") {
        ranges = complement(&ranges);
    }
    let joined = line.value("output-delimiter").map(str::as_bytes);
    let end = if line.has("zero-terminated") {
        0
    } else {
        b'\n'
    };
    let mut exit_code = 0;
    for operand in line.operands_or_stdin() {
        let text = match call.read(operand) {
            Ok(text) => text,
            Err(error) => {
                call.complain_of(operand, &error);
                exit_code = 1;
                continue;
            }
        };
        let mut lines: Vec<&[u8]> = text.split(|byte| *byte == end).collect();
        if lines.last().is_some_and(|last| last.is_empty()) {
            lines.pop();
        }
        for text in lines {
            if by_fields {
                if !fields(
                    call,
                    text,
                    delimiter,
                    &ranges,
                    joined,
                    line.has("only-delimited"),
                ) {
                    continue;
                }
            } else {
                for (index, (from, to)) in ranges.iter().enumerate() {
                    let part = text
                        .get(from - 1..(*to).min(text.len()))
                        .unwrap_or_default();
                    if index > 0 && !part.is_empty() {
                        call.print(joined.unwrap_or_default());
                    }
                    call.print(part);
                }
            }
            call.out.push(end);
        }
    }
    Ok(exit_code)
}

/// Prints the fields of a line, and says whether the line is printed.
fn fields(
    call: &mut Call,
    text: &[u8],
    delimiter: u8,
    ranges: &Ranges,
    joined: Option<&[u8]>,
    only_delimited: bool,
) -> bool {
    if memchr::memchr(delimiter, text).is_none() {
        if !only_delimited {
            call.print(text);
        }
        return !only_delimited;
    }
    let own = [delimiter];
    let joined = joined.unwrap_or(&own);
    let mut ranges = ranges.iter().peekable();
    let mut is_first = true;
    for (index, field) in text.split(|byte| *byte == delimiter).enumerate() {
        let position = index + 1;
        while ranges.peek().is_some_and(|(_, to)| *to < position) {
            ranges.next();
        }
        let Some((from, _)) = ranges.peek() else {
            break;
        };
        if *from <= position {
            if !is_first {
                call.print(joined);
            }
            is_first = false;
            call.print(field);
        }
    }
    true
}

fn ranges(call: &Call, list: &str, by_fields: bool) -> Result<Ranges, Failure> {
    let what = if by_fields {
        "field"
    } else {
        "byte/character position"
    };
    let wrong = |text: String| Failure::new(1, format!("{text}{TRY}"));
    let number = |text: &str| -> Result<usize, Failure> {
        let quoted = call.quoted(text);
        let number = text.parse().map_err(|_| {
            let what = if by_fields {
                "field value"
            } else {
                "byte/character position"
            };
            wrong(format!("invalid {what} {quoted}"))
        })?;
        if number == 0 {
            let plural = if by_fields {
                "fields"
            } else {
                "byte/character positions"
            };
            return Err(wrong(format!("{plural} are numbered from 1")));
        }
        Ok(number)
    };
    let mut ranges = Vec::new();
    for part in list.split([',', ' ', '\t']) {
        let range = match part.split_once('-') {
            None => {
                let position = number(part)?;
                (position, position)
            }
            Some(("", "")) => return Err(wrong("invalid range with no endpoint: -".to_owned())),
            Some(("", to)) => (1, number(to)?),
            Some((from, "")) => (number(from)?, usize::MAX),
            Some((from, to)) => (number(from)?, number(to)?),
        };
        if range.1 < range.0 {
            return Err(wrong("invalid decreasing range".to_owned()));
        }
        ranges.push(range);
    }
    let _ = what;
    ranges.sort_unstable();
    let mut apart: Ranges = Vec::new();
    for (from, to) in ranges {
        match apart.last_mut() {
            // Bytes of ranges that touch stay apart for `--output-delimiter`.
            Some((_, last)) if from <= *last => *last = to.max(*last),
            _ => apart.push((from, to)),
        }
    }
    Ok(apart)
}

fn complement(ranges: &Ranges) -> Ranges {
    let (mut result, mut next) = (Vec::new(), 1);
    for (from, to) in ranges {
        if next < *from {
            result.push((next, from - 1));
        }
        next = to.saturating_add(1);
    }
    if next < usize::MAX {
        result.push((next, usize::MAX));
    }
    result
}
