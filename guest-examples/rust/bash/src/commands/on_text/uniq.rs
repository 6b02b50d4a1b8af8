//! `uniq`: lines that repeat the one before.

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, optional, value};
use crate::files::text_of;

const SPEC: Spec = Spec::new(&[
    flag('c', "count"),
    flag('d', "repeated"),
    flag('D', ""),
    optional('\0', "all-repeated"),
    value('f', "skip-fields"),
    optional('\0', "group"),
    flag('i', "ignore-case"),
    value('s', "skip-chars"),
    flag('u', "unique"),
    flag('z', "zero-terminated"),
    value('w', "check-chars"),
]);

pub(super) const UNIQ: Command = Command::new("uniq", SPEC, uniq);

fn number(line: &Line, name: &str, what: &str) -> Result<Option<usize>, Failure> {
    let read = |text: &str| {
        text.parse()
            .map_err(|_| Failure::new(1, format!("{text}: invalid number of {what}")))
    };
    line.value(name).map(read).transpose()
}

fn uniq(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let fields = number(line, "skip-fields", "fields to skip")?.unwrap_or(0);
    let chars = number(line, "skip-chars", "bytes to skip")?.unwrap_or(0);
    let most = number(line, "check-chars", "bytes to compare")?.unwrap_or(usize::MAX);
    let end = if line.has("zero-terminated") {
        0
    } else {
        b'\n'
    };
    let folds = line.has("ignore-case");
    let all_repeated = line.has("D") || line.has("all-repeated");
    let group = line
        .has("group")
        .then(|| line.value("group").unwrap_or("separate"));
    let (counts, repeated, unique) = (line.has("count"), line.has("repeated"), line.has("unique"));
    if group.is_some() && (counts || repeated || unique || all_repeated) {
        return Err(Failure::new(
            1,
            "--group is mutually exclusive with -c/-d/-D/-u",
        ));
    }
    if all_repeated && counts {
        let text = "printing all duplicated lines and repeat counts is meaningless";
        return Err(Failure::new(1, text));
    }
    if let Some(extra) = line.operands.get(2) {
        return Err(Failure::new(
            1,
            format!("extra operand {}", call.quoted(extra)),
        ));
    }
    let input = line.operands.first().map_or("-", String::as_str);
    let text = call
        .read(input)
        .map_err(|error| Failure::new(1, format!("{input}: {}", text_of(&error))))?;
    let key = |line: &[u8]| -> Vec<u8> {
        let mut at = 0;
        let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        for _ in 0..fields {
            let rest = line.get(at..).unwrap_or_default();
            let blanks = rest.iter().take_while(|byte| blank(byte)).count();
            let others = rest
                .iter()
                .skip(blanks)
                .take_while(|byte| !blank(byte))
                .count();
            at += blanks + others;
        }
        let rest = line.get(at + chars..).unwrap_or_default();
        let rest = rest.get(..most).unwrap_or(rest);
        if folds {
            rest.to_ascii_lowercase()
        } else {
            rest.to_vec()
        }
    };
    let is_plain = fields == 0 && chars == 0 && most == usize::MAX && !folds;
    let mut lines: Vec<&[u8]> = text.split(|byte| *byte == end).collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    let groups = lines.chunk_by(|one, other| {
        if is_plain {
            one == other
        } else {
            key(one) == key(other)
        }
    });
    let mut out = Vec::new();
    let mut put = |line: &[u8]| {
        out.extend_from_slice(line);
        out.push(end);
    };
    let separates = line.value("all-repeated").unwrap_or("none");
    let mut is_first = true;
    for lines in groups {
        let Some(first) = lines.first() else { continue };
        if let Some(group) = group {
            if matches!(group, "prepend" | "both") || group == "separate" && !is_first {
                put(b"");
            }
            lines.iter().for_each(|line| put(line));
            if matches!(group, "append") {
                put(b"");
            }
            is_first = false;
            continue;
        }
        if all_repeated {
            if lines.len() > 1 {
                if separates == "prepend" || separates == "separate" && !is_first {
                    put(b"");
                }
                lines.iter().for_each(|line| put(line));
                is_first = false;
            }
            continue;
        }
        if repeated && lines.len() == 1 || unique && lines.len() > 1 {
            continue;
        }
        if counts {
            let mut counted = format!("{:>7} ", lines.len()).into_bytes();
            counted.extend_from_slice(first);
            put(&counted);
        } else {
            put(first);
        }
    }
    if group == Some("both") && !is_first {
        put(b"");
    }
    match line.operands.get(1) {
        Some(path) => call
            .write(path, &out)
            .map_err(|error| Failure::new(1, format!("{path}: {}", text_of(&error))))?,
        None => call.out = out,
    }
    Ok(0)
}
