//! The value of `--args`: a JSON object, or any JSON for a program, given inline, in a file, or on stdin.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::anyhow;
use serde_json::Value;
use toolhost::JsonObject;
use toolhost::tool::JsonLimits;

use crate::failure::{Failure, Hint};
use crate::files;

/// Most bytes read for arguments. The policy limits the arguments of a call; this limit keeps a wrong
/// file from filling the memory.
const BYTES_MAX: u64 = 16 << 20;

/// The hint for invalid arguments.
const EXAMPLE: &str = r#"Pass JSON, such as an object: --args '{"path": "notes.txt"}', --args @args.json, or --args - for stdin."#;

/// Where the arguments are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ArgsFrom {
    Inline(String),
    File(PathBuf),
    Stdin,
}

impl FromStr for ArgsFrom {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match (text, text.strip_prefix('@')) {
            ("-", _) => Self::Stdin,
            (_, Some(path)) => Self::File(path.into()),
            (inline, None) => Self::Inline(inline.to_owned()),
        })
    }
}

impl ArgsFrom {
    /// Reads a JSON object.
    pub(crate) async fn read(&self) -> Result<JsonObject, Failure> {
        let (what, value) = self.read_any().await?;
        object(&what, value)
    }

    /// Reads any JSON. Returns the name of its source for errors, too.
    pub(crate) async fn read_any(&self) -> Result<(String, Value), Failure> {
        let (what, text) = match self {
            Self::Inline(text) => ("--args".to_owned(), Ok(text.clone())),
            Self::Stdin => ("stdin".to_owned(), files::stdin(BYTES_MAX).await),
            Self::File(path) => (
                format!("the arguments file {}", path.display()),
                files::text_file("the arguments file", path, BYTES_MAX).await,
            ),
        };
        let text = text.hint(EXAMPLE)?;
        let value = parse(&what, &text)?;
        Ok((what, value))
    }
}

/// Parses JSON. `what` names the text in errors.
fn parse(what: &str, text: &str) -> Result<Value, Failure> {
    if text.trim().is_empty() {
        return Err(wrong(format!("{what} is empty, not JSON")));
    }
    let value = JsonLimits::ARGUMENTS.parse(text);
    value.map_err(|error| wrong(format!("{what} {error}")))
}

fn object(what: &str, value: Value) -> Result<JsonObject, Failure> {
    let kind = kind(&value);
    let Value::Object(object) = value else {
        return Err(wrong(format!("{what} is {kind}, not a JSON object")));
    };
    Ok(object)
}

fn wrong(message: String) -> Failure {
    Failure::from(anyhow!(message)).hint(EXAMPLE)
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_selects_the_source_of_the_arguments() {
        let check = |text: &str, from: ArgsFrom| assert_eq!(text.parse(), Ok(from));
        check("-", ArgsFrom::Stdin);
        check("@a.json", ArgsFrom::File("a.json".into()));
        check("@-", ArgsFrom::File("-".into()));
        check("{}", ArgsFrom::Inline("{}".to_owned()));
        check("", ArgsFrom::Inline(String::new()));
    }

    #[test]
    fn values_that_are_not_objects_are_refused() {
        let check = |text: &str, says: &str| {
            let parsed = parse("--args", text);
            let failure = parsed
                .and_then(|value| object("--args", value))
                .unwrap_err();
            assert_eq!(failure.message(), says);
            assert!(failure.hint.unwrap().contains("such as an object"));
        };
        check("[1]", "--args is an array, not a JSON object");
        check("\"x\"", "--args is a string, not a JSON object");
        check("7", "--args is a number, not a JSON object");
        check("true", "--args is a boolean, not a JSON object");
        check("null", "--args is null, not a JSON object");
        check(" ", "--args is empty, not JSON");
        check(
            "{a: 1}",
            "--args is not valid JSON: key must be a string at line 1 column 2",
        );
        check(
            &"[".repeat(1000),
            "--args is nested 1000 deep, at most 127 is allowed",
        );
        check(
            r#"{"id": 725653563933458433725653563933458433}"#,
            "--args has the integer 725653563933458433725653563933458433 at /id, which 64 bits cannot hold: write it as a string",
        );
        assert_eq!(parse("--args", "{\"a\": 1}").unwrap()["a"], 1);
    }
}
