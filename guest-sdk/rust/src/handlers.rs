//! `handlers!`, and what it expands to.

use serde::de::DeserializeOwned;

use crate::bindings::tool::goondan::tool::types::{
    Outcome as ContractOutcome, ToolContext, ToolError as ContractError,
};
use crate::integers::with_plain_integers;
use crate::outcome::answer;
use crate::{Context, IntoOutcome, ToolError};

/// Exports functions as handlers: those with [`#[tool]`](crate::tool) by their names, and others under the names that
/// goondan.yaml uses.
///
/// ```
/// # use toolhost_guest::{handlers, tool};
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// handlers! { add }
/// # fn main() {}
/// ```
///
/// Of a function in a module, write the path: `handlers! { add, files::read }`. A function that is not listed is not
/// exported.
///
/// A function without the attribute takes `&Context` and its input, and stands behind its name:
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
        $(
            $($($tool:ident)::+)?
            $($name:literal => $function:path $({ $($field:ident: $value:expr),* $(,)? })?)?
        ),+
        $(; poll: $poll:path, cancel: $cancel:path $(,)?)?
    ) => {
        const _: () = {
            use $crate::expanded::types::{ExportSpec, Outcome, ToolContext, ToolError};

            const TOOL: &str = env!("CARGO_PKG_NAME");

            $crate::expanded::unique!($($($($tool)::+)? $($name)?),+);

            struct Served;
            $crate::expanded::tool::export_tool!(Served with_types_in $crate::expanded::tool);

            impl Served {
                fn handlers() -> Vec<$crate::Handler> {
                    vec![$(
                        $(<$($tool)::+ as $crate::expanded::Tool>::handler(),)?
                        $($crate::Handler::new($name)$($(.$field($value))*)?,)?
                    )+]
                }
            }

            impl $crate::expanded::tool::exports::goondan::tool::handlers::Guest for Served {
                fn describe() -> Vec<ExportSpec> {
                    Self::handlers().into_iter().map(Into::into).collect()
                }

                fn call(
                    name: String,
                    context: ToolContext,
                    input: String,
                ) -> Result<Outcome, ToolError> {
                    match name.as_str() {
                        $(
                            $(<$($tool)::+ as $crate::expanded::Tool>::NAME => {
                                $crate::expanded::call::<$($tool)::+>(TOOL, context, &input)
                            })?
                            $($name => $crate::expanded::run($function, TOOL, context, &input),)?
                        )+
                        _ => Err($crate::expanded::unknown(TOOL, &name, &[$(
                            $(<$($tool)::+ as $crate::expanded::Tool>::NAME,)?
                            $($name,)?
                        )+])),
                    }
                }
            }

            $crate::__export_outputs!(Served $($(($($tool)::+))?)+);

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

/// Exports what the handlers return, where one is a typed function.
#[doc(hidden)]
#[macro_export]
macro_rules! __export_outputs {
    ($served:ident) => {};
    ($served:ident $($tool:tt)+) => {
        $crate::expanded::outputs::export_outputs!($served with_types_in $crate::expanded::outputs);

        impl $crate::expanded::outputs::exports::goondan::tool::outputs::Guest for $served {
            fn describe_outputs()
            -> Vec<$crate::expanded::outputs::exports::goondan::tool::outputs::OutputSpec> {
                Self::handlers().into_iter().filter_map($crate::expanded::output).collect()
            }
        }
    };
}

/// Compares the name of a handler with those that are listed before it.
///
/// # Panics
/// One of them has this name. The macro calls it while the compiler runs: it is an error at the handler.
#[doc(hidden)]
#[track_caller]
pub const fn new_name(before: &[&str], name: &str) {
    let mut at = 0;
    while at < before.len() {
        assert!(
            !is_same(before[at].as_bytes(), name.as_bytes()),
            "`handlers!` lists another function of this name before: `#[tool(name = \"…\")]` gives one another name"
        );
        at += 1;
    }
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
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
    answer(handler(&Context::new(context, tool), parse(input)?))
}

/// Parses the input. `10.0` and `1e3` are integers for the host's JSON Schema, and therefore for the handler's
/// type; only an input that does not fit without that is looked through for them.
#[doc(hidden)]
pub fn parse<T: DeserializeOwned>(input: &str) -> Result<T, ToolError> {
    serde_json::from_str(input).or_else(|reason| {
        with_plain_integers(input)
            .and_then(|plain| serde_json::from_str(&plain).ok())
            .ok_or_else(|| ToolError::input(input, &reason))
    })
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

#[cfg(test)]
mod tests {
    use super::parse;

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Input {
        text: String,
        sizes: Vec<u64>,
        limit: Option<i32>,
    }

    #[test]
    fn an_integer_may_have_a_fraction_of_zero() {
        let input: Input = parse(r#"{"text": "1.0", "sizes": [10.0, 2], "limit": -1e2}"#).unwrap();
        let expected = Input {
            text: "1.0".into(),
            sizes: vec![10, 2],
            limit: Some(-100),
        };
        assert_eq!(input, expected);
        let error = parse::<Input>(r#"{"text": "", "sizes": [1.5]}"#).unwrap_err();
        assert_eq!(error.code.as_deref(), Some("INVALID_INPUT"));
        assert!(error.message.contains("sizes[0]"), "{error}");
    }
}
