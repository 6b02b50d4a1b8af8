//! JSON for comments, in bounds.

use serde_json::Value;
use toolhost_contract::text::escape_json;

/// Values within each other that are written.
const DEPTH_MAX: usize = 64;

/// Length of the JSON of one value, in bytes, after which the rest is left out.
const VALUE_MAX_BYTES: usize = 16 << 10;

const LEFT_OUT: &str = "…";

/// Returns a value as JSON in one line, with invisible characters escaped. `…` stands for what is deeper or longer than
/// a comment may be.
pub(in crate::catalog) fn compact(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, 0);
    escape_json(&out).into_owned()
}

fn write(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Array(_) | Value::Object(_) if depth == DEPTH_MAX => out.push_str(LEFT_OUT),
        Value::Array(items) => {
            out.push('[');
            let mut is_first = true;
            for item in items {
                if !separate(out, &mut is_first) {
                    break;
                }
                write(out, item, depth + 1);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            let mut is_first = true;
            for (name, member) in members {
                if !separate(out, &mut is_first) {
                    break;
                }
                write_text(out, name);
                out.push(':');
                write(out, member, depth + 1);
            }
            out.push('}');
        }
        Value::String(text) => write_text(out, text),
        Value::Null | Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
    }
}

/// Writes what stands before an item. Returns whether there is room for one.
fn separate(out: &mut String, is_first: &mut bool) -> bool {
    if !std::mem::take(is_first) {
        out.push(',');
    }
    let has_room = out.len() < VALUE_MAX_BYTES;
    if !has_room {
        out.push_str(LEFT_OUT);
    }
    has_room
}

fn write_text(out: &mut String, text: &str) {
    let (written, left_out) = text.split_at(text.floor_char_boundary(VALUE_MAX_BYTES));
    out.push_str(&Value::from(written).to_string());
    if !left_out.is_empty() {
        out.push_str(LEFT_OUT);
    }
}
