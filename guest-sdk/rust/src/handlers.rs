//! `handlers!`, and what it expands to.

use serde::de::DeserializeOwned;

use crate::bindings::tool::goondan::tool::types::{
    Outcome as ContractOutcome, ToolContext, ToolError as ContractError,
};
use crate::{Context, IntoOutcome, ToolError};

/// Exports functions as handlers, under the names that goondan.yaml uses.
///
/// ```
/// # use toolhost_guest::{Context, Outcome, ToolError, Value, json};
/// # type Input = Value;
/// # type Output = Value;
/// fn read(ctx: &Context, input: Input) -> Result<Output, ToolError> {
///     # Ok(input)
///     // …
/// }
///
/// fn write(ctx: &Context, input: Input) -> Result<Output, ToolError> {
///     # Ok(input)
///     // …
/// }
///
/// toolhost_guest::handlers! {
///     "read" => read,
///     "write" => write {
///         description: "Writes a file",
///         parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
///     },
/// }
/// # fn main() {}
/// ```
///
/// The input is any type that serde can read from a JSON object. The result is an [`IntoOutcome`],
/// the error any type that converts to a [`ToolError`]. `description` and `parameters` are optional;
/// those in goondan.yaml have precedence.
///
/// A tool that returns [`Outcome::Pending`](crate::Outcome::Pending) also has a function that the host calls later, in a
/// fresh instance:
///
/// ```
/// # use toolhost_guest::{Context, Outcome, ToolError, Value};
/// fn start(ctx: &Context, input: Value) -> Result<Outcome<Value>, ToolError> {
///     Ok(Outcome::Pending("job-1".into()))
/// }
///
/// fn poll(ctx: &Context, handle: &str) -> Result<Outcome<Value>, ToolError> {
///     Ok(Outcome::Pending(handle.into()))
/// }
///
/// fn cancel(ctx: &Context, handle: &str) {}
///
/// toolhost_guest::handlers! {
///     "start" => start,
///     ; poll: poll, cancel: cancel
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! handlers {
    (
        $($name:literal => $function:path $({ $($field:ident: $value:expr),* $(,)? })?),+ $(,)?
        $(; poll: $poll:path, cancel: $cancel:path $(,)?)?
    ) => {
        const _: () = {
            use $crate::expanded::types::{ExportSpec, Outcome, ToolContext, ToolError};

            const TOOL: &str = env!("CARGO_PKG_NAME");

            struct Served;
            $crate::expanded::tool::export_tool!(Served with_types_in $crate::expanded::tool);

            impl $crate::expanded::tool::exports::goondan::tool::handlers::Guest for Served {
                fn describe() -> Vec<ExportSpec> {
                    vec![$($crate::Handler::new($name)$($(.$field($value))*)?.into()),+]
                }

                fn call(
                    name: String,
                    context: ToolContext,
                    input: String,
                ) -> Result<Outcome, ToolError> {
                    match name.as_str() {
                        $($name => $crate::expanded::run($function, TOOL, context, &input),)+
                        _ => Err($crate::expanded::unknown(TOOL, &name, &[$($name),+])),
                    }
                }
            }

            $(
                $crate::expanded::polling::export_polling!(Served with_types_in $crate::expanded::polling);

                impl $crate::expanded::polling::exports::goondan::tool::polling::Guest for Served {
                    fn poll(context: ToolContext, handle: String) -> Result<Outcome, ToolError> {
                        $crate::expanded::poll($poll, TOOL, context, &handle)
                    }

                    fn cancel(context: ToolContext, handle: String) {
                        $crate::expanded::cancel($cancel, TOOL, context, &handle);
                    }
                }
            )?
        };
    };
}

/// Parses the input and runs a handler.
#[doc(hidden)]
pub fn run<T, U, E>(
    handler: fn(&Context, T) -> Result<U, E>,
    tool: &'static str,
    context: ToolContext,
    input: &str,
) -> Result<ContractOutcome, ContractError>
where
    T: DeserializeOwned,
    U: IntoOutcome,
    E: Into<ToolError>,
{
    let parsed = serde_json::from_str(input).map_err(|reason| ToolError::input(input, &reason))?;
    answer(handler(&Context::new(context, tool), parsed))
}

/// Polls a pending handle.
#[doc(hidden)]
pub fn poll<U, E>(
    poll: fn(&Context, &str) -> Result<U, E>,
    tool: &'static str,
    context: ToolContext,
    handle: &str,
) -> Result<ContractOutcome, ContractError>
where
    U: IntoOutcome,
    E: Into<ToolError>,
{
    answer(poll(&Context::new(context, tool), handle))
}

/// Cancels a pending handle.
#[doc(hidden)]
pub fn cancel(cancel: fn(&Context, &str), tool: &'static str, context: ToolContext, handle: &str) {
    cancel(&Context::new(context, tool), handle);
}

/// Returns the error for an unknown handler. goondan.yaml is checked against `describe`, so a model never
/// sees it.
#[doc(hidden)]
pub fn unknown(tool: &str, name: &str, known: &[&str]) -> ContractError {
    ToolError::new(format!("{tool} has no handler `{name}`"))
        .name("UnknownHandlerError")
        .code("UNKNOWN_HANDLER")
        .suggestion(format!("use {}", known.join(", ")))
        .into()
}

fn answer<U, E>(result: Result<U, E>) -> Result<ContractOutcome, ContractError>
where
    U: IntoOutcome,
    E: Into<ToolError>,
{
    match result {
        Ok(output) => Ok(output.into_outcome()?),
        Err(error) => Err(error.into().into()),
    }
}
