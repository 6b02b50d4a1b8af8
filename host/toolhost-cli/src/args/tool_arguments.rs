//! The value of `--args`: a JSON object, given inline, in a file, or on stdin.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::anyhow;
use serde_json::Value;
use toolhost::JsonObject;

use crate::failure::Failure;
use crate::files;

/// Most bytes read for arguments. The policy limits the arguments of a call; this limit keeps a wrong
/// file from filling the memory.
const BYTES_MAX: u64 = 16 << 20;

/// The hint for invalid arguments.
const EXAMPLE: &str = r#"Pass a JSON object: --args '{"path": "notes.txt"}', --args @args.json, or --args - for stdin."#;

/// Where the arguments are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ArgsFrom {
    /// On the command line.
    Inline(String),
    /// In a file.
    File(PathBuf),
    /// On stdin.
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
    /// Reads the arguments.
    pub(crate) async fn read(&self) -> Result<JsonObject, Failure> {
        let wrong = |error| Failure::from(error).hint(EXAMPLE);
        match self {
            Self::Inline(text) => parse("--args", text),
            Self::Stdin => {
                let text = files::stdin(BYTES_MAX).await.map_err(wrong)?;
                parse("stdin", &text)
            }
            Self::File(path) => {
                let text = files::text_file("the arguments file", path, BYTES_MAX).await;
                parse(&named(path), &text.map_err(wrong)?)
            }
        }
    }
}

fn named(path: &Path) -> String {
    format!("the arguments file {}", path.display())
}

/// Parses a JSON object. `what` names the text in errors.
fn parse(what: &str, text: &str) -> Result<JsonObject, Failure> {
    let wrong = |message: String| Failure::of(anyhow!(message)).hint(EXAMPLE);
    if text.trim().is_empty() {
        return Err(wrong(format!("{what} is empty, not a JSON object")));
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(other) => Err(wrong(format!(
            "{what} is {}, not a JSON object",
            kind(&other)
        ))),
        Err(error) => Err(wrong(format!("{what} is not JSON: {error}"))),
    }
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
            let failure = parse("--args", text).unwrap_err();
            assert_eq!(failure.message(), says);
            assert!(
                failure
                    .next_move()
                    .is_some_and(|hint| hint.contains("JSON object"))
            );
        };
        check("[1]", "--args is an array, not a JSON object");
        check("\"x\"", "--args is a string, not a JSON object");
        check("7", "--args is a number, not a JSON object");
        check("true", "--args is a boolean, not a JSON object");
        check("null", "--args is null, not a JSON object");
        check(" ", "--args is empty, not a JSON object");
        check(
            "{a: 1}",
            "--args is not JSON: key must be a string at line 1 column 2",
        );
        check(
            &"[".repeat(1000),
            "--args is not JSON: recursion limit exceeded at line 1 column 128",
        );
        assert_eq!(parse("--args", "{\"a\": 1}").unwrap()["a"], 1);
    }
}
