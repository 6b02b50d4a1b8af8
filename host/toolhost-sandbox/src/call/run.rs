//! One visit: a place, a fresh store, one errand, and nothing left behind but files.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::runtime::Handle;
use toolhost_contract::{ExportName, ToolContext};
use wasmtime::{Engine, Store, UpdateDeadline};

use crate::accounting::meter::Meter;
use crate::call::call_hook::AfterHostCalls;
use crate::call::resource_limiter::MemoryLimiter;
use crate::call::store_data::CallState;
use crate::call::trap::{WhileAsked, why_it_stopped};
use crate::call::{Outcome, outcome_of};
use crate::component::code::ComponentCode;
use crate::component_id::ComponentId;
use crate::engine::pools::MemorySlots;
use crate::host::agents::Agents;
use crate::host::agents::port::AgentsPort;
use crate::host::bindings::{Linked, handlers};
use crate::host::filesystem::Filesystem;
use crate::host::http::Http;
use crate::sandbox::{Cell, Sandbox};
use crate::scheduler::admission::Place;
use crate::scheduler::executor::{GuestThreads, Placed, Work, on_its_own_thread};
use crate::workdir::{FileIo, Workdir, WriteProtected};
use crate::{Grants, SandboxError};

/// What to do with an instance.
pub(crate) enum Errand {
    /// Ask it what it serves.
    Describe,
    /// Run a handler.
    Call {
        handler: ExportName,
        context: ToolContext,
        input: String,
    },
    /// Ask for an outcome.
    Poll {
        context: ToolContext,
        handle: String,
    },
    /// Say that nobody waits.
    Cancel {
        context: ToolContext,
        handle: String,
    },
}

/// What an instance said, as it said it.
enum Said {
    Exports(Vec<handlers::ExportSpec>),
    Outcome(Result<handlers::Outcome, handlers::ToolError>),
    Cancelled,
}

/// What an instance said, within its limits.
pub(crate) enum Answer {
    Exports(Vec<handlers::ExportSpec>),
    Outcome(Outcome),
}

impl Answer {
    fn of(said: Said, meter: &Meter) -> Result<Self, SandboxError> {
        match said {
            Said::Exports(exports) => Ok(Self::Exports(exports)),
            Said::Outcome(outcome) => outcome_of(outcome, meter).map(Self::Outcome),
            Said::Cancelled => Ok(Self::Outcome(Outcome::Output(Value::Null))),
        }
    }
}

