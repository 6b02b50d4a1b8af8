//! Reads commands of processes, and their environment.

use crate::reader::{Cursor, Findings};
use toolhost_contract::text::short;

/// Maximum number of items of a list.
const ENTRIES_MAX: usize = 500;

/// Reads a program and its arguments.
pub(crate) fn read_command(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<String>> {
    let command = read_texts(at, findings)?;
    match command.first() {
        None => at.refuse(
            "'command' is empty: its first item is the program",
            findings,
        ),
        Some(program) if program.is_empty() => at.refuse("the program is empty", findings),
        Some(_) => Some(command),
    }
}

/// Reads a list of strings without NUL characters.
pub(crate) fn read_texts(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<String>> {
    let items = at.items_up_to(ENTRIES_MAX, findings)?;
    let mut texts = Vec::new();
    for item in &items {
        match item.text(findings) {
            Some(text) if text.contains('\0') => {
                findings.invalid(item, "it contains a NUL character");
            }
            Some(text) => texts.push(text.to_owned()),
            None => {}
        }
    }
    (texts.len() == items.len()).then_some(texts)
}

/// Reads environment variables with plain values, sorted by name.
pub(crate) fn read_variables(
    at: &Cursor<'_>,
    findings: &mut Findings,
) -> Option<Vec<(String, String)>> {
    let mut variables = Vec::new();
    let mut is_valid = true;
    for (name, at_key, value) in at.entries(findings)? {
        if !is_variable_name(name) {
            let message = format!(
                "'{}' cannot be the name of an environment variable",
                short(name)
            );
            findings.invalid(&at_key, message);
            is_valid = false;
        }
        match value.text(findings) {
            Some(text) if !text.contains('\0') => {
                variables.push((name.to_owned(), text.to_owned()))
            }
            Some(_) => {
                findings.invalid(&value, "it contains a NUL character");
                is_valid = false;
            }
            None => is_valid = false,
        }
    }
    variables.sort();
    is_valid.then_some(variables)
}

/// Whether a text can be the name of an environment variable.
pub(crate) fn is_variable_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}
