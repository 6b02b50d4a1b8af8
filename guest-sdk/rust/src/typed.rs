//! What `#[tool]` expands to.

use std::borrow::Cow;

use schemars::generate::Contract;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use crate::bindings::tool::goondan::tool::types::{
    Outcome as ContractOutcome, ToolContext, ToolError as ContractError,
};
use crate::outcome::answer;
use crate::schema::Anything;
use crate::{Context, Handler, IntoOutcome, Outcome, ToolError, schema, text};

/// What the host gets of a call.
pub type Answer = Result<ContractOutcome, ContractError>;

/// A function with `#[tool]`. The macro implements it for a type with the name of the function.
pub trait Tool {
    const NAME: &'static str;

    fn handler() -> Handler;

    fn call(context: &Context, input: &str) -> Answer;
}

/// Runs a tool.
pub fn call<T: Tool>(tool: &'static str, context: ToolContext, input: &str) -> Answer {
    T::call(&Context::new(context, tool), input)
}

/// Describes a tool. `doc` is its doc comment.
///
/// # Panics
/// The input is not an object: `toolhost build` fails with the message.
#[track_caller]
pub fn describe<T: JsonSchema>(
    name: &'static str,
    doc: &str,
    output: fn() -> Option<Value>,
) -> Handler {
    let schema = schema::of::<T>(Contract::Deserialize);
    let Some(parameters) = schema::as_object(schema, Anything::IsAnObject) else {
        panic!(
            "the input of the tool `{name}` is `{}`, which is not an object: give the argument another name than \
             `input`, and it is one of the model's arguments",
            T::schema_name(),
        );
    };
    let handler = Handler::new(name).parameters(parameters);
    let handler = handler.output_schema(output());
    match text::description(doc) {
        description if description.is_empty() => handler,
        description => handler.description(description),
    }
}

/// What a function returned. A `Result` has the methods itself; anything else has those of [`ReturnedValue`], which
/// Rust takes where there are no others.
pub struct Returned<R>(pub R);

impl<T, E> Returned<Result<T, E>> {
    pub fn answer(self) -> Answer
    where
        T: IntoOutcome,
        E: Into<ToolError>,
    {
        answer(self.0)
    }

    pub fn output_schema() -> Option<Value>
    where
        T: JsonSchema,
    {
        output_schema::<T>()
    }
}

/// See [`Returned`].
pub trait ReturnedValue<T> {
    fn answer(self) -> Answer
    where
        T: IntoOutcome;

    fn output_schema() -> Option<Value>
    where
        T: JsonSchema;
}

impl<T> ReturnedValue<T> for Returned<T> {
    fn answer(self) -> Answer
    where
        T: IntoOutcome,
    {
        answer::<T, ToolError>(Ok(self.0))
    }

    fn output_schema() -> Option<Value>
    where
        T: JsonSchema,
    {
        output_schema::<T>()
    }
}

fn output_schema<T: JsonSchema>() -> Option<Value> {
    schema::as_object(schema::of::<T>(Contract::Serialize), Anything::IsNoObject)
}

/// That of the finished output.
impl<T: JsonSchema> JsonSchema for Outcome<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
