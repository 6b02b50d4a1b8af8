//! Panics in `describe`.

use guest_glue::{ExportSpec, Guest, Outcome, ToolContext, ToolError};

struct Described;
guest_glue::export!(Described with_types_in guest_glue);

impl Guest for Described {
    fn describe() -> Vec<ExportSpec> {
        panic!("no description today")
    }

    fn call(_: String, _: ToolContext, _: String) -> Result<Outcome, ToolError> {
        Ok(Outcome::Output("null".into()))
    }
}
