//! `csplit`: a file in pieces that begin where lines match.

use std::fmt::Write as _;

use super::pattern::{Pattern, Reading, Syntax};
use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, value};
use crate::files::text_of;

const SPEC: Spec = Spec::new(&[
    value('b', "suffix-format"),
    value('f', "prefix"),
    flag('k', "keep-files"),
    flag('\0', "suppress-matched"),
    value('n', "digits"),
    flag('q', "quiet"),
    flag('s', "silent"),
    flag('z', "elide-empty-files"),
]);

pub(super) const CSPLIT: Command = Command::new("csplit", SPEC, csplit);

/// The most pieces: a folder with more is of no use.
const MOST_PIECES: usize = 100_000;

/// Where a piece ends.
enum End {
    /// Before a line, and before each so many more.
    Line(usize),
    /// Before a line that matches, moved by some lines.
    Match {
        pattern: Pattern,
        offset: i64,
        /// Whether the lines up to there are dropped.
        is_dropped: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeat {
    Times(usize),
    ForEver,
}

struct Control<'a> {
    argument: &'a str,
    end: End,
    repeat: Repeat,
}

fn csplit(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let [file, arguments @ ..] = &*line.operands else {
        return Err(call.misuse("missing operand"));
    };
    if arguments.is_empty() {
        return Err(call.misuse(format!("missing operand after {}", call.quoted(file))));
    }
    let digits = match line.value("digits") {
        None => 2,
        Some(text) => text
            .parse()
            .ok()
            .filter(|digits| *digits <= 64)
            .ok_or_else(|| {
                let text = call.quoted(text);
                Failure::new(1, format!("{text}: invalid number"))
            })?,
    };
    let format = match line.value("suffix-format") {
        Some(text) => SuffixFormat::read(text)?,
        None => SuffixFormat {
            before: String::new(),
            digits,
            has_zeros: true,
            is_left: false,
            base: 'd',
            after: String::new(),
        },
    };
    let controls = controls(call, arguments)?;
    let text = call.read(file).map_err(|error| {
        let why = text_of(&error);
        Failure::new(1, format!("cannot open '{file}' for reading: {why}"))
    })?;
    let text = text.into_owned();
    let mut run = Run {
        lines: text.split_inclusive(|byte| *byte == b'\n').collect(),
        first: 0,
        current: 0,
        piece: Vec::new(),
        pieces: Vec::new(),
        suppresses: line.has("suppress-matched"),
        elides: line.has("elide-empty-files"),
    };
    let ended = run.all(call, &controls);
    let prefix = line.value("prefix").unwrap_or("xx");
    let is_quiet = line.has("quiet") || line.has("silent");
    let keeps = ended.is_ok() || line.has("keep-files");
    for (index, piece) in run.pieces.iter().enumerate() {
        let name = format!("{prefix}{}", format.suffix(index));
        if keeps {
            let written = call.files.write(&call.path(&name), piece);
            written.map_err(|error| Failure::new(1, format!("{name}: {}", text_of(&error))))?;
        }
        if !is_quiet {
            call.print(format!("{}\n", piece.len()));
        }
    }
    ended.map(|()| 0)
}

struct Run<'t> {
    lines: Vec<&'t [u8]>,
    /// The first line that is in no piece, from 0.
    first: usize,
    /// The line that matched last, from 1.
    current: usize,
    piece: Vec<u8>,
    pieces: Vec<Vec<u8>>,
    suppresses: bool,
    elides: bool,
}

impl<'t> Run<'t> {
    fn all(&mut self, call: &Call, controls: &[Control]) -> Result<(), Failure> {
        for control in controls {
            let mut turn = 0;
            loop {
                let is_last = match control.repeat {
                    Repeat::Times(times) => turn >= times,
                    Repeat::ForEver => false,
                };
                let goes_on = match &control.end {
                    End::Line(number) => self.to_line(call, control, *number, turn).map(|()| true),
                    End::Match {
                        pattern,
                        offset,
                        is_dropped,
                    } => self.to_match(call, control, pattern, *offset, *is_dropped, turn),
                };
                if !goes_on? {
                    return Ok(());
                }
                if is_last {
                    break;
                }
                turn += 1;
            }
        }
        self.save_rest();
        self.close()
    }

