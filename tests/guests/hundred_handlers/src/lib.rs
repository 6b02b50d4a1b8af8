//! Serves a hundred handlers, `h0` to `h99`; each returns its input. A registry of many tools.

use guest_glue::{ExportSpec, Guest, Outcome, ToolContext, ToolError, handler};

struct Served;
guest_glue::export!(Served with_types_in guest_glue);

impl Guest for Served {
    fn describe() -> Vec<ExportSpec> {
        (0..100).map(|n| handler(&format!("h{n}"))).collect()
    }

    fn call(_name: String, _context: ToolContext, input: String) -> Result<Outcome, ToolError> {
        Ok(Outcome::Output(input))
    }
}
