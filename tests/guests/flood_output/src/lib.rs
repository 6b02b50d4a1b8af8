//! Returns a JSON string of `bytes` times `x`. Input `{bytes}`.

use guest_glue::{Outcome, ToolError, Value, number};

guest_glue::serve!(run);

fn run(input: Value) -> Result<Outcome, ToolError> {
    let bytes = number(&input, "bytes").unwrap_or(0) as usize;
    let mut output = String::with_capacity(bytes + 2);
    output.push('"');
    output.extend(std::iter::repeat_n('x', bytes));
    output.push('"');
    Ok(Outcome::Output(output))
}