    fn take(&mut self) -> Option<&'t [u8]> {
        let line = self.lines.get(self.first).copied()?;
        self.first += 1;
        Some(line)
    }

    fn save_rest(&mut self) {
        while let Some(line) = self.take() {
            self.piece.extend_from_slice(line);
        }
    }

    fn close(&mut self) -> Result<(), Failure> {
        let piece = std::mem::take(&mut self.piece);
        if !(piece.is_empty() && self.elides) {
            self.pieces.push(piece);
        }
        if self.pieces.len() > MOST_PIECES {
            let text = format!("too many pieces: {MOST_PIECES} are the most");
            return Err(Failure::new(1, text));
        }
        Ok(())
    }

    fn to_line(
        &mut self,
        call: &Call,
        control: &Control,
        number: usize,
        turn: usize,
    ) -> Result<(), Failure> {
        let out_of_range = || {
            let argument = call.quoted(control.argument);
            let text = format!(
                "{argument}: line number out of range{}",
                on_repetition(turn)
            );
            Failure::new(1, text)
        };
        let end = number.saturating_mul(turn + 1);
        if self.suppresses && self.first >= self.lines.len() {
            self.close()?;
            return Err(out_of_range());
        }
        while self.first + 1 < end {
            let Some(line) = self.take() else {
                self.close()?;
                return Err(out_of_range());
            };
            self.piece.extend_from_slice(line);
        }
        self.close()?;
        if self.suppresses {
            self.take();
        }
        if !self.suppresses && self.first >= self.lines.len() {
            return Err(out_of_range());
        }
        Ok(())
    }

    /// Returns whether there is more to do.
    fn to_match(
        &mut self,
        call: &Call,
        control: &Control,
        pattern: &Pattern,
        offset: i64,
        is_dropped: bool,
        turn: usize,
    ) -> Result<bool, Failure> {
        let wrong = |text| Failure::new(1, text);
        loop {
            self.current += 1;
            let Some(line) = self.lines.get(self.current - 1) else {
                if !is_dropped {
                    self.save_rest();
                    self.close()?;
                }
                if control.repeat == Repeat::ForEver {
                    return Ok(false);
                }
                let argument = call.quoted(control.argument);
                let text = format!("{argument}: match not found{}", on_repetition(turn));
                return Err(Failure::new(1, text));
            };
            let content = line.strip_suffix(b"\n").unwrap_or(line);
            let matcher = pattern.matcher(content).map_err(wrong)?;
            if matcher.start(content, 0).map_err(wrong)?.is_some() {
                break;
            }
        }
        let end = i64::try_from(self.current)
            .unwrap_or(i64::MAX)
            .saturating_add(offset);
        let end = usize::try_from(end - 1)
            .ok()
            .filter(|end| *end >= self.first);
        let out_of_range = || {
            let argument = call.quoted(control.argument);
            Failure::new(1, format!("{argument}: line number out of range"))
        };
        let Some(end) = end else {
            if !is_dropped {
                self.close()?;
            }
            return Err(out_of_range());
        };
        while self.first < end {
            let Some(line) = self.take() else {
                if !is_dropped {
                    self.close()?;
                }
                return Err(out_of_range());
            };
            if !is_dropped {
                self.piece.extend_from_slice(line);
            }
        }
        if !is_dropped {
            self.close()?;
        }
        if offset > 0 {
            self.current = end + 1;
        }
        if self.suppresses {
            self.take();
        }
        Ok(true)
    }
}

fn on_repetition(turn: usize) -> String {
    match turn {
        0 => String::new(),
        turn => format!(" on repetition {turn}"),
    }
}

