//! The catalog in the formats of model providers and MCP clients.

use serde_json::{Map, Value, json};
use toolhost_contract::{JsonSchemaObject, ToolCatalogItem};

use super::ToolCatalog;
use super::provider::ProviderTool;

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
    ///
    /// Schemas that the API refuses are rewritten, as those of [`to_anthropic`](Self::to_anthropic) are:
    /// [`findings_for`](Self::findings_for) lists what differs and what the API refuses all the same.
    #[must_use]
    pub fn to_openai(&self) -> Value {
        self.each(|item| {
            let tool = ProviderTool::for_openai(item);
            json!({"type": "function", "function": for_provider(item, "parameters", tool)})
        })
    }

    /// Returns the `tools` of an Anthropic request: `[{"name", "description"?, "input_schema"}]`.
    ///
    /// The API refuses `allOf`, `anyOf` and `oneOf` at the top of a schema. What they say of the arguments is in
    /// `properties`, `required` and the description instead, and arguments are checked against the full schema.
    #[must_use]
    pub fn to_anthropic(&self) -> Value {
        self.each(|item| for_provider(item, "input_schema", ProviderTool::of(item)))
    }

    /// Returns the `tools` of a Gemini request:
    /// `[{"functionDeclarations": [{"name", "description"?, "parametersJsonSchema"}]}]`.
    ///
    /// Schemas are rewritten as those of [`to_anthropic`](Self::to_anthropic) are.
    #[must_use]
    pub fn to_gemini(&self) -> Value {
        let declarations =
            self.each(|item| for_provider(item, "parametersJsonSchema", ProviderTool::of(item)));
        json!([{"functionDeclarations": declarations}])
    }

    /// Returns the `tools` of an MCP `tools/list` response:
    /// `[{"name", "description"?, "inputSchema", "outputSchema"?}]`.
    #[must_use]
    pub fn to_mcp(&self) -> Value {
        self.each(|item| {
            let description = item.description.clone();
            let mut tool = with(item, description, "inputSchema", schema(item));
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

fn for_provider(item: &ToolCatalogItem, key: &str, tool: ProviderTool) -> Value {
    with(item, tool.description, key, Value::Object(tool.parameters))
}

fn with(item: &ToolCatalogItem, description: Option<String>, key: &str, schema: Value) -> Value {
    let mut object = Map::new();
    object.insert("name".to_owned(), item.name.as_str().into());
    if let Some(description) = description {
        object.insert("description".to_owned(), description.into());
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
