//! A schema and arguments: compiling, validating and explaining have limited cost.

use std::time::Duration;

use serde_json::{Value, json};
use toolhost_contract::{
    ErrorCode, ErrorMessageLimit, JsonSchemaObject, Locale, ToolErrorCode, ToolName,
};

use super::cost::within;
use super::{BETWEEN, display};
use toolhost_contract::limit_error;
use toolhost_schema::{ArgsSchema, PatternBudget, json};

/// Longest time to compile a schema: a hundred patterns of 10 ms, in an unoptimised build.
const COMPILING_MAX: Duration = Duration::from_secs(10);

/// Longest time to validate arguments and explain the result.
const CHECKING_MAX: Duration = Duration::from_secs(5);

/// Longest message about a schema, in bytes: it can contain a path of 128 levels.
const PROBLEM_MAX: usize = 128 << 10;

/// Longest refusal before truncation, in bytes: five such paths.
const REFUSAL_MAX: usize = 5 * PROBLEM_MAX;

/// Longest suggestion: a hundred names of 80 characters, escaped.
const SUGGESTION_MAX: usize = 128 << 10;

/// Reads a schema, a line `--` and arguments, and checks the properties.
pub fn hold(text: &str) {
    let (schema, args) = text.split_once(BETWEEN).unwrap_or((text, "{}"));
    let Ok(schema) = serde_json::from_str::<Value>(schema) else {
        return;
    };
    let Ok(schema) = JsonSchemaObject::parse(schema) else {
        return;
    };
    let compiled = within(COMPILING_MAX, "compiling", || {
        ArgsSchema::compile(&schema, &mut PatternBudget::default())
    });
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(error) => {
            display::is_one_line(&error.to_string(), PROBLEM_MAX);
            let place = schema.to_value().pointer(error.pointer()).is_some();
            assert!(place, "{error}: nothing is at {}", error.pointer());
            return;
        }
    };
    let Ok(tool) = ToolName::parse("x__y") else {
        return;
    };
    let Ok(args) = serde_json::from_str::<Value>(args) else {
        return;
    };
    // Deeper arguments are refused earlier.
    if !args.is_object() || json::depth(&args) > 64 {
        return;
    }
    let checked = within(CHECKING_MAX, "checking", || {
        compiled.validate(&tool, &args, json::measure(&args))
    });
    let again = compiled.validate(&tool, &args, json::measure(&args));
    assert_eq!(checked, again, "validated twice");
    let Err(error) = checked else { return };
    let message = error.to_string();
    display::is_one_line(&message, REFUSAL_MAX);
    let issues = message.strip_prefix("Invalid arguments for tool 'x__y': args");
    assert!(issues.is_some_and(|issues| issues.len() > 1), "{message}");
    for locale in [Locale::En, Locale::Ko] {
        let error = error.clone().into_tool_error(Some(&schema), locale);
        assert_eq!(error.code, ErrorCode::Host(ToolErrorCode::InvalidArgs));
        let suggestion = error.suggestion.clone().unwrap_or_default();
        display::is_one_line(&suggestion, SUGGESTION_MAX);
        assert!(suggestion.contains(" required=[") && suggestion.contains(", allowed=["));
        let limited = limit_error(error, ErrorMessageLimit::DEFAULT);
        let units = limited.message.encode_utf16().count();
        assert!(units <= ErrorMessageLimit::DEFAULT.units(), "{units} units");
    }
}
