//! When the changes of a transaction whose call succeeded are committed.

use std::fmt;

use serde_json::{Value, json};

use crate::text::shorten;

/// A value at a place of a call's output. If the output has another one there, or none, the changes that the call
/// made in its workdir are dropped; the output is still the result. Has no effect on calls that are no
/// [transactions](crate::WorkdirChanges).
///
/// ```
/// use serde_json::json;
/// use toolhost_contract::CommitCondition;
///
/// let condition = CommitCondition::new("/exitCode", &json!(0))?;
/// assert!(condition.holds(&json!({"stdout": "", "exitCode": 0})));
/// assert!(!condition.holds(&json!({"stdout": "", "exitCode": 2})));
/// assert!(!condition.holds(&json!("done")));
/// assert_eq!(condition.to_string(), "`/exitCode` is 0");
/// # Ok::<(), toolhost_contract::CommitConditionError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitCondition {
    pointer: String,
    equals: Scalar,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Scalar {
    Null,
    Bool(bool),
    Integer(i64),
    Text(String),
}

/// Why a text and a value are no [`CommitCondition`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CommitConditionError {
    /// The place is not a JSON pointer.
    #[error(
        "'pointer' must be a JSON pointer of at most {} bytes, such as /exitCode; empty for the whole output",
        CommitCondition::TEXT_MAX
    )]
    Pointer,
    /// The value is a list, an object, a fraction, or too large.
    #[error(
        "'equals' must be a boolean, null, an integer of 64 bits, or a text of at most {} bytes",
        CommitCondition::TEXT_MAX
    )]
    Equals,
}

impl Scalar {
    fn to_json(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(value) => json!(value),
            Self::Integer(value) => json!(value),
            Self::Text(text) => json!(text),
        }
    }
}

impl CommitCondition {
    /// Maximum bytes of the pointer, and of a text that is compared.
    pub const TEXT_MAX: usize = 1024;

    /// Most characters of a value that a message has.
    const SHOWN_MAX: usize = 100;

    /// Creates a condition from a JSON pointer (RFC 6901) and the value that must be there.
    ///
    /// # Errors
    /// [`CommitConditionError`] names the part that is invalid.
    pub fn new(pointer: &str, equals: &Value) -> Result<Self, CommitConditionError> {
        let is_rooted = pointer.is_empty() || pointer.starts_with('/');
        let mut escapes = pointer.split('~').skip(1);
        let is_escaped = escapes.all(|rest| rest.starts_with(['0', '1']));
        if !is_rooted || !is_escaped || pointer.len() > Self::TEXT_MAX {
            return Err(CommitConditionError::Pointer);
        }
        let equals = match equals {
            Value::Null => Scalar::Null,
            Value::Bool(value) => Scalar::Bool(*value),
            Value::Number(number) => {
                let integer = number.as_i64().ok_or(CommitConditionError::Equals)?;
                Scalar::Integer(integer)
            }
            Value::String(text) if text.len() <= Self::TEXT_MAX => Scalar::Text(text.clone()),
            Value::String(_) | Value::Array(_) | Value::Object(_) => {
                return Err(CommitConditionError::Equals);
            }
        };
        let pointer = pointer.to_owned();
        Ok(Self { pointer, equals })
    }

    /// Returns `{"pointer", "equals"}`, as a manifest has it.
    pub fn to_json(&self) -> Value {
        json!({"pointer": self.pointer, "equals": self.equals.to_json()})
    }

    /// Says what an output for which it does not hold has in the place, such as `` `/exitCode` is 1, not 0 ``.
    pub fn unmet(&self, output: &Value) -> String {
        let place = self.pointer.escape_debug();
        let wanted = self.equals.to_json();
        match output.pointer(&self.pointer) {
            Some(value) => {
                let value = shorten(&value.to_string(), Self::SHOWN_MAX);
                format!("`{place}` is {value}, not {wanted}")
            }
            None => format!("there is no `{place}`"),
        }
    }

