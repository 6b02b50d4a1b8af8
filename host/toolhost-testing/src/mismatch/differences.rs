//! Finds where two JSON values differ.

use std::fmt;

use serde_json::Value;
use toolhost_contract::json_pointer;
use toolhost_contract::text;

/// Longest value on one line, in characters.
pub(crate) const SHOWN_MAX: usize = 200;

/// Most differences of one value.
const DIFFERENCES_MAX: usize = 100;

/// A difference within a value.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueDifference {
    /// The JSON pointer from the whole value: `/items/0/name`.
    pub pointer: String,
    /// What was expected there. None if nothing was.
    pub expected: Option<Value>,
    /// What is there. None if nothing is.
    pub got: Option<Value>,
}

impl fmt::Display for ValueDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |value: &Option<Value>| match value {
            Some(value) => text::shorten(&value.to_string(), SHOWN_MAX),
            None => "nothing".to_owned(),
        };
        let pointer = text::shorten(&self.pointer, SHOWN_MAX);
        let (expected, got) = (short(&self.expected), short(&self.got));
        write!(f, "{pointer}: expected {expected} but got {got}")
    }
}

/// Whether two values are equal; 2 equals 2.0.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || ((left.is_f64() || right.is_f64()) && left.as_f64() == right.as_f64())
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| equal(l, r))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, value)| right.get(key).is_some_and(|other| equal(value, other)))
        }
        (left, right) => left == right,
    }
}

/// Returns where two values differ: the innermost members and items, in the order of the expected value and
/// then of the other. Equal items at the beginning and the end of two lists are left out. Returns nothing
/// if one of the values is neither a mapping nor a list.
pub(super) fn within(expected: &Value, got: &Value) -> Vec<ValueDifference> {
    let mut differences = Vec::new();
    if matches!(
        (expected, got),
        (Value::Object(_), Value::Object(_)) | (Value::Array(_), Value::Array(_))
    ) {
        compare("", Some(expected), Some(got), &mut differences);
    }
    differences
}

fn compare(
    pointer: &str,
    expected: Option<&Value>,
    got: Option<&Value>,
    differences: &mut Vec<ValueDifference>,
) {
    if differences.len() >= DIFFERENCES_MAX {
        return;
    }
    match (expected, got) {
        (Some(expected), Some(got)) if equal(expected, got) => {}
        (Some(Value::Object(expected)), Some(Value::Object(got))) => {
            let added = got.keys().filter(|key| !expected.contains_key(*key));
            for key in expected.keys().chain(added) {
                let pointer = format!("{pointer}/{}", json_pointer::escape(key));
                compare(&pointer, expected.get(key), got.get(key), differences);
            }
        }
        (Some(Value::Array(expected)), Some(Value::Array(got))) => {
            compare_items(pointer, expected, got, differences);
        }
        (expected, got) => differences.push(ValueDifference {
            pointer: pointer.to_owned(),
            expected: expected.cloned(),
            got: got.cloned(),
        }),
    }
}

fn compare_items(
    pointer: &str,
    expected: &[Value],
    got: &[Value],
    differences: &mut Vec<ValueDifference>,
) {
    let same = |(one, other): &(&Value, &Value)| equal(one, other);
    let before = expected.iter().zip(got).take_while(same).count();
    let (expected, got) = (
        expected.get(before..).unwrap_or_default(),
        got.get(before..).unwrap_or_default(),
    );
    let after = expected.iter().rev().zip(got.iter().rev());
    let after = after.take_while(same).count();
    let (mut expected, mut got) = (
        expected.iter().take(expected.len() - after),
        got.iter().take(got.len() - after),
    );
    for index in before.. {
        let (expected, got) = (expected.next(), got.next());
        if (expected.is_none() && got.is_none()) || differences.len() >= DIFFERENCES_MAX {
            return;
        }
        compare(&format!("{pointer}/{index}"), expected, got, differences);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn integers_and_floats_are_compared_by_value() {
        assert!(equal(&json!({"a": [1, 2.0]}), &json!({"a": [1.0, 2]})));
        assert!(!equal(&json!(1), &json!(1.5)));
        assert!(!equal(
            &json!(9_007_199_254_740_993_u64),
            &json!(9_007_199_254_740_992_u64)
        ));
        assert!(!equal(&json!({"a": 1}), &json!({"a": 1, "b": 2})));
        assert!(!equal(&json!([1]), &json!([1, 2])));
    }

    #[test]
    fn only_the_innermost_members_and_items_that_differ_are_found() {
        let check = |expected: Value, got: Value, found: &[&str]| {
            let differences = within(&expected, &got);
            let text =
                |value: &Option<Value>| value.as_ref().map_or("-".to_owned(), Value::to_string);
            let lines = differences
                .iter()
                .map(|one| format!("{} {} {}", one.pointer, text(&one.expected), text(&one.got)));
            assert_eq!(lines.collect::<Vec<_>>(), found, "{expected} {got}");
        };
        check(
            json!({"a": 1, "b": {"c": [1, 2]}}),
            json!({"a": 1, "b": {"c": [1, 3]}}),
            &["/b/c/1 2 3"],
        );
        check(json!({"a": 1}), json!({"b/c": 2}), &["/a 1 -", "/b~1c - 2"]);
        check(json!([1, 2, 3]), json!([0, 1, 2, 3]), &["/0 - 0"]);
        check(json!([1, 2, 3, 4]), json!([1, 4]), &["/1 2 -", "/2 3 -"]);
        check(json!([1, 2, 4]), json!([1, 3, 3, 4]), &["/1 2 3", "/2 - 3"]);
        check(json!({"a": []}), json!({"a": {}}), &["/a [] {}"]);
        check(json!({"a": 1.0}), json!({"a": 1}), &[]);
        check(json!(1), json!([1]), &[]);
        let many: Vec<u32> = (0..1_000).collect();
        assert_eq!(within(&json!(many), &json!({})), []);
        assert_eq!(within(&json!([]), &json!(many)).len(), DIFFERENCES_MAX);
    }
}
