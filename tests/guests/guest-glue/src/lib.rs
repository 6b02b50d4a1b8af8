//! Shared code of the hostile guests: the contract's bindings, `serve!`, and error reports.
//!
//! A guest is one file: `guest_glue::serve!(run);` and a function `run` from the input's JSON to
//! the output's. The bindings also hold raw WASI; a component imports only what its guest uses.

// `export!` is used in other crates, so the bindings must be able to name this one from anywhere.
extern crate self as guest_glue;

mod errno;
mod symlink;

pub use errno::{Attempt, io_error};
pub use serde_json::{Value, json};
pub use symlink::symlink;
pub use traces::leave_traces;

wit_bindgen::generate!({
    path: "../../../wit",
    inline: r#"
        package guests:glue;

        world hostile {
            include goondan:tool/tool@2.0.0;
            import goondan:tool/modes@2.0.0;
            import wasi:io/poll@0.2.12;
            import wasi:clocks/monotonic-clock@0.2.12;
            import wasi:filesystem/types@0.2.12;
            import wasi:filesystem/preopens@0.2.12;
            import wasi:random/random@0.2.12;
            import wasi:random/insecure@0.2.12;
            import wasi:random/insecure-seed@0.2.12;
        }
    "#,
    world: "guests:glue/hostile",
    generate_all,
    pub_export_macro: true,
    default_bindings_module: "guest_glue",
    runtime_path: "guest_glue::wit_bindgen::rt",
});

#[doc(hidden)]
pub use wit_bindgen;

pub use exports::goondan::tool::handlers::Guest;
pub use goondan::tool::types::{ExportSpec, Outcome, ToolContext, ToolError};

/// Serves handlers. `serve!(run)` serves one of that name; `serve!("a" => f, "b" => g)` several.
///
/// Each is a `fn(Value) -> Result<impl Into<Outcome>, ToolError>`.
#[macro_export]
macro_rules! serve {
    ($function:ident) => {
        $crate::serve!("run" => $function);
    };
    ($($name:literal => $function:ident),+ $(,)?) => {
        struct Served;
        $crate::export!(Served with_types_in $crate);

        impl $crate::Guest for Served {
            fn describe() -> Vec<$crate::ExportSpec> {
                vec![$($crate::handler($name)),+]
            }

            fn call(
                name: String,
                _context: $crate::ToolContext,
                input: String,
            ) -> Result<$crate::Outcome, $crate::ToolError> {
                let input = $crate::parse(&input)?;
                match name.as_str() {
                    $($name => $function(input).map(Into::into),)+
                    _ => Err($crate::error(format!("no handler `{name}`"))),
                }
            }
        }
    };
}

/// Describes a handler that takes any object.
pub fn handler(name: &str) -> ExportSpec {
    let parameters = Some(r#"{"type":"object"}"#.into());
    ExportSpec {
        name: name.into(),
        description: Some(format!("Test handler {name}")),
        parameters,
    }
}

/// Parses a handler's input.
pub fn parse(input: &str) -> Result<Value, ToolError> {
    serde_json::from_str(input).map_err(|reason| error(format!("the input is not JSON: {reason}")))
}

/// Returns an error with only a message.
pub fn error(message: impl Into<String>) -> ToolError {
    ToolError {
        message: message.into(),
        name: None,
        code: None,
        suggestion: None,
        help_url: None,
    }
}

impl From<Value> for Outcome {
    fn from(value: Value) -> Self {
        Self::Output(value.to_string())
    }
}

/// Reads a whole number of the input.
pub fn number(input: &Value, key: &str) -> Option<u64> {
    input[key].as_u64()
}

/// Reads a text of the input.
pub fn text<'a>(input: &'a Value, key: &str, default: &'a str) -> &'a str {
    input[key].as_str().unwrap_or(default)
}
