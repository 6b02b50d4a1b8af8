//! Prints values.

use crate::number;
use crate::value::Val;

/// Deeper values are not printed.
const MAX_DEPTH: usize = 10_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Indent {
    #[default]
    None,
    Spaces(usize),
    Tab,
}

/// How values are printed.
#[derive(Clone, Debug, Default)]
pub struct Style {
    pub indent: Indent,
    pub sort_keys: bool,
    /// Other characters are escaped.
    pub ascii: bool,
    /// Escape sequences for null, false, true, numbers, texts, arrays, objects and keys.
    pub colors: Option<Box<Colors>>,
}

pub(crate) type Colors = [String; 8];

const RESET: &str = "\x1b[0m";

/// Returns a value on one line.
#[must_use]
pub fn print(value: &Val) -> String {
    let mut out = String::new();
    write(value, &Style::default(), &mut out);
    out
}

/// Appends a value.
pub fn write(value: &Val, style: &Style, out: &mut String) {
    write_at(value, style, 0, out);
}

fn write_at(value: &Val, style: &Style, depth: usize, out: &mut String) {
    let color = style.colors.as_deref().and_then(|colors| {
        let place = match value {
            Val::Null => 0,
            Val::Bool(false) => 1,
            Val::Bool(true) => 2,
            Val::Num(_) | Val::Lit(_) => 3,
            Val::Str(_) => 4,
            Val::Arr(_) => 5,
            Val::Obj(_) => 6,
        };
        colors.get(place)
    });
    let color = color.map_or("", String::as_str);
    out.push_str(color);
    if depth > MAX_DEPTH {
        out.push_str("<skipped: too deep>");
    } else {
        match value {
            Val::Null => out.push_str("null"),
            Val::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Val::Num(value) => out.push_str(&number::print(*value)),
            Val::Lit(literal) => out.push_str(literal.text()),
            Val::Str(text) => write_text(text, style.ascii, out),
            Val::Arr(items) => write_array(items, style, depth, color, out),
            Val::Obj(_) => write_object(value, style, depth, color, out),
        }
    }
    if !color.is_empty() {
        out.push_str(RESET);
    }
}

fn write_array(items: &[Val], style: &Style, depth: usize, color: &str, out: &mut String) {
    if items.is_empty() {
        return out.push_str("[]");
    }
    out.push('[');
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        new_line(style, depth + 1, out);
        write_at(item, style, depth + 1, out);
        out.push_str(color);
    }
    new_line(style, depth, out);
    out.push_str(color);
    out.push(']');
}

fn write_object(value: &Val, style: &Style, depth: usize, color: &str, out: &mut String) {
    let Val::Obj(object) = value else {
        return;
    };
    if object.is_empty() {
        return out.push_str("{}");
    }
    let reset = if color.is_empty() { "" } else { RESET };
    let key_color = style.colors.as_deref().and_then(|colors| colors.last());
    let mut member = |at: usize, key: &str, value: &Val| {
        if at > 0 {
            out.push(',');
        } else {
            out.push('{');
        }
        new_line(style, depth + 1, out);
        out.push_str(reset);
        out.push_str(key_color.map_or("", String::as_str));
        write_text(key, style.ascii, out);
        out.push_str(reset);
        out.push_str(color);
        out.push(':');
        if style.indent != Indent::None {
            out.push(' ');
        }
        out.push_str(reset);
        write_at(value, style, depth + 1, out);
        out.push_str(color);
    };
    if style.sort_keys {
        let members = object.sorted();
        members
            .iter()
            .enumerate()
            .for_each(|(at, (key, value))| member(at, key, value));
    } else {
        object
            .iter()
            .enumerate()
            .for_each(|(at, (key, value))| member(at, key, value));
    }
    new_line(style, depth, out);
    out.push_str(color);
    out.push('}');
}

fn new_line(style: &Style, depth: usize, out: &mut String) {
    let (unit, count) = match style.indent {
        Indent::None => return,
        Indent::Spaces(count) => (' ', count),
        Indent::Tab => ('\t', 1),
    };
    out.push('\n');
    out.extend(std::iter::repeat_n(unit, depth * count));
}

fn write_text(text: &str, ascii: bool, out: &mut String) {
    out.push('"');
    let mut rest = text;
    let is_special = |byte: u8| {
        byte < 0x20 || byte == b'"' || byte == b'\\' || byte == 0x7f || (ascii && byte > 0x7f)
    };
    while let Some(at) = rest.bytes().position(is_special) {
        let (plain, special) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(plain);
        let mut chars = special.chars();
        match chars.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\u{8}') => out.push_str("\\b"),
            Some('\t') => out.push_str("\\t"),
            Some('\r') => out.push_str("\\r"),
            Some('\n') => out.push_str("\\n"),
            Some('\u{c}') => out.push_str("\\f"),
            Some(char) => {
                let mut units = [0; 2];
                for unit in char.encode_utf16(&mut units) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

/// The first bytes of a value, for messages: at most `most`, with dots where it is cut.
pub(crate) fn excerpt(value: &Val, most: usize) -> String {
    let text = print(value);
    if text.len() <= most {
        return text;
    }
    let cut = text
        .as_bytes()
        .get(..most.saturating_sub(3))
        .unwrap_or_default();
    format!("{}...", String::from_utf8_lossy(cut))
}
