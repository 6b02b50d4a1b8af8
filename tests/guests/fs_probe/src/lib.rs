//! Runs a script of raw calls of `wasi:filesystem` and `goondan:tool/modes`, so that a test can reach every method.
//!
//! Input `{script: [{op, …}]}`. Output `{results: [{ok: true, …} | {ok: false, error}]}`, one for
//! every step; `error` is the name of WASI's error code (`no-entry`), or `closed` of a stream that
//! ended. An invalid step ends the call with an error instead.
//!
//! Descriptors, listings and streams are kept in numbered slots. Slot 0 is the root; each step that
//! makes one returns it as `{slot}`: the number given as `as`, else the next. `on` names the
//! descriptor, listing or stream that a step acts on (default 0). `path` is passed as it is.
//!
//! | op | arguments | returns |
//! |---|---|---|
//! | `preopens` | | `paths` |
//! | `close` | `on` | |
//! | `open-at` | `path, follow?, open?: [create, directory, exclusive, truncate], flags?: [read, write, mutate-directory, …] (default read)` | `slot` |
//! | `read` | `length, offset?` | `text, length, end` |
//! | `write` | `text` or `bytes` (that many `p`), `offset?` | `written` |
//! | `read-via-stream`, `write-via-stream` | `offset?` | `slot` |
//! | `append-via-stream` | | `slot` |
//! | `stream-read` | `on, length, blocking?` (default true) | `text, length` |
//! | `stream-skip` | `on, length` | `skipped` |
//! | `stream-write` | `on, text` or `bytes, blocking?` (default true: in pieces, each flushed) | `written` |
//! | `stream-flush` | `on, blocking?` (default true) | |
//! | `stream-wait` | `on`: waits until the stream is ready | |
//! | `stream-write-zeroes` | `on, bytes` | `written` |
//! | `stream-check-write` | `on` | `permit` |
//! | `stream-splice` | `on` (output), `from` (input), `length` | `spliced` |
//! | `advise` | `advice, offset?, length?` | |
//! | `sync`, `sync-data` | | |
//! | `get-flags` | | `flags` |
//! | `get-type` | | `type` |
//! | `set-size` | `size` | |
//! | `set-times` | `accessed?, modified?`: `no-change` (default), `now` or `{seconds, nanoseconds?}` | |
//! | `set-times-at` | the same and `path, follow?` | |
//! | `stat`; `stat-at` | `path, follow?` | `type, linkCount, size, accessed, modified, changed` |
//! | `read-directory` | | `slot` |
//! | `read-directory-entry` | `on` | `name, type`, or `end: true` |
//! | `list` | | `entries: [{name, type}]`, sorted |
//! | `create-directory-at`, `remove-directory-at`, `unlink-file-at` | `path` | |
//! | `readlink-at` | `path` | `target` |
//! | `symlink-at` | `target, path` | |
//! | `rename-at` | `path, to, toOn?` | |
//! | `link-at` | `path, to, toOn?, follow?` | |
//! | `is-same-object` | `other` | `same` |
//! | `metadata-hash`; `metadata-hash-at` | `path, follow?` | `lower, upper` |
//! | `get-mode` | `path, follow?`, from the root | `mode` |
//! | `set-mode` | `path, mode`, from the root | |

mod descriptors;
mod paths;
mod slots;
mod streams;
mod words;

use guest_glue::{ToolError, Value, error, json};
use slots::Slots;

guest_glue::serve!(run);

/// The reason for which a step has no result.
enum Failure {
    /// The host refused: a result like any other.
    Refused(String),
    /// The script is wrong.
    Script(String),
}

type Step = Result<Value, Failure>;

fn run(input: Value) -> Result<Value, ToolError> {
    let script = input["script"]
        .as_array()
        .ok_or_else(|| error("script is missing"))?;
    let mut slots = Slots::with_root().ok_or_else(|| error("there is no preopen"))?;
    let mut results = Vec::new();
    for step in script {
        results.push(match execute(&mut slots, step) {
            Ok(fields) => succeeded(&fields),
            Err(Failure::Refused(code)) => json!({ "ok": false, "error": code }),
            Err(Failure::Script(reason)) => return Err(error(format!("{reason}: {step}"))),
        });
    }
    Ok(json!({ "results": results }))
}

/// Puts `ok: true` before what a step returned.
fn succeeded(fields: &Value) -> Value {
    let mut result = json!({ "ok": true });
    for (name, value) in fields.as_object().into_iter().flatten() {
        result[name] = value.clone();
    }
    result
}

fn execute(slots: &mut Slots, step: &Value) -> Step {
    let op = step["op"].as_str().unwrap_or_default();
    if op == "close" {
        return slots.close(step);
    }
    descriptors::execute(slots, op, step)
        .or_else(|| paths::execute(slots, op, step))
        .or_else(|| streams::execute(slots, op, step))
        .unwrap_or_else(|| Err(Failure::Script(format!("no op `{op}`"))))
}
