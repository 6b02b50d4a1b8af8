//! The keywords of JSON Schema, of all drafts.

/// Keywords that a misspelt one is compared with.
pub(super) const KNOWN: [&str; 59] = [
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$dynamicRef",
    "$recursiveAnchor",
    "$recursiveRef",
    "$ref",
    "$schema",
    "$vocabulary",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "definitions",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "deprecated",
    "description",
    "else",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "readOnly",
    "required",
    "then",
    "title",
    "type",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
    "writeOnly",
];

/// Names that are one edit away from a keyword, or too short to compare, and have a meaning of their own:
/// `example` is OpenAPI's.
const ANNOTATIONS: [&str; 5] = ["$id", "example", "id", "if", "not"];

/// Returns whether a keyword annotates a schema.
pub(super) fn is_annotation(keyword: &str) -> bool {
    keyword.starts_with("x-") || ANNOTATIONS.contains(&keyword)
}

/// The value that the subschemas of a keyword apply to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applies {
    /// To the value of the schema with the keyword.
    ToTheSameValue,
    /// To members, items or names of it, or to none.
    Inside,
}

/// The keywords with a schema, or with a list or map of schemas.
pub(super) const SUBSCHEMAS: [(&str, Applies); 21] = [
    ("allOf", Applies::ToTheSameValue),
    ("anyOf", Applies::ToTheSameValue),
    ("oneOf", Applies::ToTheSameValue),
    ("not", Applies::ToTheSameValue),
    ("if", Applies::ToTheSameValue),
    ("then", Applies::ToTheSameValue),
    ("else", Applies::ToTheSameValue),
    ("dependentSchemas", Applies::ToTheSameValue),
    ("dependencies", Applies::ToTheSameValue),
    ("properties", Applies::Inside),
    ("patternProperties", Applies::Inside),
    ("additionalProperties", Applies::Inside),
    ("propertyNames", Applies::Inside),
    ("unevaluatedProperties", Applies::Inside),
    ("items", Applies::Inside),
    ("prefixItems", Applies::Inside),
    ("additionalItems", Applies::Inside),
    ("contains", Applies::Inside),
    ("unevaluatedItems", Applies::Inside),
    ("$defs", Applies::Inside),
    ("definitions", Applies::Inside),
];

/// Returns whether the value of a keyword is a map of schemas.
pub(super) fn holds_a_map(keyword: &str) -> bool {
    matches!(
        keyword,
        "properties"
            | "patternProperties"
            | "dependentSchemas"
            | "dependencies"
            | "$defs"
            | "definitions"
    )
}

/// Returns whether a keyword beside `properties` may declare properties of the same value.
pub(super) fn declares_properties(keyword: &str) -> bool {
    matches!(
        keyword,
        "patternProperties"
            | "$ref"
            | "$dynamicRef"
            | "$recursiveRef"
            | "allOf"
            | "anyOf"
            | "oneOf"
            | "if"
            | "then"
            | "else"
            | "dependentSchemas"
            | "dependencies"
    )
}
