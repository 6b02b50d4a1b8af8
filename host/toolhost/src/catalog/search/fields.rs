//! The texts of a catalog item, by field. What is read of an item is bounded, whoever wrote it.

use serde_json::Value;
use toolhost_contract::{JsonObject, ToolCatalogItem};

/// A field of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// Name of the handler: `read` in `file-system__read`.
    Name,
    /// Name of the Tool: `file-system`.
    Tool,
    Description,
    /// Names of parameters.
    Parameters,
    /// Descriptions of parameters.
    ParameterTexts,
    /// The values that a parameter takes, if they are listed.
    ParameterValues,
}

impl Field {
    pub(super) const ALL: [Self; 6] = [
        Self::Name,
        Self::Tool,
        Self::Description,
        Self::Parameters,
        Self::ParameterTexts,
        Self::ParameterValues,
    ];

    /// How much a word in this field counts for the order.
    pub(super) fn weight(self) -> f32 {
        match self {
            Self::Name => 6.0,
            Self::ParameterValues => 2.0,
            Self::Description => 1.5,
            Self::Tool | Self::Parameters => 1.0,
            Self::ParameterTexts => 0.3,
        }
    }

    /// How much a word in this field counts for whether the tool fits.
    pub(super) fn credit(self) -> f32 {
        match self {
            Self::Name => 1.0,
            Self::ParameterValues => 0.9,
            Self::Tool | Self::Description => 0.8,
            Self::Parameters => 0.7,
            Self::ParameterTexts => 0.5,
        }
    }

    pub(super) fn is_of_parameters(self) -> bool {
        matches!(
            self,
            Self::Parameters | Self::ParameterTexts | Self::ParameterValues
        )
    }
}

/// Bytes read of a description.
const DESCRIPTION_BYTES: usize = 4 << 10;

/// Bytes read of all texts of a schema.
const SCHEMA_BYTES: usize = 8 << 10;

/// Values read of a schema.
const SCHEMA_VALUES: usize = 1024;

/// Depth to which a schema is read.
const SCHEMA_DEPTH: usize = 16;

/// Keywords whose values are no text for a reader.
const SKIPPED_KEYWORDS: [&str; 10] = [
    "type", "format", "pattern", "required", "default", "const", "examples", "$ref", "$id",
    "$schema",
];

/// Calls `each` with the texts of an item.
pub(super) fn each_text(item: &ToolCatalogItem, mut each: impl FnMut(Field, &str)) {
    each(Field::Name, item.name.export().as_str());
    each(Field::Tool, item.name.resource().as_str());
    if let Some(description) = &item.description {
        each(Field::Description, start(description, DESCRIPTION_BYTES));
    }
    if let Some(parameters) = &item.parameters {
        let mut reader = SchemaReader {
            bytes: SCHEMA_BYTES,
            values: SCHEMA_VALUES,
            each: &mut each,
        };
        reader.keywords(parameters.as_object(), SCHEMA_DEPTH);
    }
}

/// Returns the first `bytes` of a text, or up to three fewer.
pub(super) fn start(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes))
        .unwrap_or_default()
}

struct SchemaReader<'e> {
    /// Bytes that may still be read.
    bytes: usize,
    /// Values that may still be read.
    values: usize,
    each: &'e mut dyn FnMut(Field, &str),
}

impl SchemaReader<'_> {
    fn schema(&mut self, schema: &Value, depth: usize) {
        if self.values == 0 || depth == 0 {
            return;
        }
        self.values -= 1;
        match schema {
            Value::Object(keywords) => self.keywords(keywords, depth - 1),
            Value::Array(schemas) => {
                for schema in schemas.iter().take(self.values) {
                    self.schema(schema, depth - 1);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn keywords(&mut self, keywords: &JsonObject, depth: usize) {
        for (keyword, value) in keywords.iter().take(self.values) {
            match (keyword.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    for (name, schema) in properties.iter().take(self.values) {
                        self.text(Field::Parameters, name);
                        self.schema(schema, depth);
                    }
                }
                ("description" | "title", Value::String(text)) => {
                    self.text(Field::ParameterTexts, text);
                }
                ("enum", Value::Array(values)) => {
                    for text in values.iter().take(self.values).filter_map(Value::as_str) {
                        self.text(Field::ParameterValues, text);
                    }
                }
                (keyword, _) if SKIPPED_KEYWORDS.contains(&keyword) => {}
                (_, value) => self.schema(value, depth),
            }
        }
    }

    fn text(&mut self, field: Field, text: &str) {
        let text = start(text, self.bytes);
        self.bytes -= text.len();
        self.values = self.values.saturating_sub(1);
        (self.each)(field, text);
    }
}
