//! One call: a fresh store, one handler, and nothing left behind but files.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, TryAcquireError};
use toolhost_contract::{ExportName, HandlerError, ToolContext, Usage};
use wasmtime::{Store, UpdateDeadline};

use crate::bindings::{HostPre, handlers};
use crate::engine::Running;
use crate::fs::Filesystem;
use crate::memory::MemoryLimiter;
use crate::meter::{Meter, lock};
use crate::output::{LogRecord, parse_json};
use crate::placement::{GuestThreads, Placed, Work, on_its_own_thread};
use crate::sandbox::Cell;
use crate::state::CallState;
use crate::stopped::why_it_stopped;
use crate::workdir::{FileIo, Workdir, WriteProtected};
use crate::{Grants, Limits, SandboxError};

/// Longest handle of a pending outcome, in bytes.
const HANDLE_MAX: usize = 1 << 10;

/// Everything one call needs.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// The handler to run.
    pub handler: ExportName,
    /// Who calls.
    pub context: ToolContext,
    /// The arguments: a JSON object, as text.
    pub input: String,
    /// The guest's `/`; none where the call gets no directory.
    pub workdir: Option<Workdir>,
    /// What the guest must not change, wherever it meets it.
    pub protected: WriteProtected,
    /// What it is allowed.
    pub grants: Grants,
    /// What it may use.
    pub limits: Limits,
}

/// What a handler came to by itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It answered.
    Output(Value),
    /// It accepted, and gave a handle to ask again with.
    Pending(String),
    /// It failed in its own words.
    Failed(HandlerError),
}

/// What a call came to, with its receipt.
#[derive(Debug)]
pub struct CallReport {
    /// The handler's outcome, or why the sandbox stopped it.
    pub outcome: Result<Outcome, SandboxError>,
    /// What it used.
    pub usage: Usage,
    /// Whether a write was refused because a disk limit was reached.
    pub disk_limit_hit: bool,
    /// Its log.
    pub log: Vec<LogRecord>,
    /// Its stdout, head and tail.
    pub stdout: String,
    /// Its stderr, head and tail.
    pub stderr: String,
}

/// What to do with an instance.
#[expect(
    clippy::large_enum_variant,
    reason = "made once for each call, and moved, never stored"
)]
pub(crate) enum Errand {
    /// Ask it what it serves.
    Describe,
    /// Run a handler.
    Call {
        handler: ExportName,
        context: handlers::ToolContext,
        input: String,
    },
}

/// What an instance said.
pub(crate) enum Answer {
    Exports(Vec<handlers::ExportSpec>),
    Outcome(Result<handlers::Outcome, handlers::ToolError>),
}

/// The sandbox side of one call, before it runs.
pub(crate) struct Visit {
    pub(crate) cell: Arc<Cell>,
    pub(crate) pre: HostPre<CallState>,
    pub(crate) workdir: Option<Workdir>,
    pub(crate) protected: WriteProtected,
    pub(crate) grants: Grants,
    pub(crate) meter: Arc<Meter>,
}

impl Visit {
    /// Waits for a place, then runs the errand where it is awaited, or away once it has computed for a while.
    ///
    /// Gives what the instance said, how long the call waited and how long it ran.
    pub(crate) async fn run(
        self,
        errand: Errand,
    ) -> (Result<Answer, SandboxError>, Duration, Duration) {
        let asked = Instant::now();
        let place = match take_place(&self.cell).await {
            Ok(place) => place,
            Err(busy) => return (Err(busy), asked.elapsed(), Duration::ZERO),
        };
        let started = Instant::now();
        let queued = started - asked;
        let cell = Arc::clone(&self.cell);
        let deadline = self.meter.limits.deadline;
        let root = self.workdir.as_ref();
        let file_io = root.map_or(FileIo::Inline, |root| root.file_io);
        let threads = &cell.threads;
        let work = Work::new(self.work(errand, place), threads.clock());
        let answer = match file_io {
            FileIo::Inline => Placed::here(work, threads.guests()).await,
            FileIo::Offload => answer_in_time(work, threads, deadline).await,
        };
        (answer.and_then(|done| done), queued, started.elapsed())
    }

    async fn work(self, errand: Errand, place: Place) -> Result<Answer, SandboxError> {
        let deadline = self.meter.limits.deadline;
        let meter = Arc::clone(&self.meter);
        let visited = tokio::time::timeout(deadline, self.visit(errand)).await;
        drop(place);
        match visited {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(why_it_stopped(error, &meter)),
            Err(_) => Err(SandboxError::Timeout { deadline }),
        }
    }

    /// The store lives here and is gone at the end.
    async fn visit(self, errand: Errand) -> wasmtime::Result<Answer> {
        let mut store = self.store();
        let instance = self.pre.instantiate_async(&mut store).await?;
        let handlers = instance.goondan_tool_handlers();
        match errand {
            Errand::Describe => Ok(Answer::Exports(handlers.call_describe(&mut store).await?)),
            Errand::Call {
                handler,
                context,
                input,
            } => {
                let called = handlers.call_call(&mut store, handler.as_str(), &context, &input);
                Ok(Answer::Outcome(called.await?))
            }
        }
    }

