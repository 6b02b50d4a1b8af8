//! `nl`: lines with their numbers.

use super::pattern::{Pattern, Reading, Syntax};
use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, value};

const SPEC: Spec = Spec::new(&[
    value('b', "body-numbering"),
    value('d', "section-delimiter"),
    value('f', "footer-numbering"),
    value('h', "header-numbering"),
    value('i', "line-increment"),
    value('l', "join-blank-lines"),
    value('n', "number-format"),
    flag('p', "no-renumber"),
    value('s', "number-separator"),
    value('v', "starting-line-number"),
    value('w', "number-width"),
]);

pub(super) const NL: Command = Command::new("nl", SPEC, nl);

enum Style {
    All,
    Text,
    None,
    Matching(Pattern),
}

fn style(call: &Call, text: &str) -> Result<Style, Failure> {
    match text {
        "a" => Ok(Style::All),
        "t" => Ok(Style::Text),
        "n" => Ok(Style::None),
        text => match text.strip_prefix('p') {
            Some(source) => {
                let reading = Reading::new(Syntax::Basic, call.is_utf8());
                let pattern = Pattern::new(vec![source.to_owned()], reading);
                pattern
                    .map(Style::Matching)
                    .map_err(|text| Failure::new(1, text))
            }
            None => Err(call.misuse(format!("invalid numbering style: {}", call.quoted(text)))),
        },
    }
}

fn nl(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let number = |name: &str, usual: i64, what: &str| -> Result<i64, Failure> {
        let Some(text) = line.value(name) else {
            return Ok(usual);
        };
        text.parse()
            .map_err(|_| Failure::new(1, format!("invalid {what}: {}", call.quoted(text))))
    };
    let first = number("starting-line-number", 1, "starting line number")?;
    let step = number("line-increment", 1, "line number increment")?;
    let join = number("join-blank-lines", 1, "line number of blank lines")?;
    let width = number("number-width", 6, "line number field width")?;
    let width = usize::try_from(width).unwrap_or(6);
    let styles = [
        style(call, line.value("body-numbering").unwrap_or("t"))?,
        style(call, line.value("header-numbering").unwrap_or("n"))?,
        style(call, line.value("footer-numbering").unwrap_or("n"))?,
    ];
    let [body, header, footer] = &styles;
    let format = line.value("number-format").unwrap_or("rn");
    if !matches!(format, "ln" | "rn" | "rz") {
        let text = format!("invalid line numbering format: {}", call.quoted(format));
        return Err(call.misuse(text));
    }
    let separator = line.value("number-separator").unwrap_or("\t");
    let delimiter = line.value("section-delimiter").unwrap_or("\\:");
    let delimiter = if delimiter.chars().count() == 1 {
        format!("{delimiter}:")
    } else {
        delimiter.to_owned()
    };
    let mut style = body;
    let (mut next, mut blank_lines, mut exit_code) = (first, 0, 0);
    for operand in line.operands_or_stdin() {
        let text = match call.read(operand) {
            Ok(text) => text,
            Err(error) => {
                call.complain_of(operand, &error);
                exit_code = 1;
                continue;
            }
        };
        for whole in text.split_inclusive(|byte| *byte == b'\n') {
            let content = whole.strip_suffix(b"\n").unwrap_or(whole);
            let section = [(3, header), (2, body), (1, footer)]
                .into_iter()
                .find(|(times, _)| content == delimiter.repeat(*times).as_bytes());
            if let Some((_, section)) = section.filter(|_| !delimiter.is_empty()) {
                style = section;
                if !line.has("no-renumber") {
                    next = first;
                }
                call.print("\n");
                continue;
            }
            let is_blank = content.is_empty();
            blank_lines = if is_blank { blank_lines + 1 } else { 0 };
            let has_number = match style {
                Style::All if is_blank => blank_lines % join.max(1) == 0,
                Style::All => true,
                Style::Text => !is_blank,
                Style::None => false,
                Style::Matching(pattern) => {
                    let wrong = |text| Failure::new(1, text);
                    let matcher = pattern.matcher(content).map_err(wrong)?;
                    matcher.start(content, 0).map_err(wrong)?.is_some()
                }
            };
            if has_number {
                let shown = match format {
                    "ln" => format!("{next:<width$}"),
                    "rz" => format!("{next:0>width$}"),
                    _ => format!("{next:>width$}"),
                };
                call.print(shown);
                call.print(separator);
                next += step;
            } else {
                call.print(" ".repeat(width + separator.len()));
            }
            call.print(content);
            call.print("\n");
        }
    }
    Ok(exit_code)
}
