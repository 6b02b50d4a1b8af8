//! Polls in unusual ways. Input `{kind, count?}`. Kinds:
//!
//! `many` polls one timer, named `count` times, over and over; `once` does so one time; `none` polls an
//! empty list; `due` polls a timer that is due, over and over; `never` waits for one that is 584 years
//! away. Output `{ready}`: how many were.

use guest_glue::wasi::clocks::monotonic_clock::subscribe_duration;
use guest_glue::wasi::io::poll::poll;
use guest_glue::{ToolError, Value, json, number, text};

guest_glue::serve!(run);

fn run(input: Value) -> Result<Value, ToolError> {
    let due = subscribe_duration(0);
    let many = || vec![&due; number(&input, "count").unwrap_or(1) as usize];
    let ready = match text(&input, "kind", "due") {
        "many" => {
            let many = many();
            loop {
                poll(&many);
            }
        }
        "once" => poll(&many()).len(),
        "none" => poll(&[]).len(),
        "never" => poll(&[&subscribe_duration(u64::MAX)]).len(),
        _ => loop {
            poll(&[&due]);
        },
    };
    Ok(json!({ "ready": ready }))
}
