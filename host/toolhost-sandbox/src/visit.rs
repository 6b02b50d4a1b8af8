//! One visit: a place, a fresh store, one errand, and nothing left behind but files.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use toolhost_contract::ExportName;
use wasmtime::{Store, UpdateDeadline};

use crate::agents::AgentsPort;
use crate::bindings::{Linked, handlers, polling};
use crate::fs::Filesystem;
use crate::imports::Agents;
use crate::memory::MemoryLimiter;
use crate::meter::Meter;
use crate::placement::{GuestThreads, Placed, Work, on_its_own_thread};
use crate::places::{ComponentId, Place};
use crate::sandbox::Cell;
use crate::state::CallState;
use crate::stopped::{WhileAsked, why_it_stopped};
use crate::workdir::{FileIo, Workdir, WriteProtected};
use crate::{Grants, SandboxError};

/// What to do with an instance.
pub(crate) enum Errand {
    /// Ask it what it serves.
    Describe,
    /// Run a handler.
    Call {
        handler: ExportName,
        context: handlers::ToolContext,
        input: String,
    },
    /// Ask for an outcome.
    Poll {
        polling: polling::GuestIndices,
        context: handlers::ToolContext,
        handle: String,
    },
    /// Say that nobody waits.
    Cancel {
        polling: polling::GuestIndices,
        context: handlers::ToolContext,
        handle: String,
    },
}

/// What an instance said.
pub(crate) enum Answer {
    Exports(Vec<handlers::ExportSpec>),
    Outcome(Result<handlers::Outcome, handlers::ToolError>),
    Cancelled,
}

/// The sandbox side of one call, before it runs.
pub(crate) struct Visit {
    pub(crate) cell: Arc<Cell>,
    pub(crate) component: ComponentId,
    pub(crate) linked: Linked,
    pub(crate) workdir: Option<Workdir>,
    pub(crate) protected: WriteProtected,
    pub(crate) grants: Grants,
    pub(crate) agents: Option<Arc<dyn AgentsPort>>,
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
        let place = match Place::take(&self.cell, self.component).await {
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
        // Here, where the call is awaited: it may move away.
        let caller = Handle::try_current().unwrap_or_else(|_| threads.guests().clone());
        let work = Work::new(self.work(errand, place, caller), threads.clock());
        let answer = match file_io {
            FileIo::Inline => Placed::here(work, threads.guests()).await,
            FileIo::Offload => answer_in_time(work, threads, deadline).await,
        };
        (answer.and_then(|done| done), queued, started.elapsed())
    }

    async fn work(
        self,
        errand: Errand,
        place: Place,
        caller: Handle,
    ) -> Result<Answer, SandboxError> {
        let deadline = self.meter.limits.deadline;
        let meter = Arc::clone(&self.meter);
        let place = Arc::new(place);
        let visit = self.visit(errand, Arc::clone(&place), caller);
        let visited = tokio::time::timeout(deadline, visit).await;
        // Last: the instance is gone by now, and its slot is free.
        drop(place);
        match visited {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(why_it_stopped(error, &meter)),
            Err(_) => Err(SandboxError::Timeout { deadline }),
        }
    }

    /// The store lives here and is gone at the end.
    async fn visit(
        self,
        errand: Errand,
        place: Arc<Place>,
        caller: Handle,
    ) -> wasmtime::Result<Answer> {
        let mut store = self.store(place, caller);
        let Linked {
            pre,
            handlers,
            polling,
        } = &self.linked;
        let instance = pre.instantiate_async(&mut store).await?;
        match errand {
            Errand::Describe => {
                let differs = |interface| move |error: wasmtime::Error| error.context(interface);
                let handlers = handlers
                    .load(&mut store, &instance)
                    .map_err(differs("goondan:tool/handlers"))?;
                if let Some(polling) = polling {
                    polling
                        .load(&mut store, &instance)
                        .map_err(differs("goondan:tool/polling"))?;
                }
                let described = handlers.call_describe(&mut store);
                Ok(Answer::Exports(described.await.map_err(asked)?))
            }
            Errand::Call {
                handler,
                context,
                input,
            } => {
                let handlers = handlers.load(&mut store, &instance)?;
                let called = handlers.call_call(&mut store, handler.as_str(), &context, &input);
                Ok(Answer::Outcome(called.await.map_err(asked)?))
            }
            Errand::Poll {
                polling,
                context,
                handle,
            } => {
                let polling = polling.load(&mut store, &instance)?;
                let polled = polling.call_poll(&mut store, &context, &handle);
                Ok(Answer::Outcome(polled.await.map_err(asked)?))
            }
            Errand::Cancel {
                polling,
                context,
                handle,
            } => {
                let polling = polling.load(&mut store, &instance)?;
                let cancelled = polling.call_cancel(&mut store, &context, &handle);
                cancelled.await.map_err(asked)?;
                Ok(Answer::Cancelled)
            }
        }
    }

    fn store(&self, place: Arc<Place>, caller: Handle) -> Store<CallState> {
        // None is a deadline beyond what the clock can tell.
        let ends = Instant::now().checked_add(self.meter.limits.deadline);
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
        let agents = Agents {
            port: self.agents.clone(),
            meter: Arc::clone(&meter),
            place,
            caller,
            ends,
        };
        let state = CallState::new(&self.grants, fs, memory, agents, Arc::clone(&meter));
        let mut store = Store::new(&self.cell.engine, state);
        store.limiter(|state| &mut state.memory);
        store.set_hostcall_fuel(meter.limits.hostcall_bytes);
        store.set_max_component_handles(meter.limits.handles);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |_| {
            if ends.is_some_and(|ends| Instant::now() >= ends) {
                return Ok(UpdateDeadline::Interrupt);
            }
            Ok(UpdateDeadline::Yield(1))
        });
        store
    }
}

fn asked(error: wasmtime::Error) -> wasmtime::Error {
    error.context(WhileAsked)
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
