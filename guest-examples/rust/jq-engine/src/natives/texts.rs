//! Texts.

use super::arithmetic::{add, failure, split};
use super::arrays::{arg, to_text};
use super::{Native, formats, matching, native};
use crate::access;
use crate::fault::error;
use crate::value::Val;

pub(super) const TABLE: &[Native] = &[
    native("startswith", 1, |input, args| {
        both(&input, arg(args, 0), "startswith", |a, b| a.starts_with(b))
    }),
    native("endswith", 1, |input, args| {
        both(&input, arg(args, 0), "endswith", |a, b| a.ends_with(b))
    }),
    native("ltrimstr", 1, |input, args| {
        Ok(trimmed(input, arg(args, 0), true, false))
    }),
    native("rtrimstr", 1, |input, args| {
        Ok(trimmed(input, arg(args, 0), false, true))
    }),
    native("trimstr", 1, |input, args| {
        Ok(trimmed(input, arg(args, 0), true, true))
    }),
    native("trim", 0, |input, _| {
        trim(&input, |text| text.trim_matches(is_space))
    }),
    native("ltrim", 0, |input, _| {
        trim(&input, |text| text.trim_start_matches(is_space))
    }),
    native("rtrim", 0, |input, _| {
        trim(&input, |text| text.trim_end_matches(is_space))
    }),
    native("split", 1, |input, args| match (&input, arg(args, 0)) {
        (Val::Str(text), Val::Str(separator)) => Ok(split(text, separator)),
        _ => Err(error("split input and separator must be strings")),
    }),
    native("join", 1, |input, args| join(&input, arg(args, 0))),
    native("explode", 0, |input, _| match &input {
        Val::Str(text) => Ok(text
            .chars()
            .map(|char| Val::Num(f64::from(u32::from(char))))
            .collect::<Vec<_>>()
            .into()),
        _ => Err(error("explode input must be a string")),
    }),
    native("implode", 0, |input, _| implode(&input)),
    native("_indices", 1, |input, args| {
        let (text, part) = (
            input.text().unwrap_or_default(),
            arg(args, 0).text().unwrap_or_default(),
        );
        Ok(indices(text, part))
    }),
    native("ascii_downcase", 0, |input, _| match &input {
        Val::Str(text) => Ok(text.to_ascii_lowercase().into()),
        _ => Err(error("explode input must be a string")),
    }),
    native("ascii_upcase", 0, |input, _| match &input {
        Val::Str(text) => Ok(text.to_ascii_uppercase().into()),
        _ => Err(error("explode input must be a string")),
    }),
    native("utf8bytelength", 0, |input, _| match &input {
        Val::Str(text) => Ok(text.len().into()),
        other => Err(failure(other, "only strings have UTF-8 byte length")),
    }),
    native("format", 1, |input, args| {
        formats::format(input, arg(args, 0))
    }),
    native("_match", 3, |input, args| {
        let found =
            matching::find_with(&input, arg(args, 0), arg(args, 1), arg(args, 2).is_true())?;
        if arg(args, 2).is_true() {
            return Ok(Val::Bool(!found.is_empty()));
        }
        Ok(matching::objects(input.text().unwrap_or_default(), &found))
    }),
    native("_split", 2, |input, args| {
        matching::split(&input, arg(args, 0), arg(args, 1))
    }),
    native("_captures", 0, |input, _| matching::captures(&input)),
    native("_regex_args", 1, |_, args| {
        let regex = arg(args, 0);
        match regex {
            Val::Str(_) => Ok(vec![regex.clone(), Val::Null].into()),
            Val::Arr(items) if !items.is_empty() => {
                Ok(vec![arg(items, 0).clone(), arg(items, 1).clone()].into())
            }
            other => Err(error(format!("{} not a string or array", other.kind()))),
        }
    }),
];

fn is_space(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

fn both(a: &Val, b: &Val, name: &str, is_so: fn(&str, &str) -> bool) -> Result<Val, Val> {
    match (a, b) {
        (Val::Str(a), Val::Str(b)) => Ok(Val::Bool(is_so(a, b))),
        _ => Err(error(format!("{name}() requires string inputs"))),
    }
}

/// Removes a text from the ends; what is no text stays.
fn trimmed(input: Val, part: &Val, start: bool, end: bool) -> Val {
    let (Val::Str(text), Val::Str(part)) = (&input, part) else {
        return input;
    };
    let mut rest: &str = text;
    if start {
        rest = rest.strip_prefix(&**part).unwrap_or(rest);
    }
    if end {
        rest = rest.strip_suffix(&**part).unwrap_or(rest);
    }
    if rest.len() == text.len() {
        input
    } else {
        rest.into()
    }
}

fn trim(input: &Val, cut: fn(&str) -> &str) -> Result<Val, Val> {
    match input {
        Val::Str(text) => Ok(cut(text).into()),
        other => Err(failure(other, "cannot be trimmed")),
    }
}

fn join(input: &Val, separator: &Val) -> Result<Val, Val> {
    let items: Vec<&Val> = match input {
        Val::Arr(items) => items.iter().collect(),
        Val::Obj(object) => object.iter().map(|(_, value)| value).collect(),
        other => return Err(access::not_iterable(other)),
    };
    let mut text = String::new();
    for (at, item) in items.into_iter().enumerate() {
        if at > 0 {
            match separator {
                Val::Str(separator) => text.push_str(separator),
                Val::Null => {}
                // The error of the sum.
                other => return add(text.into(), other.clone()),
            }
        }
        match item {
            Val::Str(part) => text.push_str(part),
            Val::Null => {}
            Val::Bool(_) | Val::Num(_) | Val::Lit(_) => {
                text.push_str(to_text(item.clone()).text().unwrap_or_default());
            }
            Val::Arr(_) | Val::Obj(_) => return add(text.into(), item.clone()),
        }
    }
    Ok(text.into())
}

fn implode(input: &Val) -> Result<Val, Val> {
    let Val::Arr(items) = input else {
        return Err(error("implode input must be an array"));
    };
    let mut text = String::with_capacity(items.len());
    for item in items.iter() {
        let Some(code) = item.number().filter(|code| !code.is_nan()) else {
            return Err(failure(
                item,
                "can't be imploded, unicode codepoint needs to be numeric",
            ));
        };
        let char = if code < 0.0 {
            None
        } else {
            char::from_u32(code as u32)
        };
        text.push(char.unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    Ok(text.into())
}

/// Where a text begins within another, in characters. The places may overlap.
fn indices(text: &str, part: &str) -> Val {
    let mut places = Vec::new();
    if !part.is_empty() {
        for (at, (byte, _)) in text.char_indices().enumerate() {
            if text.get(byte..).is_some_and(|rest| rest.starts_with(part)) {
                places.push(Val::from(at));
            }
        }
    }
    places.into()
}
