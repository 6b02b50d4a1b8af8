//! Tables: CSV as of RFC 4180, and TSV with the escapes of `@tsv`.

use std::rc::Rc;

use jq_engine::{Object, Val, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Cells may be quoted.
    Commas,
    /// `\t`, `\n`, `\r` and `\\` are escapes.
    Tabs,
}

/// Parses a table whose first row has the names of the columns: an array of objects of texts.
///
/// # Errors
/// A quote is not closed, two columns have one name, or a row has more or fewer cells than the first.
pub(crate) fn parse(text: &str, dialect: Dialect) -> Result<Val, String> {
    let rows = match dialect {
        Dialect::Commas => quoted_rows(text)?,
        Dialect::Tabs => text
            .lines()
            .map(|line| line.split('\t').map(unescape).collect())
            .collect(),
    };
    let mut rows = rows.into_iter();
    let names: Vec<Rc<str>> = rows
        .next()
        .unwrap_or_default()
        .into_iter()
        .map(Rc::from)
        .collect();
    for (at, name) in names.iter().enumerate() {
        if names.iter().take(at).any(|other| other == name) {
            return Err(format!("two columns have the name `{name}`"));
        }
    }
    let mut objects = Vec::new();
    for (at, row) in rows.enumerate() {
        if row.len() != names.len() {
            let (cells, columns) = (row.len(), names.len());
            return Err(format!(
                "row {} has {cells} cells, and the first has {columns}",
                at + 2
            ));
        }
        let members = names
            .iter()
            .map(Rc::clone)
            .zip(row.into_iter().map(Val::from));
        objects.push(Val::from(members.collect::<Object>()));
    }
    Ok(objects.into())
}

fn quoted_rows(text: &str) -> Result<Vec<Vec<String>>, String> {
    let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut chars = text.chars().peekable();
    let mut is_quoted = false;
    while let Some(char) = chars.next() {
        match char {
            '"' if cell.is_empty() && !is_quoted => {
                is_quoted = true;
                loop {
                    match chars.next() {
                        Some('"') if chars.next_if_eq(&'"').is_some() => cell.push('"'),
                        Some('"') => break,
                        Some(char) => cell.push(char),
                        None => {
                            return Err(format!("a quote of row {} is not closed", rows.len() + 1));
                        }
                    }
                }
            }
            ',' => {
                row.push(std::mem::take(&mut cell));
                is_quoted = false;
            }
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
                is_quoted = false;
            }
            char => cell.push(char),
        }
    }
    if !cell.is_empty() || !row.is_empty() || is_quoted {
        row.push(cell);
        rows.push(row);
    }
    // An empty line is no row, unless the table has one column.
    let columns = rows.first().map_or(0, Vec::len);
    rows.retain(|row| {
        columns == 1 || row.len() > 1 || row.first().is_some_and(|cell| !cell.is_empty())
    });
    Ok(rows)
}

fn unescape(cell: &str) -> String {
    let mut text = String::with_capacity(cell.len());
    let mut chars = cell.chars();
    while let Some(char) = chars.next() {
        match (char, char == '\\') {
            (_, true) => match chars.next() {
                Some('t') => text.push('\t'),
                Some('n') => text.push('\n'),
                Some('r') => text.push('\r'),
                Some('\\') => text.push('\\'),
                other => {
                    text.push('\\');
                    text.extend(other);
                }
            },
            (char, false) => text.push(char),
        }
    }
    text
}

/// Prints rows: objects with a first row of their keys, or arrays. A result may be an array of rows.
///
/// # Errors
/// A row is no object and no array, a cell is one, or objects and arrays are mixed.
pub(crate) fn print(results: &[Val], dialect: Dialect) -> Result<String, String> {
    let is_row = |value: &Val| matches!(value, Val::Obj(_) | Val::Arr(_));
    let mut rows: Vec<&Val> = Vec::new();
    for result in results {
        match result {
            Val::Arr(items) if !items.is_empty() && items.iter().all(is_row) => {
                rows.extend(items.iter())
            }
            other => rows.push(other),
        }
    }
    let mut names: Vec<&Rc<str>> = Vec::new();
    for row in &rows {
        if let Val::Obj(object) = row {
            for (name, _) in object.iter() {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
    }
    let mut out = String::new();
    if !names.is_empty() {
        let header: Vec<String> = names.iter().map(|name| text(name, dialect)).collect();
        line(&header, dialect, &mut out);
    }
    for (at, row) in rows.iter().enumerate() {
        let fail = |reason: &str| format!("result {}: {reason}", at + 1);
        let cells = match row {
            Val::Obj(object) => names
                .iter()
                .map(|name| object.get(name).cloned().unwrap_or_default())
                .collect(),
            Val::Arr(items) if names.is_empty() => items.to_vec(),
            Val::Arr(_) => return Err(fail("an array among objects is no row of the same table")),
            _ => return Err(fail("a row is an object or an array")),
        };
        let cells = cells
            .iter()
            .map(|value| cell(value, dialect))
            .collect::<Result<Vec<_>, _>>();
        line(&cells.map_err(|reason| fail(&reason))?, dialect, &mut out);
    }
    Ok(out)
}

fn line(cells: &[String], dialect: Dialect, out: &mut String) {
    let separator = if dialect == Dialect::Commas {
        ","
    } else {
        "\t"
    };
    out.push_str(&cells.join(separator));
    out.push('\n');
}

fn cell(value: &Val, dialect: Dialect) -> Result<String, String> {
    match value {
        Val::Null => Ok(String::new()),
        Val::Str(value) => Ok(text(value, dialect)),
        Val::Arr(_) | Val::Obj(_) => {
            Err("a cell cannot hold an array or object; use tojson".to_owned())
        }
        other => Ok(json::print(other)),
    }
}

fn text(value: &str, dialect: Dialect) -> String {
    match dialect {
        Dialect::Commas if value.contains([',', '"', '\n', '\r']) || value.is_empty() => {
            format!("\"{}\"", value.replace('"', "\"\""))
        }
        Dialect::Commas => value.to_owned(),
        Dialect::Tabs => value
            .replace('\\', "\\\\")
            .replace('\t', "\\t")
            .replace('\n', "\\n")
            .replace('\r', "\\r"),
    }
}
