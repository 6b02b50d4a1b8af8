//! Compares JSON values.

use serde_json::Value;
use toolhost_contract::json_pointer;

use crate::mismatch::{Mismatch, equal};

/// The description of a missing value.
pub(super) const NOTHING: &str = "nothing there";

/// Whether a value contains another: of an object some members, of a list some items in this order.
fn contains(value: &Value, expected: &Value) -> bool {
    match (expected, value) {
        (Value::Object(expected), Value::Object(value)) => expected
            .iter()
            .all(|(key, part)| value.get(key).is_some_and(|value| contains(value, part))),
        (Value::Array(expected), Value::Array(items)) => {
            let mut items = items.iter();
            expected
                .iter()
                .all(|part| items.any(|item| contains(item, part)))
        }
        (expected, value) => equal(expected, value),
    }
}

/// Records each innermost part that `value` does not contain.
pub(super) fn judge_part(
    what: &str,
    expected: &Value,
    value: &Value,
    mismatches: &mut Vec<Mismatch>,
) {
    let (Value::Object(parts), Value::Object(members)) = (expected, value) else {
        if !contains(value, expected) {
            let words = if expected.is_array() {
                format!("to contain {expected}")
            } else {
                expected.to_string()
            };
            mismatches.push(Mismatch::new(what, &words, &value.to_string()));
        }
        return;
    };
    for (key, part) in parts {
        let what = format!("{what}/{}", json_pointer::escape(key));
        match members.get(key) {
            Some(member) => judge_part(&what, part, member, mismatches),
            None => mismatches.push(Mismatch::new(what, &part.to_string(), NOTHING)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_is_some_members_and_some_items_in_order() {
        let check = |value: Value, part: Value, expected: bool| {
            assert_eq!(contains(&value, &part), expected, "{value} {part}");
        };
        check(
            json!({"a": 1, "b": {"c": 2, "d": 3}}),
            json!({"b": {"d": 3}}),
            true,
        );
        check(json!({"a": 1}), json!({"b": 1}), false);
        check(json!([1, 2, 3]), json!([1, 3]), true);
        check(json!([1, 2, 3]), json!([3, 1]), false);
        check(json!([{"a": 1, "b": 2}]), json!([{"a": 1}]), true);
        check(json!("abc"), json!("b"), false);
        check(json!([]), json!([]), true);
    }

    #[test]
    fn a_missing_part_is_named_by_its_whole_path() {
        let mut mismatches = Vec::new();
        let (expected, value) = (json!({"a/b": {"c": 2}, "d": 1}), json!({"a/b": {"c": 3}}));
        judge_part("output", &expected, &value, &mut mismatches);
        let whats: Vec<_> = mismatches.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(whats, ["output/a~1b/c", "output/d"]);
    }
}
