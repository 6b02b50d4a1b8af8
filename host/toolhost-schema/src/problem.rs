//! Describes why a value does not fit a schema: `expected string but got integer`.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ReferencingError, ValidationError};
use serde_json::Value;
use toolhost_contract::text;

use super::path;
use toolhost_contract::text::{QUOTED_MAX, short};

/// Maximum length of the description of one alternative of a schema, in characters.
const FORM_MAX: usize = 100;

/// Maximum number of alternatives of a schema that are described.
const FORMS_MAX: usize = 3;

/// Maximum number of allowed values that are listed.
const CHOICES_MAX: usize = 10;

/// Describes an error, without its place.
pub(super) fn of(error: &ValidationError<'_>) -> String {
    use ValidationErrorKind as Kind;

    let value = error.instance();
    let must = |rule: String| format!("must {rule} but is {}", quote(value));
    match error.kind() {
        Kind::Type { kind } => format!("expected {} but got {}", types(kind), type_of(value)),
        Kind::Required { property } => format!("required property {} is missing", quote(property)),
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            let names = unexpected.iter().map(String::as_str);
            format!("unexpected property {}", text::listed(names, CHOICES_MAX))
        }
        Kind::Enum { options } => must(format!("be {}", choices(options))),
        Kind::Constant { expected_value } => must(format!("be {}", quote(expected_value))),
        Kind::Minimum { limit } => must(format!("be at least {limit}")),
        Kind::Maximum { limit } => must(format!("be at most {limit}")),
        Kind::ExclusiveMinimum { limit } => must(format!("be more than {limit}")),
        Kind::ExclusiveMaximum { limit } => must(format!("be less than {limit}")),
        Kind::MultipleOf { multiple_of } => must(format!("be a multiple of {multiple_of}")),
        Kind::MinLength { limit } => length("at least", *limit, "character", value),
        Kind::MaxLength { limit } => length("at most", *limit, "character", value),
        Kind::MinItems { limit } => length("at least", *limit, "item", value),
        Kind::MaxItems { limit } => length("at most", *limit, "item", value),
        Kind::MinProperties { limit } => length("at least", *limit, "property", value),
        Kind::MaxProperties { limit } => length("at most", *limit, "property", value),
        Kind::AdditionalItems { limit } => {
            let most = counted(*limit as u64, "item");
            format!("must have at most {most} but has more")
        }
        Kind::UnevaluatedItems { .. } => "has items that are not allowed".to_owned(),
        Kind::Pattern { pattern } => must(format!("match the pattern {}", short(pattern))),
        Kind::Format { format } => must(format!("be of the format {}", short(format))),
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
            format!("unknown $schema '{}'", short(specification))
        }
        Kind::BacktrackLimitExceeded { .. }
        | Kind::ContentEncoding { .. }
        | Kind::ContentMediaType { .. }
        | Kind::FromUtf8 { .. }
        | Kind::Referencing(_) => text::shorten(&error.to_string(), FORM_MAX),
    }
}

/// Returns whether the error is about `additionalProperties: false` of an object without properties. The
/// validator then reports the object instead of its members.
pub(super) fn forbids_members(error: &ValidationError<'_>) -> bool {
    matches!(error.kind(), ValidationErrorKind::FalseSchema)
        && error
            .schema_path()
            .as_str()
            .ends_with("/additionalProperties")
}

/// Writes a value as JSON, shortened to 80 characters.
pub(super) fn quote(value: &Value) -> String {
    let mut json = Head(Vec::new());
    // The error of `Head` ends the writing when it has enough.
    let _ = serde_json::to_writer(&mut json, value);
    short(&String::from_utf8_lossy(&json.0))
}

/// Keeps the beginning of a text, so that quoting a large value is cheap.
struct Head(Vec<u8>);

impl std::io::Write for Head {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // Enough for the quoted characters, of up to four bytes each.
        if self.0.len() > 8 * QUOTED_MAX {
            return Err(std::io::ErrorKind::WriteZero.into());
        }
        self.0.extend(bytes.iter().take(8 * QUOTED_MAX));
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
    let texts: Vec<String> = options.iter().take(CHOICES_MAX).map(quote).collect();
    let list = texts.join(", ");
    match options.len() {
        0 => "nothing".to_owned(),
        1 => list,
        more if more > CHOICES_MAX => format!("one of {list}, …"),
        _ => format!("one of {list}"),
    }
}

fn length(bound: &str, limit: u64, unit: &str, value: &Value) -> String {
    let has = match value {
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

/// Describes the first issue with each alternative of an `anyOf` or `oneOf`.
fn none_of(whole: &ValidationError<'_>, forms: &[Vec<ValidationError<'static>>]) -> String {
    let prefix = path::dotted("", whole.instance_path());
    let mut issues: Vec<String> = Vec::new();
    for error in forms.iter().filter_map(|errors| errors.first()) {
        let place = path::dotted("", error.instance_path());
        let issue = match place.strip_prefix(&prefix).unwrap_or(&place) {
            "" => of(error),
            deeper => format!("at {deeper}: {}", of(error)),
        };
        let issue = text::shorten(&issue, FORM_MAX);
        if !issues.contains(&issue) {
            issues.push(issue);
        }
    }
    if issues.len() > FORMS_MAX {
        issues.truncate(FORMS_MAX);
        issues.push("…".to_owned());
    }
    format!("fits none of the allowed forms ({})", issues.join(" / "))
}
