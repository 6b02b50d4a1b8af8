//! The error of a call with invalid arguments.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::{Map, Value};
use toolhost_contract::{Locale, ToolError, ToolErrorCode, ToolName};

use super::{path, problem};

/// Maximum number of issues in a message. The others are counted.
const SHOWN: usize = 5;

/// Maximum number of issues that are counted, so that a million invalid items do not take a second.
const COUNTED: usize = 1_000;

/// The error of invalid arguments.
///
/// `Invalid arguments for tool 'x': args.command: required property is missing; args.n: expected
/// string but got integer`
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ArgsError {
    message: String,
    accepted: String,
}

impl ArgsError {
    /// Creates the error from the issues, in one line, and the names of the tool's parameters.
    pub(super) fn new(tool: &ToolName, issues: &str, accepted: &str) -> Self {
        Self {
            message: format!("Invalid arguments for tool '{tool}': {issues}"),
            accepted: accepted.to_owned(),
        }
    }

    /// Converts to the error for the model: `E_TOOL_INVALID_ARGS`, with the names of the parameters.
    pub fn into_tool_error(self, locale: Locale) -> ToolError {
        let code = ToolErrorCode::InvalidArgs;
        let mut error = ToolError::host(code, self.message, locale);
        error.suggestion = Some(format!("{} {}", code.suggestion(locale), self.accepted));
        error
    }
}

/// Lists the validator's errors about a value in one line: at most 5, then `; +N more issues`. Places begin
/// with `name`.
pub(super) fn issues<'e>(
    name: &str,
    value: &Value,
    errors: impl Iterator<Item = ValidationError<'e>>,
) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut more = 0;
    for issue in errors.flat_map(|error| issues_of(name, value, &error)) {
        // Two branches of an `allOf` may have the same issue.
        if texts.contains(&issue) {
            continue;
        }
        if texts.len() < SHOWN {
            texts.push(issue);
        } else {
            more += 1;
        }
        if more == COUNTED {
            break;
        }
    }
    let texts = texts.join("; ");
    match more {
        0 => texts,
        1 => format!("{texts}; +1 more issue"),
        COUNTED => format!("{texts}; +{COUNTED} or more issues"),
        more => format!("{texts}; +{more} more issues"),
    }
}

fn issues_of(name: &str, value: &Value, error: &ValidationError<'_>) -> Vec<String> {
    let place = path::dotted(name, error.instance_path());
    let unexpected = |name: &String| format!("{}: unexpected property", path::member(&place, name));
    if let Kind::Required {
        property: Value::String(name),
    } = error.kind()
    {
        let place = path::member(&place, name);
        return vec![format!("{place}: required property is missing")];
    }
    if let Kind::AdditionalProperties { unexpected: names }
    | Kind::UnevaluatedProperties { unexpected: names } = error.kind()
    {
        return names.iter().take(SHOWN + COUNTED).map(unexpected).collect();
    }
    if problem::forbids_members(error) {
        let object = value.pointer(error.instance_path().as_str());
        let members = object.and_then(Value::as_object).into_iter();
        let names = members.flat_map(Map::keys);
        return names.take(SHOWN + COUNTED).map(unexpected).collect();
    }
    vec![format!("{place}: {}", problem::of(error))]
}