    /// Returns whether an output has the value at the place.
    pub fn holds(&self, output: &Value) -> bool {
        let Some(value) = output.pointer(&self.pointer) else {
            return false;
        };
        match &self.equals {
            Scalar::Null => value.is_null(),
            Scalar::Bool(equals) => value.as_bool() == Some(*equals),
            Scalar::Text(equals) => value.as_str() == Some(equals),
            Scalar::Integer(equals) => is_integer(value, *equals),
        }
    }
}

/// Whether a number is this integer: `0.0` is 0, as in JSON Schema.
fn is_integer(value: &Value, integer: i64) -> bool {
    if let Some(value) = value.as_i64() {
        return value == integer;
    }
    // Not rounded: a float of this size holds each integer.
    let is_exact = integer.unsigned_abs() <= 1 << 53;
    let float = value.as_f64();
    is_exact && float.is_some_and(|float| float.to_string() == integer.to_string())
}

/// Such as `` `/exitCode` is 0 ``.
impl fmt::Display for CommitCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is ", self.pointer.escape_debug())?;
        match &self.equals {
            Scalar::Null => f.write_str("null"),
            Scalar::Bool(value) => value.fmt(f),
            Scalar::Integer(value) => value.fmt(f),
            Scalar::Text(text) => write!(f, "\"{}\"", text.escape_debug()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_that_does_not_meet_it_is_shown_at_the_place() {
        let condition = CommitCondition::new("/exitCode", &json!(0)).unwrap();
        let unmet = condition.unmet(&json!({"exitCode": 1}));
        assert_eq!(unmet, "`/exitCode` is 1, not 0");
        let long = condition.unmet(&json!({"exitCode": "x".repeat(1_000)}));
        assert!(long.len() < 150, "{long}");
        assert_eq!(condition.unmet(&json!([])), "there is no `/exitCode`");
    }

    #[test]
    fn a_condition_holds_for_the_value_at_its_place_alone() {
        for (pointer, equals, output, holds) in [
            ("/exitCode", json!(0), json!({"exitCode": 0}), true),
            ("/exitCode", json!(0), json!({"exitCode": 0.0}), true),
            ("/exitCode", json!(0), json!({"exitCode": 0.1}), false),
            ("/exitCode", json!(0), json!({"exitCode": "0"}), false),
            ("/exitCode", json!(0), json!({"exitCode": null}), false),
            ("/exitCode", json!(0), json!({"exit": 0}), false),
            ("/exitCode", json!(0), json!([0]), false),
            ("/exitCode", json!(0), json!(null), false),
            (
                "/a/1/b~1c",
                json!("x"),
                json!({"a": [0, {"b/c": "x"}]}),
                true,
            ),
            ("/error", json!(null), json!({"error": null}), true),
            // A place that is missing has no value, also not null.
            ("/error", json!(null), json!({}), false),
            ("", json!(true), json!(true), true),
            ("", json!(true), json!({"": true}), false),
            ("/n", json!(i64::MAX), json!({"n": i64::MAX}), true),
            (
                "/n",
                json!(i64::MAX),
                json!({"n": 9_223_372_036_854_775_808_u64}),
                false,
            ),
        ] {
            let condition = CommitCondition::new(pointer, &equals).unwrap();
            assert_eq!(condition.holds(&output), holds, "{condition} in {output}");
            let written = json!({"pointer": pointer, "equals": equals});
            assert_eq!(condition.to_json(), written);
        }
    }

    #[test]
    fn refuses_what_is_no_pointer_or_no_single_value() {
        let long = "x".repeat(CommitCondition::TEXT_MAX + 1);
        for pointer in ["exitCode", "/a~2", "/a~", "#/a", &format!("/{long}")] {
            let refused = CommitCondition::new(pointer, &json!(0)).err();
            assert_eq!(refused, Some(CommitConditionError::Pointer), "{pointer}");
        }
        for equals in [
            json!([]),
            json!({}),
            json!(0.5),
            json!(u64::MAX),
            json!(long),
        ] {
            let refused = CommitCondition::new("/a", &equals).err();
            assert_eq!(refused, Some(CommitConditionError::Equals), "{equals}");
        }
    }
}
