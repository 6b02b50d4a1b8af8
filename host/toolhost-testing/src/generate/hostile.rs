//! Texts that try to leave the workdir, to break a parser, or to control a terminal.

use serde_json::Value;
use toolhost_contract::JsonObject;
use toolhost_contract::json_pointer;

use super::change::Change;
use crate::case_dir::{HOSTILE_LINK, SECRET_PATH};

/// Most texts of the arguments that are replaced.
const REPLACED_MAX: usize = 3;

/// A long text, in bytes: longer than any path may be, within the limit of a call's arguments.
const LONG: usize = 64 << 10;

/// Hostile texts, whatever the workdir holds.
const FIXED: [&str; 20] = [
    "../../etc/passwd",
    "/etc/passwd",
    "/../../../../../../etc/shadow",
    "file:///etc/passwd",
    "..\\..\\windows\\system32",
    "a/../../../tmp/escaped",
    "\0",
    "a\0b",
    "\u{1}\u{7}\u{8}\u{1b}[2J\u{1b}]0;x\u{7}\u{7f}",
    "\u{202e}txt.exe\u{2066}",
    "\r\nX-Injected: 1\r\n\r\n",
    "$(touch ../beside/escaped); `id` | cat /etc/passwd",
    "--help",
    "%2e%2e%2f%00",
    "{{7*7}}${7*7}%s%n",
    "'; DROP TABLE x; --",
    "http://169.254.169.254/latest/meta-data/",
    "",
    " ",
    "\u{feff}\u{10ffff}\u{fffe}",
];

/// Returns all texts: first those that name the secret beside the workdir.
fn texts() -> Vec<String> {
    let texts = [
        SECRET_PATH.to_owned(),
        format!("/{SECRET_PATH}"),
        format!("{HOSTILE_LINK}/canary.txt"),
        format!("{HOSTILE_LINK}/new.txt"),
        "x".repeat(LONG),
        "../".repeat(LONG / 3),
        "[".repeat(LONG),
    ];
    texts.into_iter().chain(FIXED.map(str::to_owned)).collect()
}

/// Returns changes that replace one text of the arguments by a hostile one.
pub(super) fn changes(base: &JsonObject) -> impl Iterator<Item = Change> {
    let mut pointers = Vec::new();
    for (name, member) in base {
        let pointer = format!("/{}", json_pointer::escape(name));
        find_texts(member, pointer, &mut pointers);
    }
    texts().into_iter().flat_map(move |text| {
        let replace = |pointer: &String| Change::replace(pointer, text.as_str().into());
        pointers.iter().map(replace).collect::<Vec<_>>()
    })
}

/// Collects the JSON pointers of the first texts; of a list only of its first item.
fn find_texts(value: &Value, pointer: String, pointers: &mut Vec<String>) {
    if pointers.len() >= REPLACED_MAX {
        return;
    }
    match value {
        Value::String(_) => pointers.push(pointer),
        Value::Array(items) => {
            if let Some(first) = items.first() {
                find_texts(first, format!("{pointer}/0"), pointers);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let name = json_pointer::escape(name);
                find_texts(member, format!("{pointer}/{name}"), pointers);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => (),
    }
}
