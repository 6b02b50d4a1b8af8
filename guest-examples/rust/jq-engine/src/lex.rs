//! Splits a program into tokens.

use crate::json;
use crate::number;
use crate::value::Val;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    /// `.name`
    Field(String),
    /// `$name`
    Variable(String),
    /// `@name`
    Format(String),
    /// A name or a keyword.
    Word(String),
    Number(Val),
    /// A text with the tokens of its interpolations.
    Text(Vec<Part>),
    /// An operator or a bracket.
    Sign(&'static str),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    Text(String),
    Tokens(Vec<Placed>),
}

/// A token and the byte of the program where it begins.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Placed {
    pub(crate) token: Token,
    pub(crate) at: usize,
}

/// Why a program cannot be read, and at which byte.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) reason: String,
    pub(crate) at: usize,
}

/// Longer signs come first.
const SIGNS: &[&str] = &[
    "?//=", "?//", "//=", "|=", "+=", "-=", "*=", "/=", "%=", "==", "!=", "<=", ">=", "//", "..",
    "|", ",", ".", ":", ";", "=", "<", ">", "+", "-", "*", "/", "%", "?", "(", ")", "[", "]", "{",
    "}", "$",
];

pub(crate) struct Lexer<'a> {
    program: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(program: &'a str) -> Self {
        Self { program, at: 0 }
    }

    fn rest(&self) -> &'a str {
        self.program.get(self.at..).unwrap_or_default()
    }

    fn fault<T>(&self, at: usize, reason: impl Into<String>) -> Result<T, Fault> {
        Err(Fault {
            reason: reason.into(),
            at,
        })
    }

    pub(crate) fn tokens(mut self) -> Result<Vec<Placed>, Fault> {
        let tokens = self.until_close()?;
        if self.rest().is_empty() {
            Ok(tokens)
        } else {
            self.fault(self.at, "unexpected `)`")
        }
    }

    /// Reads up to a closing parenthesis that was not opened here, or the end.
    fn until_close(&mut self) -> Result<Vec<Placed>, Fault> {
        let mut tokens = Vec::new();
        let mut open = 0_usize;
        loop {
            self.skip_blank();
            let at = self.at;
            let Some(first) = self.rest().chars().next() else {
                return Ok(tokens);
            };
            let token = self.token(first)?;
            match token {
                Token::Sign("(") => open += 1,
                Token::Sign(")") => match open.checked_sub(1) {
                    Some(left) => open = left,
                    None => {
                        self.at = at;
                        return Ok(tokens);
                    }
                },
                _ => {}
            }
            tokens.push(Placed { token, at });
        }
    }

    fn skip_blank(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r']);
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with('#') {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    fn token(&mut self, first: char) -> Result<Token, Fault> {
        let rest = self.rest();
        let after = rest.get(first.len_utf8()..).unwrap_or_default();
        let is_start =
            |char: Option<char>| char.is_some_and(|char| char.is_ascii_alphabetic() || char == '_');
        match first {
            '"' => {
                self.at += 1;
                self.text().map(Token::Text)
            }
            '.' if is_start(after.chars().next()) => {
                let name = word(after, false);
                self.at += 1 + name.len();
                Ok(Token::Field(name.to_owned()))
            }
            '$' if is_start(after.chars().next()) => {
                let name = word(after, true);
                self.at += 1 + name.len();
                Ok(Token::Variable(name.to_owned()))
            }
            '@' => {
                let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
                let len = after.find(|char| !is_part(char)).unwrap_or(after.len());
                if len == 0 {
                    return self.fault(self.at, "unexpected `@`");
                }
                self.at += 1 + len;
                Ok(Token::Format(
                    after.get(..len).unwrap_or_default().to_owned(),
                ))
            }
            _ if is_start(Some(first)) => {
                let name = word(rest, true);
                self.at += name.len();
                Ok(Token::Word(name.to_owned()))
            }
            '0'..='9' => self.number(),
            '.' if after.starts_with(|char: char| char.is_ascii_digit()) => self.number(),
            _ => {
                let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) else {
                    return self.fault(self.at, format!("unexpected character `{first}`"));
                };
                // `?//=` is `?` and `//=`.
                let sign = if *sign == "?//=" { "?" } else { sign };
                self.at += sign.len();
                Ok(Token::Sign(sign))
            }
        }
    }

    fn number(&mut self) -> Result<Token, Fault> {
        let rest = self.rest();
        let digits = |from: usize| {
            let part = rest.get(from..).unwrap_or_default();
            from + part
                .find(|char: char| !char.is_ascii_digit())
                .unwrap_or(part.len())
        };
        let mut len = digits(0);
        if rest.get(len..).is_some_and(|rest| rest.starts_with('.')) {
            len = digits(len + 1);
        }
        let exponent = rest.get(len..).unwrap_or_default();
        if exponent.starts_with(['e', 'E']) {
            let sign = exponent
                .get(1..)
                .unwrap_or_default()
                .starts_with(['+', '-']);
            let from = len + 1 + usize::from(sign);
            let end = digits(from);
            if end > from {
                len = end;
            }
        }
        let Some(value) = rest.get(..len).and_then(number::parse) else {
            return self.fault(self.at, "not a number");
        };
        self.at += len;
        Ok(Token::Number(value))
    }

    /// Reads the rest of a text, after its first quote.
    fn text(&mut self) -> Result<Vec<Part>, Fault> {
        let start = self.at;
        let mut parts = Vec::new();
        let mut raw_from = self.at;
        loop {
            let rest = self.rest();
            let Some(len) = rest.find(['"', '\\']) else {
                return self.fault(start.saturating_sub(1), "the text has no closing quote");
            };
            self.at += len;
            let rest = rest.get(len..).unwrap_or_default();
            if rest.starts_with("\\(") || rest.starts_with('"') {
                let raw = self.program.get(raw_from..self.at).unwrap_or_default();
                if !raw.is_empty() {
                    parts.push(Part::Text(self.unescape(raw, raw_from)?));
                }
            }
            if rest.starts_with('"') {
                self.at += 1;
                return Ok(parts);
            }
            if rest.starts_with("\\(") {
                self.at += 2;
                parts.push(Part::Tokens(self.until_close()?));
                if !self.rest().starts_with(')') {
                    return self.fault(start, "the interpolation has no closing parenthesis");
                }
                self.at += 1;
                raw_from = self.at;
            } else {
                let escaped = rest.chars().nth(1).map_or(0, char::len_utf8);
                self.at += 1 + escaped;
            }
        }
    }

    /// A program may have line ends within texts, which JSON may not.
    fn unescape(&self, raw: &str, at: usize) -> Result<String, Fault> {
        if !raw.contains('\\') {
            return Ok(raw.to_owned());
        }
        let mut text = String::with_capacity(raw.len());
        let mut rest = raw;
        while let Some(plain) = rest.find('\\') {
            text.push_str(rest.get(..plain).unwrap_or_default());
            rest = rest.get(plain..).unwrap_or_default();
            // One run of escapes: a pair of surrogates is two of them.
            let mut len = 0;
            while rest.get(len..).is_some_and(|rest| rest.starts_with('\\')) {
                let after = rest.get(len + 1..).unwrap_or_default();
                let hex = after
                    .bytes()
                    .skip(1)
                    .take(4)
                    .take_while(u8::is_ascii_hexdigit)
                    .count();
                len += if after.starts_with('u') {
                    2 + hex
                } else {
                    1 + after.chars().next().map_or(0, char::len_utf8)
                };
            }
            match json::unescape(rest.get(..len).unwrap_or_default()) {
                Ok(escapes) => text.push_str(&escapes),
                Err(reason) => return self.fault(at, reason),
            }
            rest = rest.get(len..).unwrap_or_default();
        }
        text.push_str(rest);
        Ok(text)
    }
}

/// The longest name at the start of a text; `spaces` are those before `::`.
fn word(text: &str, spaces: bool) -> &str {
    let is_part = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let mut len = text.find(|char| !is_part(char)).unwrap_or(text.len());
    while spaces {
        let Some(rest) = text.get(len..).and_then(|rest| rest.strip_prefix("::")) else {
            break;
        };
        let more = rest.find(|char| !is_part(char)).unwrap_or(rest.len());
        if more == 0 {
            break;
        }
        len += 2 + more;
    }
    text.get(..len).unwrap_or(text)
}