/// The sandbox side of one call, before it runs.
pub(crate) struct Visit {
    pub(crate) cell: Arc<Cell>,
    pub(crate) component: ComponentId,
    pub(crate) code: Arc<ComponentCode>,
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
        let cell = Arc::clone(&self.cell);
        let code = Arc::clone(&self.code);
        let (place, linked, slots) = match self.admit(&code).await {
            Ok(admitted) => admitted,
            Err(error) => return (Err(error), asked.elapsed(), Duration::ZERO),
        };
        let started = Instant::now();
        let queued = started - asked;
        let deadline = self.meter.limits.deadline;
        let root = self.workdir.as_ref();
        let file_io = root.map_or(FileIo::Inline, |root| root.file_io);
        let threads = &cell.threads;
        if file_io == FileIo::Offload && cell.hanging.available_permits() == 0 {
            let reason = "too many file calls hang";
            return (Err(SandboxError::Busy { reason }), queued, Duration::ZERO);
        }
        let component = self.component;
        let place = Arc::new(place);
        let held = Arc::downgrade(&place);
        // Here, where the call is awaited: it may move away.
        let caller = Handle::try_current().unwrap_or_else(|_| threads.guests().clone());
        let work = Work::new(
            self.work(errand, linked.clone(), place, slots, caller),
            threads.clock(),
        );
        let answer = match file_io {
            FileIo::Inline => Placed::here(work, threads.lanes(), component).await,
            FileIo::Offload => answer_in_time(work, threads, deadline, &held).await,
        };
        (answer.and_then(|done| done), queued, started.elapsed())
    }

    /// Waits for a place, and takes memory for the instance.
    async fn admit<'c>(
        &self,
        code: &'c ComponentCode,
    ) -> Result<(Place, &'c Linked, MemorySlots), SandboxError> {
        let cell = &self.cell;
        loop {
            let place = Place::take(cell, self.component).await?;
            // Nothing may be awaited here: the place was granted for memory that is free now.
            if let Some((linked, slots)) = code.take_slots(&cell.pools, self.component) {
                return Ok((place, linked, slots));
            }
            drop(place);
            code.map_elsewhere(&Sandbox(Arc::clone(cell))).await?;
        }
    }

    async fn work(
        self,
        errand: Errand,
        linked: Linked,
        place: Arc<Place>,
        slots: MemorySlots,
        caller: Handle,
    ) -> Result<Answer, SandboxError> {
        let deadline = self.meter.limits.deadline;
        let meter = Arc::clone(&self.meter);
        let visit = self.visit(errand, linked, Arc::clone(&place), caller);
        let visited = tokio::time::timeout(deadline, visit).await;
        let answer = match visited {
            Ok(Ok(said)) => Answer::of(said, &meter),
            Ok(Err(error)) => Err(why_it_stopped(error, &meter)),
            Err(_) => Err(SandboxError::Timeout { deadline }),
        };
        // Last: the instance is gone by now, and what it ran in is fresh again.
        drop(slots);
        drop(place);
        answer
    }

    /// The store lives here and is gone at the end.
    async fn visit(
        self,
        errand: Errand,
        linked: Linked,
        place: Arc<Place>,
        caller: Handle,
    ) -> wasmtime::Result<Said> {
        let Linked {
            pre,
            handlers,
            polling,
        } = &linked;
        let mut store = self.store(pre.engine(), place, caller);
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
                Ok(Said::Exports(described.await.map_err(asked)?))
            }
            Errand::Call {
                handler,
                context,
                input,
            } => {
                let handlers = handlers.load(&mut store, &instance)?;
                let context = lowered(context);
                let called = handlers.call_call(&mut store, handler.as_str(), &context, &input);
                Ok(Said::Outcome(called.await.map_err(asked)?))
            }
            Errand::Poll { context, handle } => {
                let polling = polling.as_ref().ok_or_else(no_polling)?;
                let polling = polling.load(&mut store, &instance)?;
                let context = lowered(context);
                let polled = polling.call_poll(&mut store, &context, &handle);
                Ok(Said::Outcome(polled.await.map_err(asked)?))
            }
            Errand::Cancel { context, handle } => {
                let polling = polling.as_ref().ok_or_else(no_polling)?;
                let polling = polling.load(&mut store, &instance)?;
                let context = lowered(context);
                let cancelled = polling.call_cancel(&mut store, &context, &handle);
                cancelled.await.map_err(asked)?;
                Ok(Said::Cancelled)
            }
        }
    }

    fn store(&self, engine: &Engine, place: Arc<Place>, caller: Handle) -> Store<CallState> {
        // None is a deadline beyond what the clock can tell.
        let ends = Instant::now().checked_add(self.meter.limits.deadline);
        let meter = Arc::clone(&self.meter);
        let memory = MemoryLimiter::new(Arc::clone(&self.cell.memory), Arc::clone(&meter));
        let slow = self.cell.threads.slow().clone();
        let fs = match &self.workdir {
            None => Filesystem::none(Arc::clone(&meter), slow),
            Some(root) => Filesystem::of(
                root.clone(),
                self.grants.workdir,
                self.protected.clone(),
                Arc::clone(&meter),
                slow,
            ),
        };
        let agents = Agents {
            port: self.agents.clone(),
            meter: Arc::clone(&meter),
            place,
            caller,
            ends,
        };
        let http = Http::of(
            self.grants.http.clone(),
            Arc::clone(&self.cell.network),
            Arc::clone(&meter),
            ends,
        );
        let state = CallState::new(&self.grants, fs, memory, agents, http, Arc::clone(&meter));
        let mut store = Store::new(engine, state);
        store.limiter(|state| &mut state.memory);
        store.set_hostcall_fuel(meter.limits.hostcall_bytes);
        store.set_max_component_handles(meter.limits.handles);
        store.call_hook_async(AfterHostCalls::until(ends));
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

/// The context in the guest's types. Not before the call has a place: those that wait share theirs.
fn lowered(context: ToolContext) -> handlers::ToolContext {
    handlers::ToolContext {
        agent_name: context.agent_name,
        instance_key: context.instance_key,
        turn_id: context.turn_id,
        tool_call_id: context.tool_call_id,
        trace_id: context.trace_id,
        message: context.message.as_json().to_owned(),
        workdir: context.workdir,
    }
}

fn no_polling() -> wasmtime::Error {
    wasmtime::Error::msg("the component does not export goondan:tool/polling")
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
    place: &Weak<Place>,
) -> Result<Result<Answer, SandboxError>, SandboxError> {
    let too_late = threads.timer(deadline.saturating_add(GRACE));
    tokio::select! {
        biased;
        answer = on_its_own_thread(work, threads.guests()) => answer,
        () = too_late => {
            // Its work holds it until the file call returns.
            if let Some(place) = place.upgrade() {
                place.leave_hanging();
            }
            Err(SandboxError::Timeout { deadline })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::SandboxConfig;
    use crate::scheduler::admission::MOST_HANGING;

    /// A call whose file call hangs until `ends` says so.
    async fn hang(cell: &Arc<Cell>, ends: mpsc::Receiver<()>) -> Result<Answer, SandboxError> {
        let component = ComponentId::of("");
        let place = Arc::new(Place::take(cell, component).await?);
        let held = Arc::downgrade(&place);
        let threads = &cell.threads;
        let file_call = async move {
            let _place = place;
            let _ended = ends.recv();
            Err(SandboxError::HostPanic)
        };
        let work = Work::new(file_call, threads.clock());
        answer_in_time(work, threads, Duration::from_millis(100), &held).await?
    }

    #[tokio::test]
    async fn a_call_that_hangs_in_a_file_call_is_counted_and_its_place_is_free() {
        let own = Sandbox::new(SandboxConfig {
            live_calls: 2,
            ..SandboxConfig::default()
        })
        .unwrap();
        let mut ends = Vec::new();
        for hanging in 1..=MOST_HANGING + 1 {
            let (end, ended) = mpsc::channel();
            ends.push(end);
            let answer = hang(&own.0, ended).await;
            assert!(matches!(answer, Err(SandboxError::Timeout { .. })));
            // One more than may hang keeps its place.
            let free = if hanging > MOST_HANGING { 1 } else { 2 };
            assert_eq!(own.free_places(), free, "{hanging}");
            assert_eq!(own.hanging_calls(), hanging.min(MOST_HANGING));
        }
        drop(ends);
        while own.hanging_calls() > 0 || own.free_places() < 2 {
            tokio::task::yield_now().await;
        }
    }
}
