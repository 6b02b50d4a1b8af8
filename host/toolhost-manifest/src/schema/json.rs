//! The size of JSON values.

use serde_json::{Map, Value};

/// Size of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// Nesting: 0 for a scalar, 1 for `[]` and `{"a": 1}`, 2 for `[[]]`.
    pub depth: usize,
    /// Number of values in it, with itself.
    pub values: u64,
    /// Bytes of its strings and of the names of members.
    pub text: u64,
}

/// Measures a value without recursion, so that no depth overflows the stack.
pub fn measure(value: &Value) -> Measure {
    let mut size = Measure {
        depth: 0,
        values: 0,
        text: 0,
    };
    // Holds arrays and objects alone: an object of texts and numbers allocates nothing.
    let mut rest = Vec::new();
    size.add(value, 0, &mut rest);
    while let Some((container, depth)) = rest.pop() {
        size.depth = size.depth.max(depth);
        match container {
            Container::Array(items) => {
                items
                    .iter()
                    .for_each(|item| size.add(item, depth, &mut rest));
            }
            Container::Object(members) => {
                for (name, member) in members {
                    size.text += name.len() as u64;
                    size.add(member, depth, &mut rest);
                }
            }
        }
    }
    size
}

/// A value with values in it.
enum Container<'v> {
    Array(&'v [Value]),
    Object(&'v Map<String, Value>),
}

impl Measure {
    /// Counts a value, of which `depth` others are around it. Those in it are left for later.
    fn add<'v>(&mut self, value: &'v Value, depth: usize, rest: &mut Vec<(Container<'v>, usize)>) {
        self.values += 1;
        match value {
            Value::Array(items) => rest.push((Container::Array(items), depth + 1)),
            Value::Object(members) => rest.push((Container::Object(members), depth + 1)),
            Value::String(string) => self.text += string.len() as u64,
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Returns how deeply a value is nested.
pub fn depth(value: &Value) -> usize {
    measure(value).depth
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn counts_arrays_and_objects_around_the_innermost_value() {
        let check = |value: Value, depth: usize, values: u64, text: u64| {
            let expected = Measure {
                depth,
                values,
                text,
            };
            assert_eq!(measure(&value), expected, "{value}");
        };
        check(json!(1), 0, 1, 0);
        check(json!("가x"), 0, 1, 4);
        check(json!([]), 1, 1, 0);
        check(json!({"ab": 1}), 1, 2, 2);
        check(json!([["x"], 1]), 2, 4, 1);
        check(json!({"a": [1, {"b": null}], "c": {}}), 3, 6, 3);
    }

    #[test]
    fn a_value_of_any_depth_is_measured_without_recursion() {
        let mut value = json!(0);
        for _ in 0..100_000 {
            value = Value::Array(vec![value]);
        }
        assert_eq!(depth(&value), 100_000);
        // Dropping it the ordinary way recurses.
        while let Value::Array(mut items) = value {
            value = items.pop().unwrap_or_default();
        }
    }
}
