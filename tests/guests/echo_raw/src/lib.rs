//! Returns text that is not validated, in place of JSON.
//!
//! Input `{output}`: that text; or `{depth}`: arrays nested to that depth.

use guest_glue::{Outcome, ToolError, Value, number, text};

guest_glue::serve!(run);

fn run(input: Value) -> Result<Outcome, ToolError> {
    let output = match number(&input, "depth") {
        Some(depth) => format!(
            "{}{}",
            "[".repeat(depth as usize),
            "]".repeat(depth as usize)
        ),
        None => text(&input, "output", "").to_owned(),
    };
    Ok(Outcome::Output(output))
}
