//! The JSON Schema of a tool's arguments.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::JsonObject;

/// Why a JSON value cannot be a tool's `parameters`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaShapeError {
    /// Not an object.
    #[error("parameters must be a JSON Schema object")]
    NotAnObject,
    /// A model's arguments are always an object, so the schema must describe one.
    #[error("the top-level 'type' of parameters must be 'object'")]
    NotAnObjectSchema,
}

/// A JSON Schema whose top-level `type` is `object`.
///
/// Only the shape is checked here; whether it is valid JSON Schema is checked when a bundle loads.
///
/// Spec: tool-spec-v2 §6.1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct JsonSchemaObject(JsonObject);

impl JsonSchemaObject {
    /// Takes a JSON value for a schema.
    ///
    /// # Errors
    /// [`SchemaShapeError`] where it is no object, or describes something else than an object.
    pub fn parse(schema: Value) -> Result<Self, SchemaShapeError> {
        let Value::Object(schema) = schema else {
            return Err(SchemaShapeError::NotAnObject);
        };
        if schema.get("type").and_then(Value::as_str) != Some("object") {
            return Err(SchemaShapeError::NotAnObjectSchema);
        }
        Ok(Self(schema))
    }

    /// The schema of a tool that says nothing about its arguments: any object.
    #[must_use]
    pub fn any_object() -> Self {
        let mut schema = JsonObject::new();
        schema.insert("type".to_owned(), Value::from("object"));
        Self(schema)
    }

    /// The schema's keywords.
    #[must_use]
    pub fn as_object(&self) -> &JsonObject {
        &self.0
    }

    /// The schema as a JSON value.
    #[must_use]
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

impl From<JsonSchemaObject> for Value {
    fn from(schema: JsonSchemaObject) -> Value {
        Value::Object(schema.0)
    }
}
