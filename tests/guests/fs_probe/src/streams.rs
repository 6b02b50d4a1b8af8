//! Steps that open streams of a file, and steps on them.

use guest_glue::wasi::filesystem::types::filesystem_error_code;
use guest_glue::wasi::io::streams::StreamError;
use guest_glue::{Value, json};

use crate::slots::{Slot, Slots};
use crate::words::{contents, number, number_or_zero, read};
use crate::{Failure, Step};

/// Most bytes that one blocking write may carry, by the definition of wasi:io.
const BLOCKING_WRITE_BYTES: usize = 4096;

impl From<StreamError> for Failure {
    fn from(error: StreamError) -> Self {
        Self::Refused(match error {
            StreamError::Closed => "closed".into(),
            StreamError::LastOperationFailed(error) => match filesystem_error_code(&error) {
                Some(code) => code.name().into(),
                None => format!("not an error of files: {}", error.to_debug_string()),
            },
        })
    }
}

/// Runs a step, unless its op belongs elsewhere.
pub(crate) fn execute(slots: &mut Slots, op: &str, step: &Value) -> Option<Step> {
    Some(match op {
        "read-via-stream" | "write-via-stream" | "append-via-stream" => open(slots, op, step),
        "stream-read" => read_stream(slots, step),
        "stream-skip" => skip(slots, step),
        "stream-write" => write(slots, step),
        "stream-flush" => flush(slots, step),
        "stream-wait" => wait(slots, step),
        "stream-write-zeroes" => write_zeroes(slots, step),
        "stream-check-write" => check_write(slots, step),
        "stream-splice" => splice(slots, step),
        _ => return None,
    })
}

fn open(slots: &mut Slots, op: &str, step: &Value) -> Step {
    let file = slots.descriptor(step, "on")?;
    let offset = number_or_zero(step, "offset");
    let slot = match op {
        "read-via-stream" => Slot::Input(file.read_via_stream(offset)?),
        "write-via-stream" => Slot::Output(file.write_via_stream(offset)?),
        _ => Slot::Output(file.append_via_stream()?),
    };
    Ok(slots.keep(step, slot))
}

fn read_stream(slots: &Slots, step: &Value) -> Step {
    let stream = slots.input(step, "on")?;
    let length = number(step, "length")?;
    let bytes = if step["blocking"] == false {
        stream.read(length)?
    } else {
        stream.blocking_read(length)?
    };
    Ok(read(&bytes))
}

fn skip(slots: &Slots, step: &Value) -> Step {
    let skipped = slots
        .input(step, "on")?
        .blocking_skip(number(step, "length")?)?;
    Ok(json!({ "skipped": skipped }))
}

fn write(slots: &Slots, step: &Value) -> Step {
    let stream = slots.output(step)?;
    let contents = contents(step)?;
    if step["blocking"] == false {
        stream.write(&contents)?;
        return Ok(json!({ "written": contents.len() }));
    }
    for chunk in contents.chunks(BLOCKING_WRITE_BYTES) {
        stream.blocking_write_and_flush(chunk)?;
    }
    Ok(json!({ "written": contents.len() }))
}

fn flush(slots: &Slots, step: &Value) -> Step {
    let stream = slots.output(step)?;
    if step["blocking"] == false {
        stream.flush()?
    } else {
        stream.blocking_flush()?
    }
    Ok(json!({}))
}

fn wait(slots: &Slots, step: &Value) -> Step {
    let ready = match slots.output(step) {
        Ok(stream) => stream.subscribe(),
        Err(_) => slots.input(step, "on")?.subscribe(),
    };
    ready.block();
    Ok(json!({}))
}

fn write_zeroes(slots: &Slots, step: &Value) -> Step {
    let bytes = number(step, "bytes")?;
    slots.output(step)?.blocking_write_zeroes_and_flush(bytes)?;
    Ok(json!({ "written": bytes }))
}

fn check_write(slots: &Slots, step: &Value) -> Step {
    Ok(json!({ "permit": slots.output(step)?.check_write()? }))
}

fn splice(slots: &Slots, step: &Value) -> Step {
    let from = slots.input(step, "from")?;
    let spliced = slots
        .output(step)?
        .blocking_splice(from, number(step, "length")?)?;
    Ok(json!({ "spliced": spliced }))
}