    fn store(&self) -> Store<CallState> {
        let meter = Arc::clone(&self.meter);
        let memory = MemoryLimiter::new(Arc::clone(&self.cell.memory), Arc::clone(&meter));
        let fs = match &self.workdir {
            None => Filesystem::none(Arc::clone(&meter)),
            Some(root) => Filesystem::of(
                root.clone(),
                self.grants.workdir,
                self.protected.clone(),
                Arc::clone(&meter),
            ),
        };
        let state = CallState::new(&self.grants, fs, memory, Arc::clone(&meter));
        let mut store = Store::new(&self.cell.engine, state);
        store.limiter(|state| &mut state.memory);
        store.set_hostcall_fuel(meter.limits.hostcall_bytes);
        store.set_max_component_handles(meter.limits.handles);
        store.set_epoch_deadline(1);
        // None is a deadline beyond what the clock can tell.
        let ends = Instant::now().checked_add(meter.limits.deadline);
        store.epoch_deadline_callback(move |_| {
            if ends.is_some_and(|ends| Instant::now() >= ends) {
                return Ok(UpdateDeadline::Interrupt);
            }
            Ok(UpdateDeadline::Yield(1))
        });
        store
    }
}

/// What a call on a thread of its own is given beyond its deadline to say so itself.
const GRACE: Duration = Duration::from_millis(20);

/// Runs a call on a thread of its own and answers at its deadline, even where a file call hangs.
async fn answer_in_time(
    work: Work<Result<Answer, SandboxError>>,
    threads: &GuestThreads,
    deadline: Duration,
) -> Result<Result<Answer, SandboxError>, SandboxError> {
    let too_late = threads.timer(deadline.saturating_add(GRACE));
    tokio::select! {
        biased;
        answer = on_its_own_thread(work, threads.guests()) => answer,
        () = too_late => Err(SandboxError::Timeout { deadline }),
    }
}

/// A place among the calls that run, and the clock kept going for it.
struct Place {
    _permit: OwnedSemaphorePermit,
    _running: Running,
}

async fn take_place(cell: &Arc<Cell>) -> Result<Place, SandboxError> {
    let permit = match Arc::clone(&cell.places).try_acquire_owned() {
        Ok(permit) if cell.memory.has_room() => permit,
        Ok(permit) => wait(cell, Some(permit)).await?,
        Err(TryAcquireError::NoPermits) => wait(cell, None).await?,
        Err(TryAcquireError::Closed) => return Err(SandboxError::HostPanic),
    };
    Ok(Place {
        _permit: permit,
        _running: cell.ticker.running(),
    })
}

/// Counts a call among those that wait, until dropped.
struct Waiting<'a>(&'a Cell);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, SeqCst);
    }
}

async fn wait(
    cell: &Arc<Cell>,
    permit: Option<OwnedSemaphorePermit>,
) -> Result<OwnedSemaphorePermit, SandboxError> {
    let waiting = Waiting(cell);
    if cell.waiting.fetch_add(1, SeqCst) >= cell.config.waiting_calls {
        return Err(SandboxError::Busy {
            reason: "too many calls are waiting",
        });
    }
    let too_long = cell.threads.timer(cell.config.queueing);
    let place = async {
        let permit = match permit {
            Some(permit) => Ok(permit),
            None => Arc::clone(&cell.places).acquire_owned().await,
        };
        cell.memory.wait_for_room().await;
        permit
    };
    tokio::select! {
        biased;
        permit = place => {
            drop(waiting);
            permit.map_err(|_| SandboxError::HostPanic)
        }
        () = too_long => Err(SandboxError::Busy { reason: "none became free in time" }),
    }
}

/// Takes what a handler said for an outcome, within the limits.
pub(crate) fn outcome_of(
    answer: Result<handlers::Outcome, handlers::ToolError>,
    meter: &Meter,
) -> Result<Outcome, SandboxError> {
    let limits = &meter.limits;
    match answer {
        Ok(handlers::Outcome::Output(json)) => {
            meter.output_bytes.store(json.len() as u64, Relaxed);
            let output = parse_json(&json, limits.output_bytes, limits.json_depth)?;
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
        Err(error) => Ok(Outcome::Failed(HandlerError {
            message: error.message,
            name: error.name,
            code: error.code,
            suggestion: error.suggestion,
            help_url: error.help_url,
        })),
    }
}

/// Tells of a call whose future is dropped before it ends: its receipt then has no other reader.
pub(crate) struct Unanswered {
    meter: Option<Arc<Meter>>,
    handler: ExportName,
    started: Instant,
}

impl Unanswered {
    pub(crate) fn new(meter: &Arc<Meter>, handler: &ExportName) -> Self {
        Self {
            meter: Some(Arc::clone(meter)),
            handler: handler.clone(),
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
        let usage = meter.usage(Duration::ZERO, self.started.elapsed());
        let handler = self.handler.as_str();
        tracing::info!(target: "toolhost::audit", handler, ?usage, "a call was dropped before it ended");
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
        disk_limit_hit: meter.disk_refused.load(Relaxed),
        log: lock(&meter.log).take(),
        stdout: lock(&meter.stdout).text(),
        stderr: lock(&meter.stderr).text(),
    }
}
