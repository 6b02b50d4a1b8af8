//! Why one value does not fit, in words: `expected string but got integer`.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ReferencingError, ValidationError};
use serde_json::Value;

use super::path;
use toolhost_contract::text;

/// Longest value quoted, in characters.
const VALUE_MAX: usize = 80;

/// Longest account of a form that was not met, in characters.
const FORM_MAX: usize = 100;

/// Most forms accounted for.
const FORMS_MAX: usize = 3;

/// Most values listed that would have been allowed.
const CHOICES_MAX: usize = 10;

/// Says why the value of an error does not fit, without its place.
pub(super) fn of(error: &ValidationError<'_>) -> String {
    use ValidationErrorKind as Kind;

    let found = error.instance();
    match error.kind() {
        Kind::Type { kind } => format!("expected {} but got {}", types(kind), type_of(found)),
        Kind::Required { property } => format!("required property {} is missing", quote(property)),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            format!("unexpected property {}", names(unexpected))
        }
        Kind::Enum { options } => format!("must be {} but is {}", choices(options), quote(found)),
        Kind::Constant { expected_value } => {
            format!("must be {} but is {}", quote(expected_value), quote(found))
        }
        Kind::Minimum { limit } => format!("must be at least {limit} but is {}", quote(found)),
        Kind::Maximum { limit } => format!("must be at most {limit} but is {}", quote(found)),
        Kind::ExclusiveMinimum { limit } => {
            format!("must be more than {limit} but is {}", quote(found))
        }
        Kind::ExclusiveMaximum { limit } => {
            format!("must be less than {limit} but is {}", quote(found))
        }
        Kind::MultipleOf { multiple_of } => {
            format!(
                "must be a multiple of {multiple_of} but is {}",
                quote(found)
            )
        }
        Kind::MinLength { limit } => length("at least", *limit, "character", found),
        Kind::MaxLength { limit } => length("at most", *limit, "character", found),
        Kind::MinItems { limit } => length("at least", *limit, "item", found),
        Kind::MaxItems { limit } => length("at most", *limit, "item", found),
        Kind::MinProperties { limit } => length("at least", *limit, "property", found),
        Kind::MaxProperties { limit } => length("at most", *limit, "property", found),
        Kind::AdditionalItems { limit } => {
            format!(
                "must have at most {} but has more",
                counted(*limit as u64, "item")
            )
        }
        Kind::UnevaluatedItems { .. } => "has items that are not allowed".to_owned(),
        Kind::Pattern { pattern } => {
            let pattern = text::shorten(pattern, VALUE_MAX);
            format!("must match the pattern {pattern} but is {}", quote(found))
        }
        Kind::Format { format } => {
            format!(
                "must be of the format {} but is {}",
                text::shorten(format, VALUE_MAX),
                quote(found)
            )
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => none_of(error, context),
        Kind::OneOfMultipleValid { .. } => "fits more than one of the allowed forms".to_owned(),
        Kind::UniqueItems => "must not have duplicate items".to_owned(),
        Kind::Contains => "has none of the items it must have".to_owned(),
        Kind::PropertyNames { error } => format!("has a property whose name {}", of(error)),
        Kind::FalseSchema if forbids_members(error) => "must have no properties".to_owned(),
        Kind::FalseSchema => "is not allowed".to_owned(),
        Kind::Not { .. } => "has a form that is not allowed".to_owned(),
        Kind::Custom { message, .. } | Kind::RegexEngineFailure { message } => {
            text::shorten(message, FORM_MAX)
        }
        Kind::Referencing(ReferencingError::UnknownSpecification { specification }) => {
            let version = text::shorten(specification, VALUE_MAX);
            format!("$schema '{version}' is not a version of JSON Schema that is known here")
        }
        Kind::BacktrackLimitExceeded { .. }
        | Kind::ContentEncoding { .. }
        | Kind::ContentMediaType { .. }
        | Kind::FromUtf8 { .. }
        | Kind::Referencing(_) => text::shorten(&error.to_string(), FORM_MAX),
    }
}

/// Whether a `false` schema is the `additionalProperties: false` of an object that declares no
/// properties: the validator then reports the object, not its members.
pub(super) fn forbids_members(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), ValidationErrorKind::FalseSchema)
        && error
            .schema_path()
            .as_str()
            .ends_with("/additionalProperties")
}

/// Writes a value as JSON, cut to 80 characters.
pub(super) fn quote(value: &Value) -> String {
    let mut json = Head(Vec::new());
    // Writing stops where enough is there; what came so far is what is wanted.
    let _ = serde_json::to_writer(&mut json, value);
    text::shorten(&String::from_utf8_lossy(&json.0), VALUE_MAX)
}

/// Takes the beginning of what is written, so that quoting a megabyte costs a few bytes.
struct Head(Vec<u8>);

impl std::io::Write for Head {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // Enough for the characters shown, at four bytes each, and a remainder that is cut.
        if self.0.len() > 8 * VALUE_MAX {
            return Err(std::io::ErrorKind::WriteZero.into());
        }
        self.0.extend(bytes.iter().take(8 * VALUE_MAX));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.as_str().to_owned(),
        TypeKind::Multiple(several) => {
            let names: Vec<&str> = several.iter().map(jsonschema::JsonType::as_str).collect();
            names.join(" or ")
        }
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn choices(options: &Value) -> String {
    let options = options.as_array().map_or(&[][..], Vec::as_slice);
    let listed: Vec<String> = options.iter().take(CHOICES_MAX).map(quote).collect();
    let list = listed.join(", ");
    match options.len() {
        0 => "nothing".to_owned(),
        1 => list,
        more if more > CHOICES_MAX => format!("one of {list}, …"),
        _ => format!("one of {list}"),
    }
}

fn names(names: &[String]) -> String {
    let listed: Vec<String> = names
        .iter()
        .take(CHOICES_MAX)
        .map(|name| text::shorten(name, VALUE_MAX))
        .collect();
    listed.join(", ")
}

fn length(bound: &str, limit: u64, unit: &str, found: &Value) -> String {
    let has = match found {
        Value::String(text) => text.chars().count(),
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    format!("must have {bound} {} but has {has}", counted(limit, unit))
}

fn counted(count: u64, unit: &str) -> String {
    match (count, unit) {
        (1, unit) => format!("1 {unit}"),
        (count, "property") => format!("{count} properties"),
        (count, unit) => format!("{count} {unit}s"),
    }
}

/// Accounts for each form of an `anyOf` or `oneOf` by the first thing that does not fit it.
fn none_of(whole: &ValidationError<'_>, forms: &[Vec<ValidationError<'static>>]) -> String {
    let above = path::dotted("", whole.instance_path());
    let reasons = forms.iter().filter_map(|errors| errors.first());
    let mut accounts: Vec<String> = Vec::new();
    for reason in reasons {
        let place = path::dotted("", reason.instance_path());
        let deeper = place.strip_prefix(&above).unwrap_or(&place);
        let inside = if deeper.is_empty() {
            String::new()
        } else {
            format!("at {deeper}: ")
        };
        let account = text::shorten(&format!("{inside}{}", of(reason)), FORM_MAX);
        if !accounts.contains(&account) {
            accounts.push(account);
        }
    }
    let more = if accounts.len() > FORMS_MAX {
        " / …"
    } else {
        ""
    };
    accounts.truncate(FORMS_MAX);
    format!(
        "fits none of the allowed forms ({}{more})",
        accounts.join(" / ")
    )
}
