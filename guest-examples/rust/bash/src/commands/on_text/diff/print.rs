//! Changes as texts, in the styles of `diff`.

use std::borrow::Cow;

use super::Default;
use super::changes::Change;
use super::groups::Groups;
use super::hunk::{Halves, hunks};
use super::lines::Compared;
use super::pen::{Pen, Tint};
use super::side::Side;
use crate::commands::call::{Call, Failure};
use crate::commands::dates::{Moment, Zone, format};
use crate::commands::on_text::pattern::{Pattern, Reading, Syntax};
use crate::commands::options::Line;

const TRY: &str = "\ndiff: Try 'diff --help' for more information.";

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

    pub(super) fn text(&self, zone: &Zone) -> String {
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
    /// A script for `ed`, from the end to the start.
    Ed,
    /// What looks like such a script, from the start to the end.
    Forward,
    Rcs,
    Side(Side),
    Groups(Groups),
}

pub(super) struct Format {
    style: Style,
    pen: Pen,
    /// What a line looks like that names the function of the lines after it.
    function: Option<Pattern>,
}

/// The style that an option asks for.
fn style_of(option: &str) -> Option<&'static str> {
    Some(match option {
        "normal" => "normal",
        "c" | "C" | "context" => "context",
        "u" | "U" | "unified" => "unified",
        "ed" => "ed",
        "forward-ed" => "forward",
        "rcs" => "rcs",
        "side-by-side" => "side",
        "ifdef" | "line-format" => "groups",
        _ if option.ends_with("-line-format") || option.ends_with("-group-format") => "groups",
        _ => return None,
    })
}

impl Format {
    pub(super) fn read(line: &Line, default: Default) -> Result<Self, Failure> {
        let number = |text: &str, what: &str| -> Result<usize, Failure> {
            text.parse()
                .map_err(|_| Failure::new(2, format!("invalid {what} '{text}'{TRY}")))
        };
        let mut chosen = None;
        let mut context: Option<usize> = None;
        for (name, value) in line.given() {
            if let Some(style) = style_of(&name) {
                if chosen.is_some_and(|chosen| chosen != style) {
                    let text = format!("conflicting output style options{TRY}");
                    return Err(Failure::new(2, text));
                }
                chosen = Some(style);
            }
            let lines = match (&*name, value) {
                ("c" | "u", _) => 3,
                ("context" | "unified", None) => 3,
                ("C" | "U" | "context" | "unified", Some(value)) => {
                    number(value, "context length")?
                }
                _ => continue,
            };
            context = context.max(Some(lines));
        }
        let shows_function = line.has("show-c-function");
        if let Some(value) = line.value("number") {
            let lines = number(value, "context length")?;
            let mut options = ["C", "U", "context", "unified"].into_iter();
            let is_explicit = options.any(|option| line.value(option).is_some());
            context = Some(if is_explicit {
                context.unwrap_or(0).max(lines)
            } else {
                lines
            });
        }
        let context = context.unwrap_or(3);
        let tab = match line.value("tabsize") {
            Some(text) => match number(text, "tabsize")? {
                0 => return Err(Failure::new(2, format!("invalid tabsize '{text}'{TRY}"))),
                tab => tab,
            },
            None => 8,
        };
        let expands = line.has("expand-tabs").then_some(tab);
        let side = || {
            let width = match line.value("width") {
                Some(text) => match number(text, "width")? {
                    0 => return Err(Failure::new(2, format!("invalid width '{text}'{TRY}"))),
                    width => width,
                },
                None => 130,
            };
            Ok(Style::Side(Side::new(
                width,
                tab,
                expands.is_some(),
                line.has("left-column"),
                line.has("suppress-common-lines"),
            )))
        };
        let style = match chosen {
            None if default == Default::SideBySide => side()?,
            None if shows_function => Style::Context(context),
            None | Some("normal") => Style::Normal,
            Some("context") => Style::Context(context),
            Some("unified") => Style::Unified(context),
            Some("ed") => Style::Ed,
            Some("forward") => Style::Forward,
            Some("rcs") => Style::Rcs,
            Some("side") => side()?,
            Some(_) => Style::Groups(Groups::read(line)?),
        };
        let is_coloured = match line.given().filter(|(name, _)| name == "color").last() {
            None => false,
            // Output is never a terminal.
            Some((_, Some("never" | "auto") | None)) => false,
            Some((_, Some("always"))) => true,
            Some((_, Some(when))) => {
                return Err(Failure::new(2, format!("invalid color '{when}'{TRY}")));
            }
        };
        let pen = Pen {
            is_coloured,
            has_initial_tab: line.has("initial-tab"),
            expands,
            hides_blank_sign: line.has("suppress-blank-empty"),
        };
        let function = match line.value("show-function-line") {
            Some(pattern) => Some(pattern.to_owned()),
            None => shows_function.then(|| "^[[:alpha:]$_]".to_owned()),
        };
        let function = function
            .map(|source| Pattern::new(vec![source], Reading::new(Syntax::Basic, true)))
            .transpose()
            .map_err(|text| Failure::new(2, text))?;
        Ok(Self {
            style,
            pen,
            function,
        })
    }

    /// Whether a line feed that the last line lacks counts as there, as scripts for `ed` have no word for it.
    pub(super) fn adds_last_end(&self) -> bool {
        matches!(self.style, Style::Ed | Style::Forward)
    }

    /// The number of lines around a change.
    pub(super) fn context(&self) -> usize {
        match self.style {
            Style::Context(lines) | Style::Unified(lines) => lines,
            _ => 0,
        }
    }

