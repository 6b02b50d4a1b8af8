//! JSON with one text for each value: sorted keys, no blanks.

use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Returns the text of a value. Numbers stay as they are written.
pub(super) fn text(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort_unstable();
            text.push('{');
            for (index, name) in names.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                let _ = write!(text, "{}:", Value::from(name.as_str()));
                if let Some(member) = members.get(name) {
                    write(member, text);
                }
            }
            text.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let _ = write!(text, "{value}");
        }
    }
}

/// Returns `sha256:HEX` of the text of a value.
pub(super) fn digest(value: &Value) -> String {
    let digest = Sha256::digest(text(value).as_bytes());
    format!("sha256:{}", data_encoding::HEXLOWER.encode(&digest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_order_of_keys_does_not_count() {
        let one = json!({"b": [1, {"d": null, "c": "x\n"}], "a": true});
        let other = json!({"a": true, "b": [1, {"c": "x\n", "d": null}]});
        assert_eq!(text(&one), r#"{"a":true,"b":[1,{"c":"x\n","d":null}]}"#);
        assert_eq!(text(&one), text(&other));
        assert_eq!(digest(&one), digest(&other));
        assert_ne!(
            digest(&one),
            digest(&json!({"b": [{"c": "x\n", "d": null}, 1], "a": true}))
        );
    }
}
