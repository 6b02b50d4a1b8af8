//! Names of definitions: CamelCase, unique in a catalog.

use std::collections::HashMap;

use toolhost_contract::json_pointer;

/// Longest part of a name, in bytes.
const PART_MAX_BYTES: usize = 48;

/// The names that definitions have, and the number of the last one that is equal but for its number.
#[derive(Default)]
pub(super) struct Names(HashMap<String, usize>);

impl Names {
    /// Returns a name for a definition: `FileSystemReadNode`. `root`: what a reference to the whole schema is called.
    pub(super) fn next(&mut self, tool: &str, root: &str, reference: &str) -> String {
        let last = reference.rsplit(['/', '#']).next().unwrap_or_default();
        let part = camel_case(&json_pointer::unescape(last));
        let part = match part.as_str() {
            _ if reference == "#" => root,
            "" => "Type",
            part => part,
        };
        let base = format!("{}{part}", prefix(tool));
        let mut number = *self.0.get(&base).unwrap_or(&0);
        loop {
            number += 1;
            let name = if number == 1 {
                base.clone()
            } else {
                format!("{base}{number}")
            };
            if number == 1 || !self.0.contains_key(&name) {
                self.0.insert(base, number);
                self.0.entry(name.clone()).or_insert(1);
                return name;
            }
        }
    }
}

/// Returns what the names of a tool's definitions begin with.
fn prefix(tool: &str) -> String {
    let name = camel_case(tool);
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        format!("T{name}")
    } else {
        name
    }
}

/// Returns the letters and digits of a text as a CamelCase name, in bounds.
fn camel_case(text: &str) -> String {
    let mut name = String::new();
    let mut is_start = true;
    for c in text.chars() {
        if !c.is_ascii_alphanumeric() {
            is_start = true;
            continue;
        }
        if name.len() == PART_MAX_BYTES {
            break;
        }
        name.push(if std::mem::take(&mut is_start) {
            c.to_ascii_uppercase()
        } else {
            c
        });
    }
    name
}