    /// Whether files without changes are printed.
    pub(super) fn prints_all(&self) -> bool {
        matches!(self.style, Style::Side(_) | Style::Groups(_))
    }

    pub(super) fn print(
        &self,
        out: &mut Vec<u8>,
        compared: &Compared,
        names: &[Name; 2],
        zone: &Zone,
    ) -> Result<(), Failure> {
        let pen = &self.pen;
        let header = |out: &mut Vec<u8>, signs: [&str; 2]| {
            for (sign, name) in signs.into_iter().zip(names) {
                let text = format!("{sign} {}", name.text(zone));
                pen.tinted(out, Tint::Header, text.as_bytes());
                out.push(b'\n');
            }
        };
        match &self.style {
            Style::Normal => normal(out, pen, compared),
            Style::Side(side) => side.print(out, compared),
            Style::Ed => {
                for change in compared.counted().rev() {
                    ed(out, compared, change);
                }
            }
            Style::Forward => {
                for change in compared.counted() {
                    forward(out, compared, change);
                }
            }
            Style::Rcs => {
                for change in compared.counted() {
                    rcs(out, compared, change);
                }
            }
            Style::Groups(groups) => groups.print(out, pen, compared),
            Style::Unified(context) => {
                header(out, ["---", "+++"]);
                for mut hunk in hunks(compared, *context) {
                    hunk.function = Cow::Owned(self.function(compared, hunk.old)?);
                    hunk.print_unified(out, pen);
                }
            }
            Style::Context(context) => {
                header(out, ["***", "---"]);
                for mut hunk in hunks(compared, *context) {
                    hunk.function = Cow::Owned(self.function(compared, hunk.old)?);
                    hunk.print_context(out, pen, &Halves::OF_DIFF);
                }
            }
        }
        Ok(())
    }

    /// The line before a hunk that names its function, after a space.
    fn function(&self, compared: &Compared, from: usize) -> Result<Vec<u8>, Failure> {
        let Some(pattern) = &self.function else {
            return Ok(Vec::new());
        };
        let wrong = |text| Failure::new(2, text);
        for line in compared.one.get(..from).unwrap_or_default().iter().rev() {
            let content = line.strip_suffix(b"\n").unwrap_or(line);
            let matcher = pattern.matcher(content).map_err(wrong)?;
            if matcher.start(content, 0).map_err(wrong)?.is_some() {
                let start = content.get(..40).unwrap_or(content);
                let mut text = b" ".to_vec();
                text.extend_from_slice(start.trim_ascii_end());
                return Ok(text);
            }
        }
        Ok(Vec::new())
    }
}

/// `3` or `3,5`; the line before, if there are none.
pub(in crate::commands::on_text) fn range(from: usize, to: usize) -> String {
    match to - from {
        0 => from.to_string(),
        1 => to.to_string(),
        _ => format!("{},{to}", from + 1),
    }
}

fn normal(out: &mut Vec<u8>, pen: &Pen, compared: &Compared) {
    for change in compared.counted() {
        let letter = change.letter();
        let place = format!(
            "{}{letter}{}",
            range(change.from, change.to),
            range(change.other_from, change.other_to)
        );
        pen.tinted(out, Tint::Place, place.as_bytes());
        out.push(b'\n');
        for line in compared.deleted(change) {
            pen.row(out, "< ", Tint::Old, line);
        }
        if letter == 'c' {
            out.extend_from_slice(b"---\n");
        }
        for line in compared.inserted(change) {
            pen.row(out, "> ", Tint::New, line);
        }
    }
}

/// Writes lines that are the argument of a command of `ed`, and the dot after them.
fn ed(out: &mut Vec<u8>, compared: &Compared, change: &Change) {
    let letter = change.letter();
    let place = range(change.from, change.to);
    out.extend_from_slice(format!("{place}{letter}\n").as_bytes());
    if letter == 'd' {
        return;
    }
    let mut is_open = true;
    for line in compared.inserted(change) {
        if !is_open {
            out.extend_from_slice(b"a\n");
            is_open = true;
        }
        let is_dot = line.strip_suffix(b"\n").unwrap_or(line) == b".";
        // A dot would end the text: it is written with a second one, which is taken away again.
        out.extend_from_slice(if is_dot { b"." } else { b"" });
        out.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            out.push(b'\n');
        }
        if is_dot {
            out.extend_from_slice(b".\ns/.//\n");
            is_open = false;
        }
    }
    if is_open {
        out.extend_from_slice(b".\n");
    }
}

fn forward(out: &mut Vec<u8>, compared: &Compared, change: &Change) {
    let letter = change.letter();
    let place = range(change.from, change.to).replace(',', " ");
    out.extend_from_slice(format!("{letter}{place}\n").as_bytes());
    if letter == 'd' {
        return;
    }
    for line in compared.inserted(change) {
        out.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            out.push(b'\n');
        }
    }
    out.extend_from_slice(b".\n");
}

fn rcs(out: &mut Vec<u8>, compared: &Compared, change: &Change) {
    let deleted = change.to - change.from;
    if deleted > 0 {
        out.extend_from_slice(format!("d{} {deleted}\n", change.from + 1).as_bytes());
    }
    let inserted = change.other_to - change.other_from;
    if inserted > 0 {
        out.extend_from_slice(format!("a{} {inserted}\n", change.to).as_bytes());
        for line in compared.inserted(change) {
            out.extend_from_slice(line);
        }
    }
}
