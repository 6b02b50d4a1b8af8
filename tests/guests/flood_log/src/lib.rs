//! Writes to the log. Input `{records, bytes?, level?, context?, message?}`.
//!
//! Each record is `bytes` times `l` (default 16), or `message`; `level` is a name of wasi:logging's
//! levels (default `info`), `context` defaults to `flood`. Output `{records}`.

use guest_glue::wasi::logging::logging::{Level, log};
use guest_glue::{ToolError, Value, json, number, text};

guest_glue::serve!(run);

fn run(input: Value) -> Result<Value, ToolError> {
    let records = number(&input, "records").unwrap_or(1);
    let level = match text(&input, "level", "info") {
        "trace" => Level::Trace,
        "debug" => Level::Debug,
        "warn" => Level::Warn,
        "error" => Level::Error,
        "critical" => Level::Critical,
        _ => Level::Info,
    };
    let flood = "l".repeat(number(&input, "bytes").unwrap_or(16) as usize);
    let message = text(&input, "message", &flood);
    for _ in 0..records {
        log(level, text(&input, "context", "flood"), message);
    }
    Ok(json!({ "records": records }))
}
