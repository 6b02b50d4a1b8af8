//! TOML 1.0.

use std::rc::Rc;

use jq_engine::{Object, Val, json, parse_number};

/// The deepest nesting.
const MAX_DEPTH: usize = 100;

/// Parses a document. Dates and times are texts.
///
/// # Errors
/// The text is not TOML; the message has the line.
pub(crate) fn parse(text: &str) -> Result<Val, String> {
    let mut parser = Parser { text, at: 0 };
    parser.document().map_err(|reason| {
        let line = text.get(..parser.at).unwrap_or(text).matches('\n').count() + 1;
        format!("{reason} at line {line}")
    })
}

/// A table of the document while it is read.
#[derive(Default)]
struct Table {
    entries: Vec<(Rc<str>, Entry)>,
    /// A header or a value has defined it; another may not.
    defined: bool,
}

enum Entry {
    Value(Val),
    Table(Table),
    Tables(Vec<Table>),
}

impl Table {
    fn entry(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries
            .iter_mut()
            .find(|(known, _)| &**known == key)
            .map(|(_, entry)| entry)
    }

    /// The table at a key; it is made if it is missing.
    fn child(&mut self, key: &Rc<str>) -> Result<&mut Self, String> {
        if self.entry(key).is_none() {
            self.entries
                .push((Rc::clone(key), Entry::Table(Self::default())));
        }
        match self.entry(key) {
            Some(Entry::Table(table)) => Ok(table),
            Some(Entry::Tables(tables)) => tables
                .last_mut()
                .ok_or_else(|| format!("`{key}` is no table")),
            _ => Err(format!("`{key}` is no table")),
        }
    }

    fn set(&mut self, key: &Rc<str>, value: Val) -> Result<(), String> {
        if self.entry(key).is_some() {
            return Err(format!("the key `{key}` is there twice"));
        }
        self.entries.push((Rc::clone(key), Entry::Value(value)));
        Ok(())
    }

    fn value(self) -> Val {
        let member = |(key, entry): (Rc<str>, Entry)| {
            let value = match entry {
                Entry::Value(value) => value,
                Entry::Table(table) => table.value(),
                Entry::Tables(tables) => tables
                    .into_iter()
                    .map(Self::value)
                    .collect::<Vec<_>>()
                    .into(),
            };
            (key, value)
        };
        self.entries
            .into_iter()
            .map(member)
            .collect::<Object>()
            .into()
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn skip(&mut self, chars: &[char]) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(chars).len();
    }

    fn skip_blank(&mut self) {
        self.skip(&[' ', '\t']);
    }

