//! A POSIX pattern as one of crate `regex`.

use super::classes::{class, word};
use super::{Reading, Syntax};

/// What a pattern without these means itself.
pub(super) const SPECIAL: &[char] = &[
    '\\', '.', '[', ']', '*', '^', '$', '+', '?', '(', ')', '{', '}', '|',
];

const TRAILING: &str = "Trailing backslash";
const BRACKET: &str = "Unmatched [, [^, [:, [., or [=";
const PARENTHESIS: &str = "Unmatched ( or \\(";
const CLOSING: &str = "Unmatched ) or \\)";
const MOST_TIMES: u32 = 32_767;

pub(in crate::commands::on_text) struct Translated {
    pub(super) text: String,
    pub(super) groups: usize,
    pub(super) has_references: bool,
    /// Whether the first match of crate `regex` may be shorter than another that begins at the same place.
    pub(super) has_choice: bool,
    pub(super) warnings: Vec<String>,
}

/// Returns one pattern for several, of which one must match.
pub(super) fn translated(
    sources: &[String],
    reading: &Reading,
    unicode: bool,
) -> Result<Translated, String> {
    let mut result = Translated {
        text: String::new(),
        groups: 0,
        has_references: false,
        has_choice: sources.len() > 1,
        warnings: Vec::new(),
    };
    let mut texts = Vec::new();
    for source in sources {
        let mut translator = Translator {
            chars: source.chars().collect(),
            at: 0,
            reading,
            unicode,
            out: String::new(),
            atom: None,
            is_repeated: false,
            open: Vec::new(),
            closed: Vec::new(),
            first_group: result.groups,
            result: &mut result,
        };
        translator.run()?;
        texts.push(translator.out);
    }
    result.text = match &*texts {
        [text] => text.clone(),
        texts => format!("(?:{})", texts.join("|")),
    };
    result.text = reading.within.around(&result.text, result.has_references);
    Ok(result)
}

struct Translator<'a> {
    chars: Vec<char>,
    at: usize,
    reading: &'a Reading,
    unicode: bool,
    out: String,
    /// Where the last thing that can be repeated begins in `out`.
    atom: Option<usize>,
    /// Whether that thing has a quantifier.
    is_repeated: bool,
    /// Where the groups that are open begin in `out`, and their numbers.
    open: Vec<(usize, usize)>,
    closed: Vec<usize>,
    first_group: usize,
    result: &'a mut Translated,
}

