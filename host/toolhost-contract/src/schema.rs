//! The JSON Schema of a tool's arguments or output.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::JsonObject;

/// A JSON value that is not valid as a tool's `parameters` or `outputSchema`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaShapeError {
    /// The value is not an object.
    #[error("the schema must be an object")]
    NotAnObject,
    /// The schema does not describe an object. Arguments, and outputs with a schema, are objects.
    #[error("the top-level 'type' of the schema must be 'object'")]
    NotAnObjectSchema,
}

/// A JSON Schema whose top-level `type` is `object`.
///
/// The schema itself is validated when a bundle is loaded.
///
/// Spec: tool-spec-v2 §6.1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value")]
pub struct JsonSchemaObject(JsonObject);

impl JsonSchemaObject {
    /// Parses a schema.
    ///
    /// # Errors
    /// [`SchemaShapeError`] if the value is not an object with `type: object`.
    pub fn parse(schema: Value) -> Result<Self, SchemaShapeError> {
        let Value::Object(schema) = schema else {
            return Err(SchemaShapeError::NotAnObject);
        };
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(SchemaShapeError::NotAnObjectSchema);
        }
        Ok(Self(schema))
    }

    /// Returns the schema that allows any object.
    pub fn any_object() -> Self {
        let mut schema = JsonObject::new();
        schema.insert("type".to_owned(), Value::from("object"));
        Self(schema)
    }

    /// Returns the keywords of the schema.
    pub fn as_object(&self) -> &JsonObject {
        &self.0
    }

    /// Returns the schema as a JSON value.
    pub fn to_value(&self) -> Value {
        Value::Object(self.0.clone())
    }
}

impl TryFrom<Value> for JsonSchemaObject {
    type Error = SchemaShapeError;
    fn try_from(schema: Value) -> Result<Self, SchemaShapeError> {
        Self::parse(schema)
    }
}
