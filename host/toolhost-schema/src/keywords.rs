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
    /// To members or items of it, one of the subschemas to each.
    OneInside,
    /// To members, items or names of it, perhaps all of the subschemas to each.
    AllInside,
    /// To none: references name them.
    Nothing,
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
    ("properties", Applies::OneInside),
    ("patternProperties", Applies::AllInside),
    ("additionalProperties", Applies::OneInside),
    ("propertyNames", Applies::AllInside),
    ("unevaluatedProperties", Applies::AllInside),
    ("items", Applies::OneInside),
    ("prefixItems", Applies::OneInside),
    ("additionalItems", Applies::OneInside),
    ("contains", Applies::AllInside),
    ("unevaluatedItems", Applies::AllInside),
    ("$defs", Applies::Nothing),
    ("definitions", Applies::Nothing),
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