impl Translator<'_> {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += 1;
        Some(char)
    }

    fn is_next(&self, text: &str) -> bool {
        let rest = self.chars.iter().skip(self.at);
        text.chars().eq(rest.copied().take(text.len()))
    }

    fn run(&mut self) -> Result<(), String> {
        let basic = self.reading.syntax == Syntax::Basic;
        while let Some(char) = self.next() {
            match char {
                '\\' => self.escape(basic)?,
                '[' => self.bracket()?,
                '.' => {
                    let any = if self.reading.lines {
                        r"[^\n]"
                    } else {
                        "(?s:.)"
                    };
                    self.push(any);
                }
                '*' if self.atom.is_some() => self.repeat("*"),
                '*' | '+' | '?' if !basic && self.atom.is_none() => {
                    self.warn(format!("{char} at start of expression"));
                }
                '^' if !basic || self.is_beginning() => self.anchor("^"),
                '$' if !basic || self.is_ending() => self.anchor("$"),
                '+' | '?' if !basic => self.repeat(if char == '+' { "+" } else { "?" }),
                '(' if !basic => self.open_group(),
                ')' if !basic && !self.open.is_empty() => self.close_group()?,
                '|' if !basic => self.alternative(),
                '{' if !basic => self.interval(false)?,
                char => self.literal(char),
            }
        }
        if self.open.is_empty() {
            Ok(())
        } else {
            Err(PARENTHESIS.to_owned())
        }
    }

    /// Whether `^` is an anchor in a basic pattern.
    fn is_beginning(&self) -> bool {
        self.out.is_empty() || self.out.ends_with(['(', '|']) && self.atom.is_none()
    }

    fn is_ending(&self) -> bool {
        self.at == self.chars.len() || self.is_next("\\)") || self.is_next("\\|")
    }

    fn warn(&mut self, warning: String) {
        self.result.warnings.push(warning);
    }

    fn push(&mut self, text: &str) {
        self.begin_atom(self.out.len());
        self.out.push_str(text);
    }

    fn anchor(&mut self, text: &str) {
        self.atom = None;
        self.out.push_str(text);
    }

    fn begin_atom(&mut self, start: usize) {
        self.atom = Some(start);
        self.is_repeated = false;
    }

    fn literal(&mut self, char: char) {
        self.begin_atom(self.out.len());
        push_member(&mut self.out, char);
    }

    fn byte(&mut self, byte: u32) {
        match char::from_u32(byte) {
            Some(char) if byte < 0x80 => self.literal(char),
            _ => self.push(&format!(r"(?-u:\x{byte:02x})")),
        }
    }

    fn repeat(&mut self, quantifier: &str) {
        let Some(start) = self.atom else { return };
        if self.out.ends_with(')') {
            self.result.has_choice = true;
        }
        // `a*?` and `a*+` mean something else to crate `regex`.
        if self.is_repeated {
            self.out.insert_str(start, "(?:");
            self.out.push(')');
        }
        self.out.push_str(quantifier);
        self.is_repeated = true;
    }

    fn alternative(&mut self) {
        self.result.has_choice = true;
        self.atom = None;
        self.out.push('|');
    }

    fn open_group(&mut self) {
        self.result.groups += 1;
        self.open.push((self.out.len(), self.result.groups));
        self.atom = None;
        self.out.push('(');
    }

    fn close_group(&mut self) -> Result<(), String> {
        let (start, number) = self.open.pop().ok_or(CLOSING)?;
        self.closed.push(number);
        self.out.push(')');
        self.begin_atom(start);
        Ok(())
    }

    /// Reads what follows `{` or `\{`.
    fn interval(&mut self, basic: bool) -> Result<(), String> {
        let start = self.at;
        let least = self.number();
        let most = if self.peek() == Some(',') {
            self.at += 1;
            self.number()
        } else {
            least
        };
        let comma = self
            .chars
            .get(start..self.at)
            .unwrap_or_default()
            .contains(&',');
        let end = if basic { "\\}" } else { "}" };
        let valid = self.is_next(end) && (least.is_some() || comma);
        if !valid {
            if basic {
                let is_open = self.at >= self.chars.len();
                let text = if is_open {
                    "Unmatched \\{"
                } else {
                    "Invalid content of \\{\\}"
                };
                return Err(text.to_owned());
            }
            self.at = start;
            self.literal('{');
            return Ok(());
        }
        self.at += end.len();
        let least = least.unwrap_or(0);
        if most.is_some_and(|most| most < least) {
            return Err("Invalid content of \\{\\}".to_owned());
        }
        if least.max(most.unwrap_or(0)) > MOST_TIMES {
            return Err("Regular expression too big".to_owned());
        }
        if self.atom.is_none() {
            if basic {
                return Err("Invalid preceding regular expression".to_owned());
            }
            self.warn("{...} at start of expression".to_owned());
            return Ok(());
        }
        let text = match most {
            Some(most) if most == least => format!("{{{least}}}"),
            Some(most) => format!("{{{least},{most}}}"),
            None => format!("{{{least},}}"),
        };
        self.repeat(&text);
        Ok(())
    }

    fn number(&mut self) -> Option<u32> {
        let mut number = None;
        while let Some(digit) = self.peek().and_then(|char| char.to_digit(10)) {
            number = Some(
                number
                    .unwrap_or(0_u32)
                    .saturating_mul(10)
                    .saturating_add(digit),
            );
            self.at += 1;
        }
        number
    }

    /// Reads what follows a backslash.
    fn escape(&mut self, basic: bool) -> Result<(), String> {
        let Some(char) = self.next() else {
            return Err(TRAILING.to_owned());
        };
        match char {
            '(' if basic => self.open_group(),
            ')' if basic => self.close_group()?,
            '|' if basic => self.alternative(),
            '{' if basic => self.interval(true)?,
            '+' | '?' if basic && self.atom.is_some() => {
                self.repeat(if char == '+' { "+" } else { "?" });
            }
            '<' => self.anchor(r"\b{start}"),
            '>' => self.anchor(r"\b{end}"),
            'b' => self.anchor(r"\b"),
            'B' => self.anchor(r"\B"),
            '`' => self.anchor(r"\A"),
            '\'' => self.anchor(r"\z"),
            'w' => self.push(&format!("[{}]", word(self.unicode))),
            'W' => {
                let newline = if self.reading.lines { r"\n" } else { "" };
                self.push(&format!("[^{}{newline}]", word(self.unicode)));
            }
            's' | 'S' => {
                let lines = char == 's' && self.reading.lines;
                let space = class("space", self.unicode, lines).unwrap_or_default();
                let not = if char == 'S' { "^" } else { "" };
                self.push(&format!("[{not}{space}]"));
            }
            '1'..='9' => {
                let number = self.first_group + char.to_digit(10).unwrap_or(0) as usize;
                if !self.closed.contains(&number) {
                    return Err("Invalid back reference".to_owned());
                }
                self.result.has_references = true;
                self.push(&format!(r"(?:\{number})"));
            }
            char if self.reading.escapes => self.character(char),
            char => {
                if char.is_alphanumeric() {
                    self.warn(format!("stray \\ before {char}"));
                }
                self.literal(char);
            }
        }
        Ok(())
    }

    /// Reads an escape that stands for a character.
    fn character(&mut self, char: char) {
        let (radix, digits) = match char {
            'd' => (10, 3),
            'o' => (8, 3),
            'x' => (16, 2),
            'n' => return self.literal('\n'),
            't' => return self.literal('\t'),
            'r' => return self.literal('\r'),
            'f' => return self.literal('\x0c'),
            'v' => return self.literal('\x0b'),
            'a' => return self.literal('\x07'),
            'c' => {
                let control = self.next().unwrap_or('@').to_ascii_uppercase();
                return self.byte(u32::from(control) ^ 0x40);
            }
            char => return self.literal(char),
        };
        let mut number = None;
        for _ in 0..digits {
            let Some(digit) = self.peek().and_then(|char| char.to_digit(radix)) else {
                break;
            };
            number = Some(number.unwrap_or(0) * radix + digit);
            self.at += 1;
        }
        match number {
            Some(number) => self.byte(number & 0xFF),
            None => self.literal(char),
        }
    }

    /// Reads what follows `[`.
    fn bracket(&mut self) -> Result<(), String> {
        let mut set = String::new();
        let negated = self.peek() == Some('^');
        if negated {
            self.at += 1;
        }
        let first = self.at;
        let mut last_member: Option<char> = None;
        loop {
            let Some(char) = self.next() else {
                let text = if set.is_empty() {
                    "Invalid regular expression"
                } else {
                    BRACKET
                };
                return Err(text.to_owned());
            };
            if char == ']' && self.at - 1 > first {
                break;
            }
            if char == '[' && matches!(self.peek(), Some(':' | '.' | '=')) {
                let kind = self.next().unwrap_or(':');
                let name = self.until(kind).ok_or(BRACKET)?;
                if kind == ':' {
                    let text = class(&name, self.unicode, self.reading.lines);
                    let text = text.ok_or("Invalid character class name")?;
                    // With both cases, `[[:upper:]]` is both.
                    let text = match text {
                        _ if !self.reading.ignore_case => text,
                        _ if matches!(&*name, "upper" | "lower") => {
                            class("alpha", self.unicode, false).unwrap_or(text)
                        }
                        text => text,
                    };
                    set.push_str(text);
                    last_member = None;
                    continue;
                }
                let mut chars = name.chars();
                let (Some(member), None) = (chars.next(), chars.next()) else {
                    return Err("Invalid collation character".to_owned());
                };
                last_member = Some(member);
                push_member(&mut set, member);
                continue;
            }
            let char = self.member(char);
            let is_range = char == '-' && last_member.is_some() && self.peek() != Some(']');
            if let (true, Some(from)) = (is_range, last_member) {
                let Some(mut to) = self.next() else {
                    return Err(BRACKET.to_owned());
                };
                if to == '[' && matches!(self.peek(), Some('.' | '=')) {
                    let kind = self.next().unwrap_or('.');
                    to = self
                        .until(kind)
                        .and_then(|name| name.chars().next())
                        .ok_or(BRACKET)?;
                } else {
                    to = self.member(to);
                }
                if to < from {
                    return Err("Invalid range end".to_owned());
                }
                set.push('-');
                push_member(&mut set, to);
                last_member = None;
                continue;
            }
            push_member(&mut set, char);
            last_member = Some(char);
        }
        let inner = self.chars.get(first..self.at - 1).unwrap_or_default();
        if let ([':', .., ':'], false) = (inner, negated)
            && inner.len() > 2
        {
            return Err("character class syntax is [[:space:]], not [:space:]".to_owned());
        }
        let newline = if self.reading.lines { r"\n" } else { "" };
        let text = if negated {
            format!("[^{set}{newline}]")
        } else {
            format!("[{set}]")
        };
        self.push(&text);
        Ok(())
    }

    /// A member of a set: `\n` and the like where the reading has escapes.
    fn member(&mut self, char: char) -> char {
        if char != '\\' || !self.reading.escapes {
            return char;
        }
        let member = match self.peek() {
            Some('n') => '\n',
            Some('t') => '\t',
            Some('r') => '\r',
            Some('f') => '\x0c',
            Some('v') => '\x0b',
            Some('a') => '\x07',
            _ => return char,
        };
        self.at += 1;
        member
    }

    /// Reads the name of a class up to `:]`.
    fn until(&mut self, kind: char) -> Option<String> {
        let mut name = String::new();
        loop {
            let char = self.next()?;
            if char == kind && self.peek() == Some(']') {
                self.at += 1;
                return Some(name);
            }
            name.push(char);
        }
    }
}

fn push_member(set: &mut String, char: char) {
    if r"\.+*?()|[]{}^$#&-~".contains(char) {
        set.push('\\');
    }
    set.push(char);
}
