//! Reads JSON values, one after the other.

use std::borrow::Cow;
use std::rc::Rc;

use crate::number;
use crate::object::Object;
use crate::value::Val;

/// The deepest nesting of a document.
pub const MAX_DEPTH: usize = 256;

/// Keys that are remembered, so that the same key of many objects is one text in memory.
const KEYS: usize = 64;

/// Reads the values of a text.
pub struct Reader<'a> {
    text: Cow<'a, str>,
    at: usize,
    /// Lines before `at` are counted up to here.
    counted: (usize, usize),
    keys: Vec<Option<Rc<str>>>,
    /// The record separator of JSON text sequences is white space.
    sequence: bool,
    failed: bool,
}

/// Why a text is not JSON.
enum Fault {
    /// Found at the byte that was read last.
    Byte(&'static str),
    /// Found at the end of the text.
    End(&'static str),
}

/// An array or object whose end has not been read.
enum Open {
    Array(Vec<Val>),
    Object(Object, Option<Rc<str>>),
}

impl<'a> Reader<'a> {
    /// Skips a byte order mark. Bytes that are not UTF-8 become U+FFFD.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        Self::of(String::from_utf8_lossy(bytes))
    }

    /// Reads bytes of its own.
    #[must_use]
    pub fn from_vec(bytes: Vec<u8>) -> Self {
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        let at = if text.starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        };
        Self {
            at,
            ..Self::of(Cow::Owned(text))
        }
    }

    fn of(text: Cow<'a, str>) -> Self {
        Self {
            text,
            at: 0,
            counted: (0, 0),
            keys: vec![None; KEYS],
            sequence: false,
            failed: false,
        }
    }

    /// Reads a JSON text sequence (RFC 7464).
    #[must_use]
    pub fn sequence(mut self) -> Self {
        self.sequence = true;
        self
    }

    /// The number of complete lines that have been read.
    pub fn line(&mut self) -> usize {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let end = self.at
            + rest
                .iter()
                .position(|byte| *byte == b'\n')
                .map_or(rest.len(), |at| at + 1);
        let (from, lines) = self.counted;
        let more = self.text.as_bytes().get(from..end).unwrap_or_default();
        let lines = lines + more.iter().filter(|byte| **byte == b'\n').count();
        self.counted = (end.max(from), lines);
        lines
    }

    /// Returns the next value, or `None` at the end.
    ///
    /// # Errors
    /// What comes next is not JSON. Nothing is read after that.
    pub fn next_value(&mut self) -> Option<Result<Val, String>> {
        if self.failed {
            return None;
        }
        let text = std::mem::take(&mut self.text);
        let result = self.scan(&text);
        self.text = text;
        result.map_err(|fault| self.fail(&fault)).transpose()
    }

    fn fail(&mut self, fault: &Fault) -> String {
        self.failed = true;
        let read = self.text.as_bytes().get(..self.at).unwrap_or_default();
        let line = read.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = read.iter().rev().take_while(|byte| **byte != b'\n').count();
        match fault {
            Fault::Byte(reason) => format!("{reason} at line {line}, column {column}"),
            Fault::End(reason) => format!("{reason} at EOF at line {line}, column {column}"),
        }
    }

