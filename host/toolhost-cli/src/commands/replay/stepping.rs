//! Prints the host calls of a replay one by one, and waits for Enter on a terminal.

use std::io::{BufRead, Read};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::json;
use toolhost::recording::{CallRecording, HostCall, Readable, ReplayObserver, ReplayStep};

use crate::failure::Failure;
use crate::terminal::{stderr, stdin, stdout};

/// Longest line that is read from the terminal, in bytes.
const LINE_MAX: u64 = 1_000;

/// The steps of a replay.
pub(super) struct Stepping {
    readable: Readable,
    is_json: bool,
    /// Why a step could not be printed.
    error: Arc<Mutex<Option<anyhow::Error>>>,
}

impl Stepping {
    pub(super) fn start(recording: &Arc<CallRecording>, is_json: bool) -> Self {
        Self {
            readable: Readable::of(recording),
            is_json,
            error: Arc::default(),
        }
    }

    /// Returns what the replay calls with each host call.
    pub(super) fn observer(&self) -> ReplayObserver {
        let (readable, is_json) = (self.readable.clone(), self.is_json);
        let failed = Arc::clone(&self.error);
        let waits = !is_json && stdin::can_ask();
        Box::new(move |call| match step(call, &readable, is_json, waits) {
            Ok(step) => step,
            Err(error) => {
                *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                ReplayStep::Stop
            }
        })
    }

    /// Why a step could not be printed.
    pub(super) fn error(&self) -> Option<Failure> {
        let mut error = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        error.take().map(Failure::from)
    }
}

fn step(
    call: &HostCall,
    readable: &Readable,
    is_json: bool,
    waits: bool,
) -> anyhow::Result<ReplayStep> {
    if is_json {
        stdout::json_line(&json!(call))?;
    } else {
        stdout::write(&readable.call(call))?;
    }
    if !waits {
        return Ok(ReplayStep::Continue);
    }
    stderr::ask("Enter goes on, q ends: ");
    let mut line = String::new();
    let count = std::io::stdin().lock().take(LINE_MAX).read_line(&mut line);
    let is_end = count? == 0 || line.trim().eq_ignore_ascii_case("q");
    stderr::answered();
    Ok(if is_end {
        ReplayStep::Stop
    } else {
        ReplayStep::Continue
    })
}
