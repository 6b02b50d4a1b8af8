//! Changes as texts: normal, context, unified.

use super::changes::Change;
use super::lines::Compared;
use super::side::Side;
use crate::commands::call::{Call, Failure};
use crate::commands::dates::{Moment, Zone, format};
use crate::commands::on_text::pattern::{Pattern, Reading, Syntax};
use crate::commands::options::Line;

pub(super) enum Name {
    Label(String),
    File(String, Moment),
}

impl Name {
    pub(super) fn file(call: &Call, operand: &str) -> Self {
        let metadata = call.files.target_metadata(&call.path(operand));
        let moment = match metadata {
            _ if operand == "-" => Moment::now(),
            Ok(metadata) => metadata.modified.into(),
            Err(_) => Moment {
                seconds: 0,
                nanos: 0,
            },
        };
        Self::File(operand.to_owned(), moment)
    }

    fn text(&self, zone: &Zone) -> String {
        match self {
            Self::Label(label) => label.clone(),
            Self::File(name, moment) => {
                let name = if name.contains(' ') {
                    format!("\"{name}\"")
                } else {
                    name.clone()
                };
                format!(
                    "{name}\t{}",
                    format("%Y-%m-%d %H:%M:%S.%N %z", *moment, zone)
                )
            }
        }
    }
}

enum Style {
    Normal,
    Context(usize),
    Unified(usize),
    Side(Side),
}

pub(super) struct Format {
    style: Style,
    /// What a line looks like that names the function of the lines after it.
    function: Option<Pattern>,
}

impl Format {
    pub(super) fn read(line: &Line) -> Result<Self, Failure> {
        let number = |text: &str| -> Result<usize, Failure> {
            text.parse()
                .map_err(|_| Failure::new(2, format!("invalid context length '{text}'")))
        };
        let mut style = Style::Normal;
        let mut lines = None;
        for (name, value) in line.given() {
            let value = value.unwrap_or_default();
            match &*name {
                "normal" => style = Style::Normal,
                "c" => style = Style::Context(3),
                "context" => style = Style::Context(number(value)?),
                "u" => style = Style::Unified(3),
                "unified" => style = Style::Unified(number(value)?),
                "side-by-side" => {
                    let width = line.value("width").map(number).transpose()?;
                    style = Style::Side(Side::new(
                        width.unwrap_or(130),
                        line.has("expand-tabs"),
                        line.has("left-column"),
                        line.has("suppress-common-lines"),
                    ));
                }
                "show-c-function" if matches!(style, Style::Normal) => style = Style::Context(3),
                "number" => lines = Some(number(value)?),
                _ => {}
            }
        }
        if line.has("show-c-function") && line.has("u") {
            style = Style::Unified(3);
        }
        // `-U 1 -u` has one line.
        let wished = line
            .value("unified")
            .or(line.value("context"))
            .map(number)
            .transpose()?;
        if let Some(count) = lines.or(wished) {
            style = match style {
                Style::Normal => Style::Normal,
                Style::Side(side) => Style::Side(side),
                Style::Context(_) => Style::Context(count),
                Style::Unified(_) => Style::Unified(count),
            };
        }
        let function = match line.value("show-function-line") {
            Some(pattern) => Some(pattern.to_owned()),
            None => line
                .has("show-c-function")
                .then(|| "^[[:alpha:]$_]".to_owned()),
        };
        let function = function
            .map(|source| Pattern::new(vec![source], Reading::new(Syntax::Basic, true)))
            .transpose()
            .map_err(|text| Failure::new(2, text))?;
        Ok(Self { style, function })
    }

    pub(super) fn print(
        &self,
        out: &mut Vec<u8>,
        compared: &Compared,
        names: &[Name; 2],
        zone: &Zone,
    ) -> Result<(), Failure> {
        let [one, other] = names;
        match self.style {
            Style::Normal => normal(out, compared),
            Style::Side(side) => side.print(out, compared),
            Style::Unified(context) => {
                let header = format!("--- {}\n+++ {}\n", one.text(zone), other.text(zone));
                out.extend_from_slice(header.as_bytes());
                for hunk in hunks(compared, context) {
                    let function = self.function(compared, hunk.from)?;
                    unified(out, compared, &hunk, &function);
                }
            }
            Style::Context(context) => {
                let header = format!("*** {}\n--- {}\n", one.text(zone), other.text(zone));
                out.extend_from_slice(header.as_bytes());
                for hunk in hunks(compared, context) {
                    let function = self.function(compared, hunk.from)?;
                    in_context(out, compared, &hunk, &function);
                }
            }
        }
        Ok(())
    }

