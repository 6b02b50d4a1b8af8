//! The command `s`.

use std::rc::Rc;

use crate::commands::on_text::pattern::{Groups, Pattern};

/// A change of case in a replacement.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Case {
    Upper,
    Lower,
    /// Of the next character.
    UpperNext,
    LowerNext,
    End,
}

pub(super) enum Part {
    Text(Vec<u8>),
    /// 0 is the match.
    Group(usize),
    Case(Case),
}

pub(super) struct Substitution {
    pub(super) pattern: Option<Rc<Pattern>>,
    pub(super) replacement: Vec<Part>,
    pub(super) all: bool,
    pub(super) prints: bool,
    /// From which match on.
    pub(super) nth: usize,
    pub(super) written: Option<String>,
}

impl Default for Substitution {
    fn default() -> Self {
        Self {
            pattern: None,
            replacement: Vec::new(),
            all: false,
            prints: false,
            nth: 1,
            written: None,
        }
    }
}

/// Reads a replacement.
pub(super) fn parts(text: &str) -> Vec<Part> {
    let (mut parts, mut literal) = (Vec::new(), Vec::new());
    let mut chars = text.chars().peekable();
    let flush = |parts: &mut Vec<Part>, literal: &mut Vec<u8>| {
        if !literal.is_empty() {
            parts.push(Part::Text(std::mem::take(literal)));
        }
    };
    while let Some(char) = chars.next() {
        let part = match char {
            '&' => Part::Group(0),
            '\\' => match chars.next() {
                Some(digit @ '0'..='9') => Part::Group(digit as usize - '0' as usize),
                Some('U') => Part::Case(Case::Upper),
                Some('L') => Part::Case(Case::Lower),
                Some('u') => Part::Case(Case::UpperNext),
                Some('l') => Part::Case(Case::LowerNext),
                Some('E') => Part::Case(Case::End),
                Some(kind @ ('x' | 'o' | 'd')) => {
                    let (radix, most) = match kind {
                        'x' => (16, 2),
                        'o' => (8, 3),
                        _ => (10, 3),
                    };
                    let mut number = None;
                    for _ in 0..most {
                        let Some(digit) = chars.peek().and_then(|char| char.to_digit(radix)) else {
                            break;
                        };
                        number = Some(number.unwrap_or(0) * radix + digit);
                        chars.next();
                    }
                    match number {
                        Some(number) => literal.push(u8::try_from(number & 0xFF).unwrap_or(0)),
                        None => literal.extend(kind.to_string().bytes()),
                    }
                    continue;
                }
                Some('c') => {
                    let control = chars.next().unwrap_or('@').to_ascii_uppercase();
                    literal.push(u8::try_from(u32::from(control) ^ 0x40).unwrap_or(b'?'));
                    continue;
                }
                Some(other) => {
                    let char = match other {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        'f' => '\x0c',
                        'v' => '\x0b',
                        'a' => '\x07',
                        other => other,
                    };
                    literal.extend(char.to_string().bytes());
                    continue;
                }
                None => {
                    literal.push(b'\\');
                    continue;
                }
            },
            char => {
                literal.extend(char.to_string().bytes());
                continue;
            }
        };
        flush(&mut parts, &mut literal);
        parts.push(part);
    }
    flush(&mut parts, &mut literal);
    parts
}

impl Substitution {
    /// Returns what a text becomes, or `None` if nothing is replaced.
    pub(super) fn apply(&self, pattern: &Pattern, text: &[u8]) -> Result<Option<Vec<u8>>, String> {
        let matcher = pattern.matcher(text)?;
        let (mut out, mut at, mut count, mut replaced) = (Vec::new(), 0, 0, false);
        let mut last_end = None;
        while at <= text.len() {
            let Some(groups) = matcher.groups(text, at)? else {
                break;
            };
            let Some(place) = groups.first().cloned().flatten() else {
                break;
            };
            out.extend_from_slice(text.get(at..place.start).unwrap_or_default());
            // An empty match right after another one is none.
            let is_none = place.is_empty() && last_end == Some(place.start);
            if !is_none {
                count += 1;
                if count < self.nth {
                    out.extend_from_slice(text.get(place.clone()).unwrap_or_default());
                } else {
                    self.replace(&groups, text, &mut out);
                    replaced = true;
                }
            }
            at = place.end;
            last_end = Some(at);
            if replaced && !self.all {
                break;
            }
            if place.is_empty() {
                let rest = text.get(at..).unwrap_or_default();
                let length = length_of_first(rest);
                out.extend_from_slice(rest.get(..length).unwrap_or_default());
                at += length.max(1);
            }
        }
        if !replaced {
            return Ok(None);
        }
        out.extend_from_slice(text.get(at..).unwrap_or_default());
        Ok(Some(out))
    }

    fn replace(&self, groups: &Groups, text: &[u8], out: &mut Vec<u8>) {
        let (mut case, mut next) = (Case::End, None);
        for part in &self.replacement {
            let bytes = match part {
                Part::Text(bytes) => bytes.as_slice(),
                Part::Group(number) => {
                    let group = groups.get(*number).cloned().flatten();
                    group.and_then(|group| text.get(group)).unwrap_or_default()
                }
                Part::Case(change @ (Case::UpperNext | Case::LowerNext)) => {
                    next = Some(*change);
                    continue;
                }
                Part::Case(change) => {
                    (case, next) = (*change, None);
                    continue;
                }
            };
            if case == Case::End && next.is_none() {
                out.extend_from_slice(bytes);
                continue;
            }
            let text = String::from_utf8_lossy(bytes);
            for char in text.chars() {
                let change = next.take().unwrap_or(case);
                let changed = match change {
                    Case::Upper | Case::UpperNext => single(char, char.to_uppercase()),
                    Case::Lower | Case::LowerNext => single(char, char.to_lowercase()),
                    Case::End => char,
                };
                out.extend(changed.to_string().bytes());
            }
        }
    }
}

/// The other case of a character, if that is one character.
fn single(char: char, mut changed: impl Iterator<Item = char>) -> char {
    match (changed.next(), changed.next()) {
        (Some(only), None) => only,
        _ => char,
    }
}

/// How many bytes the first character has.
fn length_of_first(text: &[u8]) -> usize {
    let rest = text.iter().skip(1);
    let following = rest.take_while(|byte| **byte & 0xC0 == 0x80).count();
    if text.is_empty() {
        0
    } else {
        1 + following.min(3)
    }
}
