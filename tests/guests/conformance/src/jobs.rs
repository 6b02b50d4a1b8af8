//! Tools whose calls are pending for a while. The handle is what happens then, and when: `done 1700000000000`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use toolhost_guest::{Context, Outcome, ToolError, Value, json};

/// How long the jobs take that fail.
const UNTIL_FAILURE: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
pub(crate) struct Person {
    name: String,
}

#[derive(Deserialize)]
pub(crate) struct Work {
    seconds: f64,
}

pub(crate) fn greet(_: &Context, person: Person) -> Result<String, ToolError> {
    Ok(format!("Hello, {}!", person.name))
}

pub(crate) fn slow_compute(_: &Context, work: Work) -> Result<Outcome<Value>, ToolError> {
    let time = Duration::try_from_secs_f64(work.seconds)
        .map_err(|_| ToolError::new("seconds: not a length of time"))?;
    Ok(match time {
        Duration::ZERO => Outcome::Output(done()),
        time => pending("done", time),
    })
}

pub(crate) fn failing_job(_: &Context, _: Value) -> Result<Outcome<Value>, ToolError> {
    Ok(pending("fail", UNTIL_FAILURE))
}

pub(crate) fn panicking_job(_: &Context, _: Value) -> Result<Outcome<Value>, ToolError> {
    Ok(pending("panic", UNTIL_FAILURE))
}

pub(crate) fn poll(_: &Context, handle: &str) -> Result<Outcome<Value>, ToolError> {
    let parts = handle.split_once(' ');
    let parts = parts.and_then(|(ends, time)| Some((ends, time.parse::<u128>().ok()?)));
    let Some((ends, time)) = parts else {
        return Err(ToolError::new(format!("no job has the handle {handle}")));
    };
    if now() < time {
        return Ok(Outcome::Pending(handle.to_owned()));
    }
    match ends {
        "fail" => Err(ToolError::new("The job failed, as it always does")),
        "panic" => panic!("the job panics, as it always does"),
        _ => Ok(Outcome::Output(done())),
    }
}

/// A job is a moment in time: there is nothing to stop.
pub(crate) fn cancel(_: &Context, _: &str) {}

fn pending(ends: &str, after: Duration) -> Outcome<Value> {
    Outcome::Pending(format!("{ends} {}", now() + after.as_millis()))
}

fn done() -> Value {
    json!({ "done": true })
}

/// Milliseconds since 1970.
fn now() -> u128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |time| time.as_millis())
}