    fn scan(&mut self, text: &str) -> Result<Option<Val>, Fault> {
        let bytes = text.as_bytes();
        let mut stack: Vec<Open> = Vec::new();
        let mut next: Option<Val> = None;
        while let Some(&byte) = bytes.get(self.at) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => self.at += 1,
                0x1e if self.sequence => self.at += 1,
                b'"' => {
                    self.at += 1;
                    let is_key = matches!(stack.last(), Some(Open::Object(_, None)));
                    let string = self.string(text, is_key)?;
                    if next.is_some() {
                        return Err(Fault::Byte("Expected separator between values"));
                    }
                    next = Some(Val::Str(string));
                }
                b'[' | b'{' => {
                    self.at += 1;
                    if stack.len() >= MAX_DEPTH {
                        return Err(Fault::Byte("Exceeds depth limit for parsing"));
                    }
                    if next.is_some() {
                        return Err(Fault::Byte("Expected separator between values"));
                    }
                    stack.push(if byte == b'[' {
                        Open::Array(Vec::new())
                    } else {
                        Open::Object(Object::new(), None)
                    });
                }
                b':' => {
                    self.at += 1;
                    colon(&mut stack, next.take())?;
                }
                b',' => {
                    self.at += 1;
                    comma(&mut stack, next.take())?;
                }
                b']' | b'}' => {
                    self.at += 1;
                    next = Some(close(&mut stack, next.take(), byte)?);
                }
                _ => {
                    let value = self.literal(text)?;
                    if next.is_some() {
                        return Err(Fault::Byte("Expected separator between values"));
                    }
                    next = Some(value);
                }
            }
            if stack.is_empty() && next.is_some() {
                return Ok(next);
            }
        }
        if stack.is_empty() {
            Ok(None)
        } else {
            Err(Fault::End("Unfinished JSON term"))
        }
    }

    fn literal(&mut self, text: &str) -> Result<Val, Fault> {
        let rest = text.get(self.at..).unwrap_or_default();
        let is_end = |byte: u8| {
            matches!(
                byte,
                b' ' | b'\t' | b'\r' | b'\n' | b'"' | b'[' | b',' | b']' | b'{' | b':' | b'}'
            ) || (byte == 0x1e && self.sequence)
        };
        let len = rest.bytes().position(is_end).unwrap_or(rest.len());
        let token = rest.get(..len).unwrap_or_default();
        self.at += len;
        let reason = match token {
            "null" => return Ok(Val::Null),
            "true" => return Ok(Val::Bool(true)),
            "false" => return Ok(Val::Bool(false)),
            _ if token.starts_with(['t', 'f']) || token.starts_with("nu") => "Invalid literal",
            _ => match number::parse(token) {
                Some(number) => return Ok(number),
                None => "Invalid numeric literal",
            },
        };
        if self.at == text.len() {
            return Err(Fault::End(reason));
        }
        // jq finds it at the byte after the token.
        self.at += 1;
        Err(Fault::Byte(reason))
    }

    /// Reads the rest of a string, after its first quote.
    fn string(&mut self, text: &str, is_key: bool) -> Result<Rc<str>, Fault> {
        let bytes = text.as_bytes();
        let start = self.at;
        let mut plain = true;
        loop {
            match bytes.get(self.at) {
                None => return Err(Fault::End("Unfinished string")),
                Some(b'"') => break,
                Some(b'\\') => {
                    plain = false;
                    self.at += 2;
                }
                Some(byte) => {
                    plain &= *byte >= 0x20;
                    self.at += 1;
                }
            }
        }
        let raw = text.get(start..self.at).unwrap_or_default();
        self.at += 1;
        if !plain {
            return unescape(raw).map(Rc::from).map_err(Fault::Byte);
        }
        if !is_key {
            return Ok(Rc::from(raw));
        }
        let sum = raw.bytes().fold(raw.len(), |sum, byte| {
            sum.wrapping_mul(5) ^ usize::from(byte)
        });
        let Some(place) = self.keys.get_mut(sum % KEYS) else {
            return Ok(Rc::from(raw));
        };
        match place {
            Some(key) if **key == *raw => Ok(Rc::clone(key)),
            place => Ok(Rc::clone(place.insert(Rc::from(raw)))),
        }
    }
}

fn colon(stack: &mut [Open], next: Option<Val>) -> Result<(), Fault> {
    let Some(next) = next else {
        return Err(Fault::Byte("Expected string key before ':'"));
    };
    match (stack.last_mut(), next) {
        (Some(Open::Object(_, key @ None)), Val::Str(text)) => {
            *key = Some(text);
            Ok(())
        }
        (Some(Open::Object(_, None)), _) => Err(Fault::Byte("Object keys must be strings")),
        _ => Err(Fault::Byte("':' not as part of an object")),
    }
}

