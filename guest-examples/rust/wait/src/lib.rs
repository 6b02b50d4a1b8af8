//! The `wait` tool: waits without using the processor.
//!
//! The sandbox's clock wakes it, and the host can end the call at any
//! moment. A call waits for at most [`LONGEST`], which is below the deadline of calls (30 s unless
//! the policy says otherwise), and returns how much is left.

use std::thread;
use std::time::{Duration, SystemTime};

use chrono::DateTime;
use serde::{Deserialize, Serialize};
use toolhost_guest::{Context, ToolError, handlers, json};

handlers! {
    "seconds" => seconds {
        description: "Waits for some seconds, at most 20 in one call; says how many are left",
        parameters: json!({
            "type": "object",
            "properties": {
                "seconds": { "type": "number", "minimum": 0, "maximum": 86_400, "examples": [0, 0.05], "description": "How long to wait" },
            },
            "required": ["seconds"],
            "additionalProperties": false,
        }),
    },
    "until" => until {
        description: "Waits until a moment, at most 20 seconds in one call; says how many are left",
        parameters: json!({
            "type": "object",
            "properties": {
                "time": { "type": "string", "description": "The moment as RFC 3339, such as 2026-11-22T03:00:00Z" },
            },
            "required": ["time"],
            "additionalProperties": false,
        }),
    },
}

/// The longest wait of one call.
const LONGEST: Duration = Duration::from_secs(20);

#[derive(Deserialize)]
struct Seconds {
    seconds: f64,
}

#[derive(Deserialize)]
struct Until {
    time: String,
}

#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Waited {
    /// Nothing is left to wait for.
    done: bool,
    waited_seconds: f64,
    /// Call again with these.
    remaining_seconds: f64,
}

fn seconds(_: &Context, input: Seconds) -> Result<Waited, ToolError> {
    let time = Duration::try_from_secs_f64(input.seconds).map_err(|_| {
        ToolError::new(format!("seconds: not a length of time: {}", input.seconds))
            .name("InvalidTimeError")
            .code("INVALID_TIME")
            .suggestion("pass a number from 0 to 86400")
    })?;
    Ok(wait(time))
}

fn until(_: &Context, input: Until) -> Result<Waited, ToolError> {
    let time = DateTime::parse_from_rfc3339(&input.time).map_err(|reason| {
        ToolError::new(format!("time: {reason}: {}", input.time))
            .name("InvalidTimeError")
            .code("INVALID_TIME")
            .suggestion("pass a moment as RFC 3339 with its zone, such as 2026-11-22T03:00:00Z")
    })?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_millis());
    // A time in the past needs no waiting.
    let then = u128::try_from(time.timestamp_millis()).unwrap_or(0);
    let left = u64::try_from(then.saturating_sub(now)).unwrap_or(u64::MAX);
    Ok(wait(Duration::from_millis(left)))
}

fn wait(time: Duration) -> Waited {
    let now = time.min(LONGEST);
    thread::sleep(now);
    let left = time - now;
    Waited {
        done: left.is_zero(),
        waited_seconds: now.as_secs_f64(),
        remaining_seconds: left.as_secs_f64(),
    }
}
