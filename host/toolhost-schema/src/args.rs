//! The error of a call with invalid arguments.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::{Map, Value};
use toolhost_contract::{JsonSchemaObject, Locale, ToolError, ToolErrorCode, ToolName, text};

use super::{path, problem};

/// Maximum number of issues in a message. The others are counted.
const SHOWN: usize = 5;

/// Maximum number of issues that are counted, so that a million invalid items do not take a second.
const COUNTED: usize = 1_000;

/// Maximum number of properties that an error lists as required or allowed.
const NAMES_MAX: usize = 50;

/// Why a value does not fit its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Issues {
    /// The issues, in one line.
    pub(super) text: String,
    /// The first object that has an unexpected property or lacks one.
    object: Option<ObjectAt>,
}

/// An object among the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ObjectAt {
    /// Its place, such as `args.point`.
    place: String,
    /// Its schema, as a JSON pointer into that of the arguments.
    schema: String,
}

impl Issues {
    /// Those of a value that is too large to be explained.
    pub(super) fn unexplained(text: String) -> Self {
        Self { text, object: None }
    }
}

/// How the places of arguments begin.
pub(super) const ROOT: &str = "args";

/// The error of invalid arguments.
///
/// `Invalid arguments for tool 'x': args.command: required property is missing; args.n: expected
/// string but got integer`
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ArgsError {
    message: String,
    object: Option<ObjectAt>,
}

impl ArgsError {
    pub(super) fn new(tool: &ToolName, issues: Issues) -> Self {
        Self {
            message: format!("Invalid arguments for tool '{tool}': {}", issues.text),
            object: issues.object,
        }
    }

    /// Converts to the error for the model: `E_TOOL_INVALID_ARGS`, with the names of the parameters of the tool; or with
    /// those of an object among the arguments, if that has the wrong properties.
    pub fn into_tool_error(
        self,
        parameters: Option<&JsonSchemaObject>,
        locale: Locale,
    ) -> ToolError {
        let code = ToolErrorCode::InvalidArgs;
        let mut error = ToolError::host(code, self.message, locale);
        let nested = self.object.filter(|object| object.place != ROOT);
        let nested = nested.and_then(|ObjectAt { place, schema }| {
            let accepted = accepted(at(parameters?, &schema)?);
            Some(format!("{place}: {accepted}"))
        });
        let accepted = nested.unwrap_or_else(|| {
            parameters.map_or_else(|| accepted(&Map::new()), |it| accepted(it.as_object()))
        });
        error.suggestion = Some(format!("{} {accepted}", code.suggestion(locale)));
        error
    }
}

/// Returns the schema at a JSON pointer.
fn at<'s>(schema: &'s JsonSchemaObject, pointer: &str) -> Option<&'s Map<String, Value>> {
    let (key, rest) = pointer.strip_prefix('/')?.split_once('/')?;
    let inner = schema.as_object().get(key)?;
    inner.pointer(&format!("/{rest}"))?.as_object()
}

/// Lists the properties of an object's schema: `required=[…], allowed=[…]`.
fn accepted(schema: &Map<String, Value>) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let required = required.into_iter().flatten().filter_map(Value::as_str);
    let allowed = schema.get("properties").and_then(Value::as_object);
    let allowed = allowed.into_iter().flat_map(Map::keys).map(String::as_str);
    format!(
        "required=[{}], allowed=[{}]",
        text::listed(required, NAMES_MAX),
        text::listed(allowed, NAMES_MAX)
    )
}

/// Lists the validator's errors about a value in one line: at most 5, then `; +N more issues`. Places begin
/// with `name`.
pub(super) fn issues<'e>(
    name: &str,
    value: &Value,
    errors: impl Iterator<Item = ValidationError<'e>>,
) -> Issues {
    let mut texts: Vec<String> = Vec::new();
    let (mut more, mut object) = (0, None);
    let each = errors.flat_map(|error| {
        object = object.take().or_else(|| object_of(name, &error));
        issues_of(name, value, &error)
    });
    for issue in each {
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
    let text = match more {
        0 => texts,
        1 => format!("{texts}; +1 more issue"),
        COUNTED => format!("{texts}; +{COUNTED} or more issues"),
        more => format!("{texts}; +{more} more issues"),
    };
    Issues { text, object }
}

/// Returns the object whose properties an error is about.
fn object_of(name: &str, error: &ValidationError<'_>) -> Option<ObjectAt> {
    let is_of_properties = matches!(
        error.kind(),
        Kind::Required { .. }
            | Kind::AdditionalProperties { .. }
            | Kind::UnevaluatedProperties { .. }
    );
    let (schema, _keyword) = error.schema_path().as_str().rsplit_once('/')?;
    (is_of_properties || problem::forbids_members(error)).then(|| ObjectAt {
        place: path::dotted(name, error.instance_path()),
        schema: schema.to_owned(),
    })
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
