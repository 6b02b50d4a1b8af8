//! One call: what is asked, and what it comes to.

pub(crate) mod call_hook;
pub(crate) mod linker;
pub(crate) mod resource_limiter;
pub(crate) mod run;
pub(crate) mod store_data;
pub(crate) mod trap;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use serde_json::Value;
use toolhost_contract::{ExportName, HandlerError, ToolContext, Usage};

use crate::accounting::meter::Meter;
use crate::accounting::output::{LogRecord, parse_json};
use crate::host::agents::port::AgentsPort;
use crate::host::bindings::handlers;
use crate::sync::lock;
use crate::workdir::{Workdir, WriteProtected};
use crate::{DiskLimit, Limits};
use crate::{Grants, SandboxError};

/// Longest handle of a pending outcome, in bytes.
const HANDLE_MAX: usize = 1 << 10;

/// What a component is asked. Each is a call of its own, in a fresh instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// To run a handler.
    Handler {
        /// Its name.
        name: ExportName,
        /// The arguments: a JSON object, as text.
        input: String,
    },
    /// For the outcome that a handle stands for.
    Poll {
        /// The handle, as [`Outcome::Pending`] gave it.
        handle: String,
    },
    /// To know that nobody waits for a handle any longer. Its outcome is `Output(null)`.
    Cancel {
        /// The handle, as [`Outcome::Pending`] gave it.
        handle: String,
    },
}

/// Everything one call needs.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// What is asked.
    pub ask: Ask,
    /// Who calls.
    pub context: ToolContext,
    /// The guest's `/`; none where the call gets no directory.
    pub workdir: Option<Workdir>,
    /// What the guest must not change, wherever it meets it.
    pub protected: WriteProtected,
    /// What it is allowed.
    pub grants: Grants,
    /// The other agents; none where it may not speak to them.
    pub agents: Option<Arc<dyn AgentsPort>>,
    /// What it may use.
    pub limits: Limits,
}

/// What a handler came to by itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It answered.
    Output(Value),
    /// It is not done, and gave a handle to ask again with: the next [`Ask::Poll`] is of this one,
    /// also where it is not the one just asked for. At most 1 KiB.
    Pending(String),
    /// It failed in its own words, which are no more bytes than an output may be.
    Failed(HandlerError),
}

/// What a call came to, with its receipt.
#[derive(Debug)]
pub struct CallReport {
    /// The handler's outcome, or why the sandbox stopped it.
    pub outcome: Result<Outcome, SandboxError>,
    /// What it used.
    pub usage: Usage,
    /// The limit of the disk for which a change was refused first.
    pub disk_limit: Option<DiskLimit>,
    /// Whether it was denied something and did nothing more, but for what it printed.
    pub just_denied: bool,
    /// Its log.
    pub log: Vec<LogRecord>,
    /// Its stdout, head and tail.
    pub stdout: String,
    /// Its stderr, head and tail.
    pub stderr: String,
}

/// Takes what an instance said for an outcome, within the limits.
pub(crate) fn outcome_of(
    said: Result<handlers::Outcome, handlers::ToolError>,
    meter: &Meter,
) -> Result<Outcome, SandboxError> {
    let limits = &meter.limits;
    match said {
        Ok(handlers::Outcome::Output(json)) => {
            meter.output_bytes.store(json.len() as u64, Relaxed);
            let output = parse_json(&json, limits.output_bytes, limits)?;
            Ok(Outcome::Output(output))
        }
        Ok(handlers::Outcome::Pending(handle)) => {
            meter.output_bytes.store(handle.len() as u64, Relaxed);
            if handle.is_empty() || handle.len() > HANDLE_MAX {
                return Err(SandboxError::InvalidOutput {
                    reason: format!("a handle has 1 to {HANDLE_MAX} bytes, not {}", handle.len()),
                });
            }
            Ok(Outcome::Pending(handle))
        }
        Err(error) => {
            let error = HandlerError {
                message: error.message,
                name: error.name,
                code: error.code,
                suggestion: error.suggestion,
                help_url: error.help_url,
            };
            let (bytes, limit) = (error.bytes(), limits.output_bytes);
            meter.output_bytes.store(bytes, Relaxed);
            if bytes > limit {
                return Err(SandboxError::OutputTooLarge { bytes, limit });
            }
            Ok(Outcome::Failed(error))
        }
    }
}

/// Tells of a call whose future is dropped before it ends: its receipt then has no other reader.
pub(crate) struct Unanswered {
    meter: Option<Arc<Meter>>,
    /// The handler's name, or what else was asked.
    asked: String,
    started: Instant,
}

impl Unanswered {
    pub(crate) fn new(meter: &Arc<Meter>, ask: &Ask) -> Self {
        let asked = match ask {
            Ask::Handler { name, .. } => name.as_str(),
            Ask::Poll { .. } => "(poll)",
            Ask::Cancel { .. } => "(cancel)",
        };
        Self {
            meter: Some(Arc::clone(meter)),
            asked: asked.to_owned(),
            started: Instant::now(),
        }
    }

    /// The call ended and is answered.
    pub(crate) fn answered(mut self) {
        self.meter = None;
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        let Some(meter) = &self.meter else { return };
        let mut usage = meter.usage(Duration::ZERO, self.started.elapsed());
        // Their words may be the guest's, and what it knows be secret.
        let denials = std::mem::take(&mut usage.denials).len();
        let handler = self.asked.as_str();
        tracing::info!(target: "toolhost::audit", handler, denials, ?usage, "a call was dropped before it ended");
    }
}

/// The receipt and everything the guest said on the side.
pub(crate) fn report(
    outcome: Result<Outcome, SandboxError>,
    meter: &Meter,
    queued: Duration,
    wall: Duration,
) -> CallReport {
    CallReport {
        outcome,
        usage: meter.usage(queued, wall),
        disk_limit: meter.disk_limit(),
        just_denied: meter.was_just_denied(),
        log: lock(&meter.log).take(),
        stdout: lock(&meter.stdout).text(),
        stderr: lock(&meter.stderr).text(),
    }
}
