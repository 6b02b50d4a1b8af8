//! YAML 1.2 with its core schema.

use std::collections::HashMap;
use std::rc::Rc;

use granit_parser::{Event, Parser, ScalarStyle, Tag};
use jq_engine::{Object, Val, json, parse_number};

/// The deepest nesting.
const MAX_DEPTH: usize = json::MAX_DEPTH;

/// A collection whose end has not been read.
enum Open {
    Sequence(Vec<Val>, usize),
    Mapping {
        object: Object,
        key: Option<Rc<str>>,
        merged: Vec<Val>,
        anchor: usize,
    },
}

/// Parses the documents of a stream.
///
/// # Errors
/// The text is not YAML, or has what JSON cannot say: keys that are collections, and tags of applications.
pub(crate) fn parse(text: &str) -> Result<Vec<Val>, String> {
    let mut documents = Vec::new();
    let mut anchors: HashMap<usize, Val> = HashMap::new();
    let mut stack: Vec<Open> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| {
            let mark = error.marker();
            format!(
                "{} at line {}, column {}",
                error.info(),
                mark.line(),
                mark.col() + 1
            )
        })?;
        let fail = |reason: String| {
            format!(
                "{reason} at line {}, column {}",
                span.start.line(),
                span.start.col() + 1
            )
        };
        let value = match event {
            Event::Scalar(text, style, anchor, tag) => {
                if let Some(Open::Mapping {
                    key: key @ None, ..
                }) = stack.last_mut()
                {
                    *key = Some(Rc::from(&*text));
                    continue;
                }
                let value = scalar(&text, style, tag.as_deref()).map_err(fail)?;
                if anchor > 0 {
                    anchors.insert(anchor, value.clone());
                }
                value
            }
            Event::Alias(anchor) => {
                let value = anchors
                    .get(&anchor)
                    .cloned()
                    .ok_or_else(|| fail("an alias within itself".to_owned()))?;
                if let Some(Open::Mapping {
                    key: key @ None, ..
                }) = stack.last_mut()
                {
                    let Val::Str(text) = value else {
                        return Err(fail("a key is not a text".to_owned()));
                    };
                    *key = Some(text);
                    continue;
                }
                value
            }
            Event::SequenceStart(_, anchor, tag) => {
                open(&stack, tag.as_deref()).map_err(fail)?;
                stack.push(Open::Sequence(Vec::new(), anchor));
                continue;
            }
            Event::MappingStart(_, anchor, tag) => {
                open(&stack, tag.as_deref()).map_err(fail)?;
                stack.push(Open::Mapping {
                    object: Object::new(),
                    key: None,
                    merged: Vec::new(),
                    anchor,
                });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                close(&mut stack, &mut anchors).map_err(fail)?
            }
            _ => continue,
        };
        add(&mut stack, &mut documents, value).map_err(fail)?;
    }
    Ok(documents)
}

/// Whether a collection may begin here.
fn open(stack: &[Open], tag: Option<&Tag>) -> Result<(), String> {
    if tag.is_some_and(|tag| !matches!(tag.core_suffix(), Some("seq" | "map" | "omap" | "set"))) {
        return Err(unknown(tag));
    }
    if matches!(stack.last(), Some(Open::Mapping { key: None, .. })) {
        return Err("a key is a collection, which JSON cannot say".to_owned());
    }
    if stack.len() >= MAX_DEPTH {
        return Err(format!("nested more than {MAX_DEPTH} deep"));
    }
    Ok(())
}

fn close(stack: &mut Vec<Open>, anchors: &mut HashMap<usize, Val>) -> Result<Val, String> {
    let (value, anchor) = match stack.pop() {
        Some(Open::Sequence(items, anchor)) => (Val::from(items), anchor),
        Some(Open::Mapping {
            object,
            merged,
            anchor,
            ..
        }) => (merge(object, merged)?, anchor),
        None => return Err("an end without a start".to_owned()),
    };
    if anchor > 0 {
        anchors.insert(anchor, value.clone());
    }
    Ok(value)
}

/// Adds the members of `<<` that the object does not have itself.
fn merge(object: Object, merged: Vec<Val>) -> Result<Val, String> {
    if merged.is_empty() {
        return Ok(object.into());
    }
    let mut all = Object::new();
    // Earlier ones come before later ones.
    for value in merged.iter().rev() {
        let Val::Obj(members) = value else {
            return Err("`<<` takes a mapping or a sequence of mappings".to_owned());
        };
        members
            .iter()
            .for_each(|(key, value)| all.insert(Rc::clone(key), value.clone()));
    }
    object
        .iter()
        .for_each(|(key, value)| all.insert(Rc::clone(key), value.clone()));
    Ok(all.into())
}

fn add(stack: &mut [Open], documents: &mut Vec<Val>, value: Val) -> Result<(), String> {
    match stack.last_mut() {
        None => documents.push(value),
        Some(Open::Sequence(items, _)) => items.push(value),
        Some(Open::Mapping {
            object,
            key,
            merged,
            ..
        }) => {
            let key = key.take().unwrap_or_default();
            if &*key == "<<" {
                match value {
                    Val::Arr(values) => merged.extend(values.iter().cloned()),
                    value => merged.push(value),
                }
            } else if object.get(&key).is_some() {
                return Err(format!("the key `{key}` is there twice"));
            } else {
                object.insert(key, value);
            }
        }
    }
    Ok(())
}