    /// The line before a hunk that names its function, after a space.
    fn function(&self, compared: &Compared, from: usize) -> Result<String, Failure> {
        let Some(pattern) = &self.function else {
            return Ok(String::new());
        };
        let wrong = |text| Failure::new(2, text);
        for line in compared.one.get(..from).unwrap_or_default().iter().rev() {
            let content = line.strip_suffix(b"\n").unwrap_or(line);
            let matcher = pattern.matcher(content).map_err(wrong)?;
            if matcher.start(content, 0).map_err(wrong)?.is_some() {
                let start = content.get(..40).unwrap_or(content);
                return Ok(format!(" {}", String::from_utf8_lossy(start).trim_end()));
            }
        }
        Ok(String::new())
    }
}

fn put(out: &mut Vec<u8>, prefix: &str, line: &[u8]) {
    out.extend_from_slice(prefix.as_bytes());
    out.extend_from_slice(line);
    if !line.ends_with(b"\n") {
        out.extend_from_slice(b"\n\\ No newline at end of file\n");
    }
}

fn put_all(out: &mut Vec<u8>, prefix: &str, lines: &[&[u8]], from: usize, to: usize) {
    for line in lines.get(from..to).unwrap_or_default() {
        put(out, prefix, line);
    }
}

/// `3` or `3,5`; the line before, if there are none.
fn range(from: usize, to: usize) -> String {
    match to - from {
        0 => from.to_string(),
        1 => to.to_string(),
        _ => format!("{},{to}", from + 1),
    }
}

fn normal(out: &mut Vec<u8>, compared: &Compared) {
    for change in &compared.changes {
        let Change {
            from,
            to,
            other_from,
            other_to,
        } = *change;
        let letter = match (from == to, other_from == other_to) {
            (true, _) => 'a',
            (_, true) => 'd',
            _ => 'c',
        };
        let line = format!(
            "{}{letter}{}\n",
            range(from, to),
            range(other_from, other_to)
        );
        out.extend_from_slice(line.as_bytes());
        put_all(out, "< ", &compared.one, from, to);
        if letter == 'c' {
            out.extend_from_slice(b"---\n");
        }
        put_all(out, "> ", &compared.other, other_from, other_to);
    }
}

/// Changes that share their context.
struct Hunk<'a> {
    changes: &'a [Change],
    from: usize,
    to: usize,
    other_from: usize,
    other_to: usize,
}

fn hunks<'a>(compared: &'a Compared, context: usize) -> impl Iterator<Item = Hunk<'a>> {
    let near = move |one: &Change, next: &Change| next.from - one.to <= 2 * context;
    let groups = compared.changes.chunk_by(near);
    groups.filter_map(move |changes| {
        let (first, last) = (changes.first()?, changes.last()?);
        let before = context.min(first.from).min(first.other_from);
        Some(Hunk {
            changes,
            from: first.from - before,
            other_from: first.other_from - before,
            to: (last.to + context).min(compared.one.len()),
            other_to: (last.other_to + context).min(compared.other.len()),
        })
    })
}

fn unified(out: &mut Vec<u8>, compared: &Compared, hunk: &Hunk, function: &str) {
    let range = |from: usize, to: usize| match to - from {
        0 => format!("{from},0"),
        1 => to.to_string(),
        length => format!("{},{length}", from + 1),
    };
    let (old, new) = (
        range(hunk.from, hunk.to),
        range(hunk.other_from, hunk.other_to),
    );
    out.extend_from_slice(format!("@@ -{old} +{new} @@{function}\n").as_bytes());
    let mut at = hunk.from;
    for change in hunk.changes {
        put_all(out, " ", &compared.one, at, change.from);
        put_all(out, "-", &compared.one, change.from, change.to);
        put_all(
            out,
            "+",
            &compared.other,
            change.other_from,
            change.other_to,
        );
        at = change.to;
    }
    put_all(out, " ", &compared.one, at, hunk.to);
}

fn in_context(out: &mut Vec<u8>, compared: &Compared, hunk: &Hunk, function: &str) {
    let mut side = |head: [&str; 2],
                    sign: &str,
                    lines: &[&[u8]],
                    from: usize,
                    to: usize,
                    of: fn(&Change) -> (usize, usize)| {
        let [begin, end] = head;
        let range = if to - from <= 1 {
            to.to_string()
        } else {
            format!("{},{to}", from + 1)
        };
        out.extend_from_slice(format!("{begin} {range} {end}\n").as_bytes());
        if hunk
            .changes
            .iter()
            .all(|change| of(change).0 == of(change).1)
        {
            return;
        }
        let mut at = from;
        for change in hunk.changes {
            let (start, stop) = of(change);
            put_all(out, "  ", lines, at, start);
            let is_both = change.from != change.to && change.other_from != change.other_to;
            put_all(out, if is_both { "! " } else { sign }, lines, start, stop);
            at = stop;
        }
        put_all(out, "  ", lines, at, to);
    };
    let stars = format!("***************{function}\n***");
    side(
        [&stars, "****"],
        "- ",
        &compared.one,
        hunk.from,
        hunk.to,
        |change| (change.from, change.to),
    );
    side(
        ["---", "----"],
        "+ ",
        &compared.other,
        hunk.other_from,
        hunk.other_to,
        |change| (change.other_from, change.other_to),
    );
}
