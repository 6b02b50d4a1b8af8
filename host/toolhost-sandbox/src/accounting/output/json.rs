//! Parses a guest's JSON within its limits.

use serde_json::Value;
use toolhost_contract::JsonShape;

use super::printable::printable;
use crate::{Limits, SandboxError};

/// Maximum bytes of the parser's message.
const REASON_MAX: usize = 200;

/// Why a guest's text is refused as JSON.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum JsonError {
    #[error("has {bytes} bytes, at most {limit} are allowed")]
    TooLarge { bytes: u64, limit: u64 },
    #[error("is nested {depth} deep, at most {limit} is allowed")]
    TooDeep { depth: usize, limit: usize },
    #[error("has {values} values, at most {limit} are allowed")]
    TooMany { values: u64, limit: u64 },
    #[error("is not valid JSON: {reason}")]
    Invalid { reason: String },
}

/// For the result of a call.
impl From<JsonError> for SandboxError {
    fn from(error: JsonError) -> Self {
        match error {
            JsonError::TooLarge { bytes, limit } => Self::OutputTooLarge { bytes, limit },
            JsonError::TooDeep { depth, limit } => Self::OutputTooDeep { depth, limit },
            JsonError::TooMany { values, limit } => Self::OutputTooMany { values, limit },
            JsonError::Invalid { .. } => Self::InvalidOutput {
                reason: error.to_string(),
            },
        }
    }
}

/// Parses one JSON value. Its size and shape are checked before memory is allocated for it.
pub(crate) fn parse_json(json: &str, bytes_max: u64, limits: &Limits) -> Result<Value, JsonError> {
    let bytes = json.len() as u64;
    if bytes > bytes_max {
        let limit = bytes_max;
        return Err(JsonError::TooLarge { bytes, limit });
    }
    let JsonShape { depth, values } = JsonShape::of(json);
    if depth > limits.json_depth {
        let limit = limits.json_depth;
        return Err(JsonError::TooDeep { depth, limit });
    }
    if values > limits.json_values {
        let limit = limits.json_values;
        return Err(JsonError::TooMany { values, limit });
    }
    serde_json::from_str(json).map_err(|error| JsonError::Invalid {
        reason: printable(&error.to_string(), REASON_MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_one_json_value_within_the_limits() {
        // tool-spec-v2 §10.1
        let limits = Limits {
            json_depth: 3,
            json_values: 8,
            ..Limits::default()
        };
        let check = |json: &str| parse_json(json, 64, &limits);
        assert!(check("[1,2,3,4,5,6,7]").is_ok());
        assert_eq!(check("{\"a\":1}").unwrap(), serde_json::json!({"a": 1}));
        for invalid in [
            "",
            " ",
            "x",
            "1 2",
            "{\"a\":1}]",
            "1e400",
            r#""\ud800""#,
            "NaN",
        ] {
            assert!(
                matches!(check(invalid), Err(JsonError::Invalid { .. })),
                "{invalid}"
            );
        }
        assert!(matches!(
            check("[[[[1]]]]"),
            Err(JsonError::TooDeep { depth: 4, limit: 3 })
        ));
        for many in ["[1,2,3,4,5,6,7,8]", "[[0],[0],[0],[0]]"] {
            let refused = check(many);
            assert!(
                matches!(refused, Err(JsonError::TooMany { limit: 8, .. })),
                "{many}"
            );
        }
        assert!(matches!(
            check(&"1".repeat(65)),
            Err(JsonError::TooLarge {
                bytes: 65,
                limit: 64
            })
        ));
    }
}
