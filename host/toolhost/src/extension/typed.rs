//! Native tools whose arguments and output are Rust types.

use std::future::Future;
use std::marker::PhantomData;

use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolhost_contract::{HandlerError, JsonObject, JsonSchemaObject, ToolCatalogItem, ToolName};

use super::{ExtensionError, ToolsApi};
use crate::handler::{HandlerContext, HandlerFailure, ToolHandler};

impl ToolsApi<'_> {
    /// Registers a tool whose arguments and output are Rust types, as [`Self::register`] does for JSON.
    ///
    /// `parameters` is the JSON Schema of `I`, and `outputSchema` that of `O` if it describes an object. Doc
    /// comments of the types are descriptions for the model. The arguments are checked against the schema
    /// before they are deserialized; those that the schema allows and `I` does not are `E_TOOL` with serde's
    /// message.
    ///
    /// ```
    /// # fn example(agent: &toolhost::Agent) -> Result<(), toolhost::extension::ExtensionError> {
    /// use toolhost::extension::HandlerContext;
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// #[serde(deny_unknown_fields)]
    /// struct Query {
    ///     /// Name of the city.
    ///     city: String,
    /// }
    ///
    /// #[derive(serde::Serialize, schemars::JsonSchema)]
    /// struct Weather {
    ///     degrees: f64,
    /// }
    ///
    /// agent.extend("weather-ext", |api| {
    ///     let get = async |_: HandlerContext, query: Query| {
    ///         Ok(Weather { degrees: query.city.len() as f64 })
    ///     };
    ///     api.tools().register_typed("weather__get", "The weather in a city, now", get)
    /// })
    /// # }
    /// ```
    ///
    /// The types need the crates `serde` and `schemars` (version 1) as dependencies. A handler with state clones
    /// it for each call:
    ///
    /// ```
    /// # fn example(api: &toolhost::extension::ExtensionApi) -> Result<(), toolhost::extension::ExtensionError> {
    /// use std::sync::{Arc, Mutex};
    ///
    /// use toolhost::extension::HandlerContext;
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Note {
    ///     text: String,
    /// }
    ///
    /// let notes = Arc::new(Mutex::new(Vec::new()));
    /// let add = move |_: HandlerContext, note: Note| {
    ///     let notes = Arc::clone(&notes);
    ///     async move {
    ///         let mut notes = notes.lock().map_err(|_| toolhost::HandlerError::new("the notes are lost"))?;
    ///         notes.push(note.text);
    ///         Ok(notes.len())
    ///     }
    /// };
    /// api.tools().register_typed("notes__add", "Adds a note", add)
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ExtensionError`] if the name is malformed or taken, or `I` is not an object.
    pub fn register_typed<I, O, F, Fut>(
        self,
        name: &str,
        description: &str,
        handler: F,
    ) -> Result<(), ExtensionError>
    where
        I: DeserializeOwned + JsonSchema + 'static,
        O: Serialize + JsonSchema + 'static,
        F: Fn(HandlerContext, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, HandlerError>> + Send + 'static,
    {
        let extension = || self.0.name().to_owned();
        let parsed = ToolName::parse(name).map_err(|reason| ExtensionError::Name {
            extension: extension(),
            tool: name.to_owned(),
            reason,
        })?;
        let parameters = JsonSchemaObject::parse(schema_of::<I>(SchemaGenerator::default()));
        let parameters = parameters.map_err(|reason| ExtensionError::Parameters {
            extension: extension(),
            tool: name.to_owned(),
            reason: reason.to_string(),
        })?;
        let output = schema_of::<O>(SchemaSettings::default().for_serialize().into_generator());
        let item = ToolCatalogItem {
            name: parsed,
            description: Some(description.to_owned()),
            parameters: Some(parameters),
            output_schema: JsonSchemaObject::parse(output).ok(),
            source: None,
        };
        let types = PhantomData;
        self.register(item, TypedHandler { handler, types })
    }
}

/// Returns the schema of a type without the keywords that mean nothing to a model.
fn schema_of<T: JsonSchema>(generator: SchemaGenerator) -> Value {
    let mut schema = generator.into_root_schema_for::<T>();
    for keyword in ["$schema", "title"] {
        schema.remove(keyword);
    }
    schema.to_value()
}

/// Deserializes the arguments, and serializes the output.
struct TypedHandler<I, F> {
    handler: F,
    types: PhantomData<fn(I)>,
}

impl<I, O, F, Fut> ToolHandler for TypedHandler<I, F>
where
    I: DeserializeOwned + 'static,
    O: Serialize + 'static,
    F: Fn(HandlerContext, I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<O, HandlerError>> + Send + 'static,
{
    fn call(
        &self,
        context: HandlerContext,
        input: JsonObject,
    ) -> BoxFuture<'_, Result<Value, HandlerFailure>> {
        let called = serde_json::from_value(Value::Object(input));
        let called = called.map(|input| (self.handler)(context, input));
        Box::pin(async move {
            let output = called.map_err(HandlerError::from)?.await?;
            Ok(serde_json::to_value(output).map_err(HandlerError::from)?)
        })
    }
}
