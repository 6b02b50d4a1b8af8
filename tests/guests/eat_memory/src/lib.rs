//! Allocates memory and writes to every page of it.
//!
//! Input `{bytes?, polite?}`: allocates that many bytes, or without `bytes` as many as possible. Refused
//! memory traps, as in any program; with `polite` it is an error the guest handles.
//! Output `{touched, refused}`.

use toolhost_guest::{Context, ToolError, Value, json};
use traces::touch;

toolhost_guest::handlers! { "run" => run }

const STEP_BYTES: usize = 1 << 20;

fn run(_: &Context, input: Value) -> Result<Value, ToolError> {
    let wanted = input["bytes"]
        .as_u64()
        .map_or(usize::MAX, |bytes| bytes as usize);
    let polite = input["polite"] == true;
    let mut kept = Vec::new();
    let mut touched = 0;
    while touched < wanted {
        let step = STEP_BYTES.min(wanted - touched);
        if polite && Vec::<u8>::new().try_reserve_exact(step).is_err() {
            return Ok(json!({ "touched": touched, "refused": true }));
        }
        kept.push(touch(step));
        touched += step;
    }
    Ok(json!({ "touched": touched, "refused": false }))
}