    /// Skips white space, line ends and comments.
    fn skip_lines(&mut self) {
        loop {
            self.skip(&[' ', '\t', '\n', '\r']);
            if !self.rest().starts_with('#') {
                return;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    fn end_of_line(&mut self) -> Result<(), String> {
        self.skip_blank();
        let rest = self.rest();
        if rest.is_empty() || rest.starts_with(['#', '\n']) || rest.starts_with("\r\n") {
            return Ok(());
        }
        Err("expected the end of the line".to_owned())
    }

    fn document(&mut self) -> Result<Val, String> {
        let mut root = Table::default();
        let mut header: Vec<Rc<str>> = Vec::new();
        loop {
            self.skip_lines();
            if self.rest().is_empty() {
                return Ok(root.value());
            }
            if self.take("[[") {
                header = self.key()?;
                self.skip_blank();
                if !self.take("]]") {
                    return Err("expected `]]`".to_owned());
                }
                add_table(&mut root, &header)?;
            } else if self.take("[") {
                header = self.key()?;
                self.skip_blank();
                if !self.take("]") {
                    return Err("expected `]`".to_owned());
                }
                let table = find(&mut root, &header)?;
                if std::mem::replace(&mut table.defined, true) {
                    return Err(format!("the table `{}` is there twice", header.join(".")));
                }
            } else {
                let (key, value) = self.pair(0)?;
                let table = find(&mut root, &header)?;
                let (last, path) = key.split_last().ok_or("expected a key")?;
                find(table, path)?.set(last, value)?;
            }
            self.end_of_line()?;
        }
    }

    fn pair(&mut self, depth: usize) -> Result<(Vec<Rc<str>>, Val), String> {
        let key = self.key()?;
        self.skip_blank();
        if !self.take("=") {
            return Err("expected `=`".to_owned());
        }
        self.skip_blank();
        Ok((key, self.value(depth)?))
    }

    /// A key with its dots.
    fn key(&mut self) -> Result<Vec<Rc<str>>, String> {
        let mut parts = Vec::new();
        loop {
            self.skip_blank();
            let rest = self.rest();
            let part: Rc<str> = if rest.starts_with('"') || rest.starts_with('\'') {
                self.string()?.into()
            } else {
                let is_bare =
                    |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
                let len = rest.find(|char| !is_bare(char)).unwrap_or(rest.len());
                if len == 0 {
                    return Err("expected a key".to_owned());
                }
                self.at += len;
                rest.get(..len).unwrap_or_default().into()
            };
            parts.push(part);
            self.skip_blank();
            if !self.take(".") {
                return Ok(parts);
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<Val, String> {
        if depth > MAX_DEPTH {
            return Err(format!("nested more than {MAX_DEPTH} deep"));
        }
        let rest = self.rest();
        if rest.starts_with(['"', '\'']) {
            return self.string().map(Val::from);
        }
        if self.take("[") {
            return self.array(depth);
        }
        if self.take("{") {
            return self.inline(depth);
        }
        let len = rest
            .find([',', ']', '}', '#', '\n', '\r'])
            .unwrap_or(rest.len());
        let token = rest.get(..len).unwrap_or_default().trim_end();
        self.at += token.len();
        scalar(token).ok_or_else(|| format!("`{token}` is no value"))
    }

    fn array(&mut self, depth: usize) -> Result<Val, String> {
        let mut items = Vec::new();
        loop {
            self.skip_lines();
            if self.take("]") {
                return Ok(items.into());
            }
            items.push(self.value(depth + 1)?);
            self.skip_lines();
            if !self.take(",") {
                if !self.take("]") {
                    return Err("expected `,` or `]`".to_owned());
                }
                return Ok(items.into());
            }
        }
    }

    fn inline(&mut self, depth: usize) -> Result<Val, String> {
        let mut table = Table::default();
        self.skip_blank();
        if self.take("}") {
            return Ok(table.value());
        }
        loop {
            let (key, value) = self.pair(depth + 1)?;
            let (last, path) = key.split_last().ok_or("expected a key")?;
            find(&mut table, path)?.set(last, value)?;
            self.skip_blank();
            if self.take("}") {
                return Ok(table.value());
            }
            if !self.take(",") {
                return Err("expected `,` or `}`".to_owned());
            }
        }
    }

    fn string(&mut self) -> Result<String, String> {
        for (quote, escapes, lines) in [
            ("\"\"\"", true, true),
            ("'''", false, true),
            ("\"", true, false),
            ("'", false, false),
        ] {
            if self.take(quote) {
                return self.quoted(quote, escapes, lines);
            }
        }
        Err("expected a text".to_owned())
    }

    fn quoted(&mut self, quote: &str, escapes: bool, lines: bool) -> Result<String, String> {
        let mut text = String::new();
        if lines && !self.take("\n") {
            self.take("\r\n");
        }
        loop {
            let rest = self.rest();
            if let Some(after) = rest.strip_prefix(quote) {
                // Up to two quotes may come before those at the end.
                let mark = quote.get(..1).unwrap_or_default();
                if lines && after.starts_with(mark) {
                    text.push_str(mark);
                    self.at += 1;
                    continue;
                }
                self.at += quote.len();
                return Ok(text);
            }
            let char = rest.chars().next().ok_or("a text is not closed")?;
            self.at += char.len_utf8();
            match char {
                '\n' if !lines => return Err("a text is not closed".to_owned()),
                '\\' if escapes => self.escape(lines, &mut text)?,
                char => text.push(char),
            }
        }
    }

    fn escape(&mut self, lines: bool, text: &mut String) -> Result<(), String> {
        let char = self.rest().chars().next().ok_or("a text is not closed")?;
        self.at += char.len_utf8();
        let digits = match char {
            'b' => return Ok(text.push('\u{8}')),
            't' => return Ok(text.push('\t')),
            'n' => return Ok(text.push('\n')),
            'f' => return Ok(text.push('\u{c}')),
            'r' => return Ok(text.push('\r')),
            'e' => return Ok(text.push('\u{1b}')),
            '"' | '\\' => return Ok(text.push(char)),
            ' ' | '\t' | '\n' | '\r' if lines => return Ok(self.skip(&[' ', '\t', '\n', '\r'])),
            'u' => 4,
            'U' => 8,
            _ => return Err(format!("`\\{char}` is no escape")),
        };
        let code = self
            .rest()
            .get(..digits)
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        text.push(
            code.and_then(char::from_u32)
                .ok_or("an escape is no character")?,
        );
        self.at += digits;
        Ok(())
    }
}

fn find<'t>(table: &'t mut Table, path: &[Rc<str>]) -> Result<&'t mut Table, String> {
    path.iter().try_fold(table, |table, key| table.child(key))
}

/// `[[header]]`
fn add_table(root: &mut Table, header: &[Rc<str>]) -> Result<(), String> {
    let (last, path) = header.split_last().ok_or("expected a key")?;
    let table = find(root, path)?;
    match table.entry(last) {
        Some(Entry::Tables(tables)) => tables.push(Table::default()),
        Some(_) => return Err(format!("`{last}` is no array of tables")),
        None => table
            .entries
            .push((Rc::clone(last), Entry::Tables(vec![Table::default()]))),
    }
    Ok(())
}

/// Numbers, booleans, dates and times.
fn scalar(token: &str) -> Option<Val> {
    match token {
        "true" => return Some(Val::Bool(true)),
        "false" => return Some(Val::Bool(false)),
        "inf" | "+inf" => return Some(Val::Num(f64::INFINITY)),
        "-inf" => return Some(Val::Num(f64::NEG_INFINITY)),
        "nan" | "+nan" | "-nan" => return Some(Val::Num(f64::NAN)),
        _ => {}
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = token.strip_prefix(prefix) {
            let number = u64::from_str_radix(&digits.replace('_', ""), radix).ok()?;
            return parse_number(&number.to_string());
        }
    }
    if is_date(token) {
        return Some(token.into());
    }
    let digits = token.trim_start_matches(['+', '-']);
    if !digits.starts_with(|char: char| char.is_ascii_digit()) || token.len() - digits.len() > 1 {
        return None;
    }
    parse_number(&token.replace('_', ""))
}

/// `2024-01-31`, `07:32:00` and what joins them.
fn is_date(token: &str) -> bool {
    let bytes = token.as_bytes();
    let starts = |separator: u8, at: usize| {
        bytes.get(at) == Some(&separator)
            && bytes
                .get(..at)
                .is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
    };
    let is_part = |byte: &u8| byte.is_ascii_digit() || b"-:. TtZz+".contains(byte);
    (starts(b'-', 4) || starts(b':', 2)) && bytes.iter().all(is_part)
}

/// Prints one object as a document.
///
/// # Errors
/// The value is no object, or has null, which TOML cannot say.
pub(crate) fn print(value: &Val) -> Result<String, String> {
    let Val::Obj(object) = value else {
        return Err(format!(
            "TOML is an object, and the result is of type {}",
            value.kind()
        ));
    };
    let mut out = String::new();
    table(object, &mut Vec::new(), &mut out)?;
    Ok(out)
}

fn table(object: &Object, path: &mut Vec<String>, out: &mut String) -> Result<(), String> {
    let is_tables = |value: &Val| match value {
        Val::Arr(items) => {
            !items.is_empty() && items.iter().all(|item| matches!(item, Val::Obj(_)))
        }
        _ => false,
    };
    let is_inner = |value: &Val| matches!(value, Val::Obj(_)) || is_tables(value);
    for (key, value) in object.iter().filter(|(_, value)| !is_inner(value)) {
        out.push_str(&format!("{} = {}\n", name(key), inline(value, key)?));
    }
    for (key, value) in object.iter().filter(|(_, value)| is_inner(value)) {
        path.push(name(key));
        let (tables, marks): (Vec<&Object>, _) = match value {
            Val::Obj(object) => (vec![object], ("[", "]")),
            Val::Arr(items) => {
                let tables = items.iter().filter_map(|item| match item {
                    Val::Obj(object) => Some(&**object),
                    _ => None,
                });
                (tables.collect(), ("[[", "]]"))
            }
            _ => (Vec::new(), ("", "")),
        };
        for inner in tables {
            if !out.is_empty() {
                out.push('\n');
            }
            out.push_str(&format!("{}{}{}\n", marks.0, path.join("."), marks.1));
            table(inner, path, out)?;
        }
        path.pop();
    }
    Ok(())
}

fn name(key: &str) -> String {
    let is_bare = |char: char| char.is_ascii_alphanumeric() || char == '_' || char == '-';
    if !key.is_empty() && key.chars().all(is_bare) {
        key.to_owned()
    } else {
        json::print(&key.into())
    }
}

fn inline(value: &Val, key: &str) -> Result<String, String> {
    match value {
        Val::Null => Err(format!("`{key}` is null, which TOML cannot say")),
        Val::Num(number) if number.is_nan() => Ok("nan".to_owned()),
        Val::Num(number) if number.is_infinite() => {
            Ok(if *number > 0.0 { "inf" } else { "-inf" }.to_owned())
        }
        Val::Arr(items) => {
            let items = items
                .iter()
                .map(|item| inline(item, key))
                .collect::<Result<Vec<_>, _>>()?;
            Ok(format!("[{}]", items.join(", ")))
        }
        Val::Obj(object) => {
            let members = object
                .iter()
                .map(|(key, value)| Ok(format!("{} = {}", name(key), inline(value, key)?)));
            let members = members.collect::<Result<Vec<_>, String>>()?;
            Ok(if members.is_empty() {
                "{}".to_owned()
            } else {
                format!("{{ {} }}", members.join(", "))
            })
        }
        other => Ok(json::print(other)),
    }
}
