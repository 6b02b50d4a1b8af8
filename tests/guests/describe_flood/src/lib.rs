//! Describes more handlers than a component may have: 257, `h0` … `h256`.

use guest_glue::{ExportSpec, Guest, Outcome, ToolContext, ToolError, handler};

struct Described;
guest_glue::export!(Described with_types_in guest_glue);

impl Guest for Described {
    fn describe() -> Vec<ExportSpec> {
        (0..257).map(|n| handler(&format!("h{n}"))).collect()
    }

    fn call(_: String, _: ToolContext, _: String) -> Result<Outcome, ToolError> {
        Ok(Outcome::Output("null".into()))
    }
}
