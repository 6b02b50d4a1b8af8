//! Texts that try to leave the workdir, to break a parser, or to act on whoever shows them.

use serde_json::Value;
use toolhost_contract::JsonObject;

use super::shown;
use crate::cases::surroundings::{HOSTILE_LINK, SECRET_PATH};

/// Most places of text that are tried.
const PLACES: usize = 3;

/// A long text, in bytes: beyond every name and path, well within a call's arguments.
const LONG: usize = 64 << 10;

/// Texts that are hostile wherever they come.
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

/// The texts: first those that reach for what lies beside this workdir.
fn texts() -> Vec<String> {
    let made = [
        SECRET_PATH.to_owned(),
        format!("/{SECRET_PATH}"),
        format!("{HOSTILE_LINK}/canary.txt"),
        format!("{HOSTILE_LINK}/new.txt"),
        "x".repeat(LONG),
        "../".repeat(LONG / 3),
        "[".repeat(LONG),
    ];
    made.into_iter().chain(FIXED.map(str::to_owned)).collect()
}

/// Arguments with a hostile text in the place of one of theirs.
pub(super) fn of(base: &JsonObject) -> Vec<(String, JsonObject)> {
    let whole = Value::Object(base.clone());
    let mut places = Vec::new();
    places_of_text(&whole, String::new(), &mut places);
    places.truncate(PLACES);
    let mut all = Vec::new();
    for text in texts() {
        for pointer in &places {
            let mut args = whole.clone();
            if let Some(place) = args.pointer_mut(pointer) {
                *place = Value::from(text.as_str());
            }
            let name = shown(pointer.trim_start_matches('/'), &Value::from(text.as_str()));
            if let Value::Object(args) = args {
                all.push((name, args));
            }
        }
    }
    all
}

fn places_of_text(value: &Value, pointer: String, places: &mut Vec<String>) {
    match value {
        Value::String(_) => places.push(pointer),
        Value::Array(items) => {
            // One item stands for all.
            if let Some(first) = items.first() {
                places_of_text(first, format!("{pointer}/0"), places);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let name = name.replace('~', "~0").replace('/', "~1");
                places_of_text(member, format!("{pointer}/{name}"), places);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => (),
    }
}
