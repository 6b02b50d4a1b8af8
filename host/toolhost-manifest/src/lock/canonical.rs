//! JSON with one text for each value: sorted keys, no blanks.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Returns the text of a value. Numbers stay as they are written.
pub(super) fn text(value: &Value) -> String {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    sorted.to_string()
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
