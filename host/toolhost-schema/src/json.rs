//! The size of JSON values.

use serde_json::{Map, Number, Value};

/// Size of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measure {
    /// Nesting: 0 for a scalar, 1 for `[]` and `{"a": 1}`, 2 for `[[]]`.
    pub depth: usize,
    /// Number of values in it, with itself.
    pub values: u64,
    /// Bytes of its strings and of the names of members.
    pub text: u64,
    /// Number of numbers that are written with a fraction or an exponent.
    pub floats: u64,
}

/// Measures a value without recursion, so that no depth overflows the stack.
pub fn measure(value: &Value) -> Measure {
    let mut size = Measure {
        depth: 0,
        values: 0,
        text: 0,
        floats: 0,
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
            Value::Number(number) => self.floats += u64::from(number.is_f64()),
            Value::Null | Value::Bool(_) => {}
        }
    }
}

/// 2⁶³ and 2⁶⁴: the first numbers beyond 64 bits with a sign and without one.
const SIGNED_END: f64 = 9_223_372_036_854_775_808.0;
const UNSIGNED_END: f64 = 18_446_744_073_709_551_616.0;

/// Writes each number without a fraction as an integer, as far as 64 bits hold it: `10.0` and `1e3` are integers in
/// JSON Schema, and not to most parsers. Recurses as deep as the value.
pub fn write_integers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|_| number.is_f64())
                && let Some(integer) = integer_of(float)
            {
                *number = integer;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(write_integers),
        Value::Object(members) => members.values_mut().for_each(write_integers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Returns a number without a fraction as an integer.
fn integer_of(float: f64) -> Option<Number> {
    if float.fract() != 0.0 {
        None
    } else if (-SIGNED_END..SIGNED_END).contains(&float) {
        Some((float as i64).into())
    } else if (SIGNED_END..UNSIGNED_END).contains(&float) {
        Some((float as u64).into())
    } else {
        None
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
                floats: 0,
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
    fn a_number_without_a_fraction_is_written_as_an_integer() {
        let check = |json: &str, floats: u64, expected: &str| {
            let mut value: Value = serde_json::from_str(json).unwrap();
            assert_eq!(measure(&value).floats, floats, "{json}");
            write_integers(&mut value);
            assert_eq!(value.to_string(), expected);
        };
        check(
            r#"{"a":[10.0,{"b":1e3}],"c":-2.0}"#,
            3,
            r#"{"a":[10,{"b":1000}],"c":-2}"#,
        );
        check("[1,1.5,-0.0,2e-1]", 3, "[1,1.5,0,0.2]");
        check(
            "[1e18,1e19,1e20,-1e19]",
            4,
            "[1000000000000000000,10000000000000000000,1e+20,-1e+19]",
        );
        check("[18446744073709551615]", 0, "[18446744073709551615]");
        check(
            "[9223372036854775808.0,18446744073709551616.0]",
            2,
            "[9223372036854775808,1.8446744073709552e+19]",
        );
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