fn unknown(tag: Option<&Tag>) -> String {
    let name = tag
        .map(|tag| format!("{}{}", tag.original_handle(), tag.suffix()))
        .unwrap_or_default();
    format!("the tag `{name}` has no meaning in JSON")
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Val, String> {
    let is_plain = style == ScalarStyle::Plain;
    match tag.map(|tag| (tag, tag.core_suffix())) {
        None if is_plain => Ok(plain(text)),
        None => Ok(text.into()),
        Some((_, Some("str" | "binary" | "timestamp"))) => Ok(text.into()),
        Some((tag, Some("int" | "float" | "bool" | "null"))) => match plain(text) {
            Val::Str(_) => Err(format!("`{text}` is no {}", tag.suffix())),
            value => Ok(value),
        },
        // `!` alone: no tag is resolved.
        Some((tag, _)) if tag.suffix().is_empty() || tag.original_handle().is_empty() => {
            Ok(text.into())
        }
        Some((tag, _)) => Err(unknown(Some(tag))),
    }
}

/// A scalar without quotes, by the core schema.
fn plain(text: &str) -> Val {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Val::Null,
        "true" | "True" | "TRUE" => return Val::Bool(true),
        "false" | "False" | "FALSE" => return Val::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return Val::Num(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Val::Num(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Val::Num(f64::NEG_INFINITY),
        _ => {}
    }
    let radix = |digits: &str, radix| {
        u64::from_str_radix(digits, radix)
            .ok()
            .and_then(|number| parse_number(&number.to_string()))
    };
    let number = if let Some(digits) = text.strip_prefix("0x") {
        radix(digits, 16)
    } else if let Some(digits) = text.strip_prefix("0o") {
        radix(digits, 8)
    } else {
        let digits = text.trim_start_matches(['-', '+']);
        let is_number = digits.starts_with(|char: char| char.is_ascii_digit() || char == '.')
            && digits.contains(|char: char| char.is_ascii_digit())
            && text.len() - digits.len() <= 1;
        is_number.then(|| parse_number(text)).flatten()
    };
    number.unwrap_or_else(|| text.into())
}

/// Prints results as documents.
pub(crate) fn print(results: &[Val]) -> String {
    let mut out = String::new();
    for (at, result) in results.iter().enumerate() {
        if at > 0 {
            out.push_str("---\n");
        }
        block(result, 0, &mut out);
    }
    out
}

/// Prints a value that begins a line.
fn block(value: &Val, indent: usize, out: &mut String) {
    match value {
        Val::Arr(items) if !items.is_empty() => {
            for item in items.iter() {
                out.extend(std::iter::repeat_n(' ', indent));
                out.push('-');
                after(item, indent, true, out);
            }
        }
        Val::Obj(object) if !object.is_empty() => {
            for (key, value) in object.iter() {
                out.extend(std::iter::repeat_n(' ', indent));
                out.push_str(&text(key));
                out.push(':');
                after(value, indent, false, out);
            }
        }
        other => {
            out.push_str(&flow(other));
            out.push('\n');
        }
    }
}

/// Prints a value after `-` or a key.
fn after(value: &Val, indent: usize, in_sequence: bool, out: &mut String) {
    let is_open = match value {
        Val::Arr(items) => !items.is_empty(),
        Val::Obj(object) => !object.is_empty(),
        _ => false,
    };
    if !is_open {
        out.push(' ');
        out.push_str(&flow(value));
        out.push('\n');
        return;
    }
    if in_sequence {
        // The first line of the item follows the hyphen.
        let mut inner = String::new();
        block(value, indent + 2, &mut inner);
        out.push(' ');
        out.push_str(inner.trim_start_matches(' '));
        return;
    }
    out.push('\n');
    block(value, indent + 2, out);
}

/// Numbers, texts, and empty collections.
fn flow(value: &Val) -> String {
    match value {
        Val::Str(value) => text(value),
        Val::Num(number) if number.is_nan() => ".nan".to_owned(),
        Val::Num(number) if number.is_infinite() => {
            if *number > 0.0 { ".inf" } else { "-.inf" }.to_owned()
        }
        other => json::print(other),
    }
}

/// A text without quotes where it cannot be taken for anything else; else as JSON writes it.
fn text(value: &str) -> String {
    let is_word = |char: char| char.is_alphanumeric() || "_./+ ()@%*!?;-".contains(char);
    let starts = value.starts_with(|char: char| char.is_alphabetic() || char == '_' || char == '/');
    // Words of YAML 1.1 too.
    let is_reserved = ["y", "n", "yes", "no", "on", "off"]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word));
    if starts
        && value.chars().all(is_word)
        && !value.ends_with(' ')
        && !is_reserved
        && matches!(plain(value), Val::Str(_))
    {
        return value.to_owned();
    }
    json::print(&value.into())
}
