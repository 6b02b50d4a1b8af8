//! `match`, `test`, `split` and `sub`, with regular expressions.

use super::arithmetic::failure;
use crate::access;
use crate::fault::{error, object_key};
use crate::object::Object;
use crate::regex::{Flags, Match, Regex};
use crate::value::Val;

pub(crate) fn find(input: &Val, regex: &Val, flags: &Val) -> Result<Vec<Match>, Val> {
    find_with(input, regex, flags, false)
}

/// Finds the first match, or all with the flag `g`. `test` wants to know only if there is one.
pub(super) fn find_with(
    input: &Val,
    regex: &Val,
    flags: &Val,
    test: bool,
) -> Result<Vec<Match>, Val> {
    let Val::Str(text) = input else {
        return Err(failure(input, "cannot be matched, as it is not a string"));
    };
    let Val::Str(pattern) = regex else {
        return Err(failure(regex, "is not a string"));
    };
    let mut options = Flags::default();
    let mut global = false;
    match flags {
        Val::Null => {}
        Val::Str(letters) => {
            for letter in letters.chars() {
                match letter {
                    'g' => global = true,
                    'i' => options.ignore_case = true,
                    'x' => options.extended = true,
                    'm' | 'p' => options.dot_matches_newline = true,
                    // `^` and `$` are the ends of the text in any case.
                    's' => {}
                    'l' => options.longest = true,
                    'n' => options.not_empty = true,
                    _ => return Err(error(format!("{letters} is not a valid modifier string"))),
                }
            }
        }
        other => return Err(failure(other, "is not a string")),
    }
    let failed = |reason: String| error(format!("Regex failure: {reason}"));
    let regex = Regex::new(pattern, options).map_err(failed)?;
    let mut matches = Vec::new();
    let mut start = 0;
    while start <= text.len() {
        let Some(found) = regex.find(text, start).map_err(failed)? else {
            break;
        };
        let (from, to) = (found.start, found.end);
        matches.push(found);
        if test || !global {
            break;
        }
        start = to;
        if from == to {
            start += text
                .get(to..)
                .and_then(|rest| rest.chars().next())
                .map_or(1, char::len_utf8);
        }
    }
    Ok(matches)
}

/// Counts characters, each once.
struct Offsets<'t> {
    text: &'t str,
    byte: usize,
    chars: usize,
}

impl Offsets<'_> {
    fn at(&mut self, byte: usize) -> usize {
        if byte < self.byte {
            (self.byte, self.chars) = (0, 0);
        }
        self.chars += self
            .text
            .get(self.byte..byte)
            .map_or(0, |part| part.chars().count());
        self.byte = byte;
        self.chars
    }
}

/// The objects of `match`.
pub(super) fn objects(text: &str, matches: &[Match]) -> Val {
    let mut offsets = Offsets {
        text,
        byte: 0,
        chars: 0,
    };
    let mut results = Vec::with_capacity(matches.len());
    for found in matches {
        let offset = offsets.at(found.start);
        let string = text.get(found.start..found.end).unwrap_or_default();
        let mut captures = Vec::new();
        for group in &found.groups {
            // Within an empty match, every capture is an empty one there.
            let span = if found.start == found.end {
                Some((found.start, found.start))
            } else {
                group.span
            };
            let name = group.name.as_deref().map_or(Val::Null, Val::from);
            let mut capture = Object::new();
            match span {
                Some((from, to)) => {
                    let part = text.get(from..to).unwrap_or_default();
                    capture.insert("offset".into(), offsets.at(from).into());
                    if from == to {
                        capture.insert("string".into(), part.into());
                        capture.insert("length".into(), Val::Num(0.0));
                    } else {
                        capture.insert("length".into(), part.chars().count().into());
                        capture.insert("string".into(), part.into());
                    }
                }
                None => {
                    capture.insert("offset".into(), Val::Num(-1.0));
                    capture.insert("string".into(), Val::Null);
                    capture.insert("length".into(), Val::Num(0.0));
                }
            }
            capture.insert("name".into(), name);
            captures.push(Val::from(capture));
        }
        let mut result = Object::new();
        result.insert("offset".into(), offset.into());
        result.insert("length".into(), string.chars().count().into());
        result.insert("string".into(), string.into());
        result.insert("captures".into(), captures.into());
        results.push(result.into());
    }
    results.into()
}

/// The object of the named captures of a `match`.
pub(super) fn captures(found: &Val) -> Result<Val, Val> {
    let mut object = Object::new();
    let Val::Arr(captures) = access::get(found, &"captures".into())? else {
        return Ok(object.into());
    };
    for capture in captures.iter() {
        let name = access::get(capture, &"name".into())?;
        if !name.is_null() {
            object.insert(object_key(&name)?, access::get(capture, &"string".into())?);
        }
    }
    Ok(object.into())
}

pub(super) fn split(input: &Val, regex: &Val, flags: &Val) -> Result<Val, Val> {
    let matches = find(input, regex, flags)?;
    let text = input.text().unwrap_or_default();
    let mut parts = Vec::with_capacity(matches.len() + 1);
    let mut end = 0;
    for found in matches {
        parts.push(Val::from(text.get(end..found.start).unwrap_or_default()));
        end = found.end;
    }
    parts.push(text.get(end..).unwrap_or_default().into());
    Ok(parts.into())
}
