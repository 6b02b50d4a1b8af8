//! The catalog in the formats of model providers and MCP clients.

use serde_json::{Map, Value, json};
use toolhost_contract::{JsonSchemaObject, ToolCatalogItem};

use super::ToolCatalog;

impl ToolCatalog {
    /// Returns the items in the format of the specification:
    /// `[{"name", "description"?, "parameters"?, "outputSchema"?, "source"?}]`.
    ///
    /// Spec: tool-spec-v2 §13.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!(self.items())
    }

    /// Returns the `tools` of an OpenAI request:
    /// `[{"type": "function", "function": {"name", "description"?, "parameters"}}]`.
    #[must_use]
    pub fn to_openai(&self) -> Value {
        self.each(|item| {
            let mut parameters = schema(item);
            if let Some(keywords) = parameters.as_object_mut() {
                // The API rejects an object schema without `properties`.
                keywords.entry("properties").or_insert_with(|| json!({}));
            }
            json!({"type": "function", "function": with(item, "parameters", parameters)})
        })
    }

    /// Returns the `tools` of an Anthropic request: `[{"name", "description"?, "input_schema"}]`.
    #[must_use]
    pub fn to_anthropic(&self) -> Value {
        self.each(|item| with(item, "input_schema", schema(item)))
    }

    /// Returns the `tools` of an MCP `tools/list` response:
    /// `[{"name", "description"?, "inputSchema", "outputSchema"?}]`.
    #[must_use]
    pub fn to_mcp(&self) -> Value {
        self.each(|item| {
            let mut tool = with(item, "inputSchema", schema(item));
            if let (Some(keys), Some(schema)) = (tool.as_object_mut(), &item.output_schema) {
                keys.insert("outputSchema".to_owned(), schema.to_value());
            }
            tool
        })
    }

    fn each(&self, export: impl Fn(&ToolCatalogItem) -> Value) -> Value {
        self.items().iter().map(export).collect()
    }
}

fn with(item: &ToolCatalogItem, key: &str, schema: Value) -> Value {
    let mut object = Map::new();
    object.insert("name".to_owned(), item.name.as_str().into());
    if let Some(description) = &item.description {
        object.insert("description".to_owned(), description.as_str().into());
    }
    object.insert(key.to_owned(), schema);
    Value::Object(object)
}

fn schema(item: &ToolCatalogItem) -> Value {
    match &item.parameters {
        Some(parameters) => parameters.to_value(),
        None => JsonSchemaObject::any_object().to_value(),
    }
}