fn controls<'a>(call: &Call, arguments: &'a [String]) -> Result<Vec<Control<'a>>, Failure> {
    let mut controls: Vec<Control> = Vec::new();
    let mut last_line = 0;
    for argument in arguments {
        let shown = call.quoted(argument);
        let fail = |text: &str| Failure::new(1, format!("{shown}: {text}"));
        if let Some(inner) = argument.strip_prefix('{') {
            let Some(inner) = inner.strip_suffix('}') else {
                return Err(fail("'}' is required in repeat count"));
            };
            let repeat = if inner == "*" {
                Repeat::ForEver
            } else {
                let times = inner.parse();
                Repeat::Times(times.map_err(|_| fail("integer required between '{' and '}'"))?)
            };
            let Some(control) = controls.last_mut() else {
                return Err(fail("invalid pattern"));
            };
            control.repeat = repeat;
            continue;
        }
        let end = match argument.chars().next() {
            Some(delimiter @ ('/' | '%')) => {
                let Some((source, offset)) = between(argument, delimiter) else {
                    let text = format!("closing delimiter '{delimiter}' missing");
                    return Err(fail(&text));
                };
                let offset = match offset {
                    "" => 0,
                    offset => {
                        let digits = offset.strip_prefix('+').unwrap_or(offset);
                        digits
                            .parse()
                            .map_err(|_| fail("integer expected after delimiter"))?
                    }
                };
                let reading = Reading::new(Syntax::Basic, call.is_utf8());
                let pattern = Pattern::new(vec![source.to_owned()], reading)
                    .map_err(|why| fail(&format!("invalid regular expression: {why}")))?;
                End::Match {
                    pattern,
                    offset,
                    is_dropped: delimiter == '%',
                }
            }
            _ => {
                let number: usize = argument.parse().map_err(|_| fail("invalid pattern"))?;
                if number == 0 {
                    let text = format!("{argument}: line number must be greater than zero");
                    return Err(Failure::new(1, text));
                }
                if number < last_line {
                    let text = format!(
                        "line number {shown} is smaller than preceding line number, {last_line}"
                    );
                    return Err(Failure::new(1, text));
                }
                last_line = number;
                End::Line(number)
            }
        };
        controls.push(Control {
            argument,
            end,
            repeat: Repeat::Times(0),
        });
    }
    Ok(controls)
}

/// The text between delimiters, of which the second is the last one, and what follows it.
fn between(argument: &str, delimiter: char) -> Option<(&str, &str)> {
    argument.strip_prefix(delimiter)?.rsplit_once(delimiter)
}

/// `-b`: a text with one number.
struct SuffixFormat {
    before: String,
    digits: usize,
    has_zeros: bool,
    is_left: bool,
    base: char,
    after: String,
}

impl SuffixFormat {
    fn read(text: &str) -> Result<Self, Failure> {
        let mut before = String::new();
        let mut rest = text;
        loop {
            let Some((start, directive)) = rest.split_once('%') else {
                return Err(Failure::new(
                    1,
                    "missing % conversion specification in suffix",
                ));
            };
            before.push_str(start);
            let Some(after) = directive.strip_prefix('%') else {
                rest = directive;
                break;
            };
            before.push('%');
            rest = after;
        }
        let flags = rest.len() - rest.trim_start_matches(['0', '-', '#', '\'']).len();
        let (flags, rest) = rest.split_at(flags);
        let width = rest.len()
            - rest
                .trim_start_matches(|char: char| char.is_ascii_digit())
                .len();
        let (width, rest) = rest.split_at(width);
        let mut chars = rest.chars();
        let base = match chars.next() {
            Some('d' | 'i' | 'u') => 'd',
            Some(base @ ('o' | 'x' | 'X')) => base,
            Some(other) => {
                let text = format!("invalid conversion specifier in suffix: {other}");
                return Err(Failure::new(1, text));
            }
            None => return Err(Failure::new(1, "missing conversion specifier in suffix")),
        };
        let after = chars.as_str().replace("%%", "\0");
        if after.contains('%') {
            return Err(Failure::new(
                1,
                "too many % conversion specifications in suffix",
            ));
        }
        Ok(Self {
            before,
            digits: width.parse().unwrap_or(0).min(255),
            has_zeros: flags.contains('0'),
            is_left: flags.contains('-'),
            base,
            after: after.replace('\0', "%"),
        })
    }

    fn suffix(&self, number: usize) -> String {
        let digits = match self.base {
            'o' => format!("{number:o}"),
            'x' => format!("{number:x}"),
            'X' => format!("{number:X}"),
            _ => number.to_string(),
        };
        let width = self.digits;
        let mut text = self.before.clone();
        let _ = if self.is_left {
            write!(text, "{digits:<width$}")
        } else if self.has_zeros {
            write!(text, "{digits:0>width$}")
        } else {
            write!(text, "{digits:>width$}")
        };
        text + &self.after
    }
}