fn comma(stack: &mut [Open], next: Option<Val>) -> Result<(), Fault> {
    let Some(next) = next else {
        return Err(Fault::Byte("Expected value before ','"));
    };
    match stack.last_mut() {
        None => Err(Fault::Byte("',' not as part of an object or array")),
        Some(Open::Array(items)) => {
            items.push(next);
            Ok(())
        }
        Some(Open::Object(object, key)) => match key.take() {
            Some(key) => {
                object.insert(key, next);
                Ok(())
            }
            None => Err(Fault::Byte("Objects must consist of key:value pairs")),
        },
    }
}

fn close(stack: &mut Vec<Open>, next: Option<Val>, byte: u8) -> Result<Val, Fault> {
    match (byte, stack.pop()) {
        (b']', Some(Open::Array(mut items))) => {
            match next {
                Some(next) => items.push(next),
                None if !items.is_empty() => {
                    return Err(Fault::Byte("Expected another array element"));
                }
                None => {}
            }
            Ok(Val::Arr(Rc::new(items)))
        }
        (b']', _) => Err(Fault::Byte("Unmatched ']'")),
        (_, Some(Open::Object(mut object, key))) => {
            match (key, next) {
                (Some(key), Some(next)) => object.insert(key, next),
                (None, Some(_)) => {
                    return Err(Fault::Byte("Objects must consist of key:value pairs"));
                }
                (Some(_), None) => return Err(Fault::Byte("Unmatched '}'")),
                (None, None) if !object.is_empty() => {
                    return Err(Fault::Byte("Expected another key-value pair"));
                }
                (None, None) => {}
            }
            Ok(Val::Obj(Rc::new(object)))
        }
        (_, Some(Open::Array(_))) if next.is_some() => {
            Err(Fault::Byte("Objects must consist of key:value pairs"))
        }
        (_, _) => Err(Fault::Byte("Unmatched '}'")),
    }
}

/// Returns the text between the quotes of a string.
pub(crate) fn unescape(raw: &str) -> Result<String, &'static str> {
    let mut text = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' => match chars.next() {
                Some(char @ ('\\' | '"' | '/')) => text.push(char),
                Some('b') => text.push('\u{8}'),
                Some('f') => text.push('\u{c}'),
                Some('t') => text.push('\t'),
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some('u') => {
                    let (code, len) = code_point(chars.as_str())?;
                    text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                    chars = chars.as_str().get(len..).unwrap_or_default().chars();
                }
                Some(_) => return Err("Invalid escape"),
                None => return Err("Expected escape character at end of string"),
            },
            '\0'..='\u{1f}' => {
                return Err(
                    "Invalid string: control characters from U+0000 through U+001F must be escaped",
                );
            }
            char => text.push(char),
        }
    }
    Ok(text)
}

/// The code point after `\u`, and how many bytes it takes; two escapes may be one.
fn code_point(rest: &str) -> Result<(u32, usize), &'static str> {
    let hex = |from: usize| {
        let digits = rest.get(from..from + 4)?;
        let all = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        all.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    };
    if rest.len() < 4 {
        return Err("Invalid \\uXXXX escape");
    }
    let first = hex(0).ok_or("Invalid characters in \\uXXXX escape")?;
    if !(0xd800..0xdc00).contains(&first) {
        return Ok((first, 4));
    }
    let second = rest
        .get(4..6)
        .filter(|escape| *escape == "\\u")
        .and_then(|_| hex(6));
    match second {
        Some(second @ 0xdc00..0xe000) => {
            Ok((0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00), 10))
        }
        _ => Err("Invalid \\uXXXX\\uXXXX surrogate pair escape"),
    }
}

/// Parses a text that is one value.
///
/// # Errors
/// It is not JSON, has several values, or none.
pub fn parse(text: &str) -> Result<Val, String> {
    let mut reader = Reader::new(text.as_bytes());
    let found = match (reader.next_value(), reader.next_value()) {
        (None, _) => Err("Expected JSON value".to_owned()),
        (Some(Err(reason)), _) | (Some(Ok(_)), Some(Err(reason))) => Err(reason),
        (Some(Ok(_)), Some(Ok(_))) => Err("Unexpected extra JSON values".to_owned()),
        (Some(Ok(value)), None) => Ok(value),
    };
    found.map_err(|reason| format!("{reason} (while parsing '{text}')"))
}
