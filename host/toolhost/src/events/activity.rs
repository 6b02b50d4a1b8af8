//! The facts of turns, steps and calls: that each has started, and how it ended.
//!
//! Events, the lines of `events.jsonl` and spans are made of these facts. An activity publishes its start when
//! it is created, and exactly one end: if it is dropped before, for example with a cancelled future, that of a
//! failure. A fact that nobody receives is not made.

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use toolhost_contract::{
    Timestamp, ToolCall, ToolError, ToolErrorCode, ToolName, ToolResult, ToolStatus,
};
use toolhost_runtime::debug_fields;
use tracing::Span;
use tracing::level_filters::LevelFilter;

use super::bounded::bounded_id;
use super::bus::EventBus;
use super::event::{EventError, EventKind, RuntimeEvent, ToolSearch};
use super::log::InstanceLog;
use super::ring::{CallKind, Ring};
use super::span::{self, milliseconds};
use super::trace::TraceContext;
use crate::middleware::{CallIdentity, CallOrigin};

/// Sends the events of one instance. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Emitter(Arc<EmitterInner>);

struct EmitterInner {
    bus: EventBus,
    log: Option<InstanceLog>,
}

debug_fields!(Emitter, this => bus: this.0.bus);

impl EventBus {
    /// Creates the emitter of an instance. `directory` receives its log: the instance's own directory,
    /// parent of its workspace.
    pub(crate) fn emitter(&self, directory: Option<&Path>) -> Emitter {
        Emitter(Arc::new(EmitterInner {
            bus: self.clone(),
            log: directory.map(|directory| self.log_in(directory)),
        }))
    }
}

impl Emitter {
    /// Returns whether there is a log, a subscriber or a ring of calls.
    fn is_watched(&self) -> bool {
        self.0.log.is_some() || self.0.bus.is_watched() || self.ring().is_some()
    }

    /// Returns the ring, if calls are kept.
    fn ring(&self) -> Option<&Ring> {
        self.0.bus.ring().filter(|ring| ring.is_on())
    }

    /// Returns the trace of a turn. `caller` is an argument of [`TraceContext::root`]; without one, the trace of
    /// the current span is continued if a layer exports it.
    pub(crate) fn trace(&self, caller: Option<&str>) -> TraceContext {
        match caller {
            Some(_) => TraceContext::root(caller),
            None => {
                let current = (self.0.bus.config().current_traceparent)();
                TraceContext::root(current.as_deref())
            }
        }
    }

    /// Starts a turn.
    pub(crate) fn turn(&self, origin: &Arc<CallOrigin>, trace: TraceContext) -> Activity<'static> {
        let who = CallIdentity {
            origin: Arc::clone(origin),
            step_id: Arc::default(),
            call_id: Arc::default(),
            tool_name: Arc::default(),
        };
        let (emitter, who) = (Cow::Owned(self.clone()), Cow::Owned(who));
        Activity::new(emitter, Level::Turn, who, trace.into()).start(span::turn)
    }

    /// Starts a call that another call makes: beneath the current span, and the trace of their step.
    pub(crate) fn inner_call<'c>(
        &'c self,
        who: &'c CallIdentity,
        call: &ToolCall,
        step: &'c TraceContext,
    ) -> Activity<'c> {
        let mut activity = Activity::new(
            Cow::Borrowed(self),
            Level::Call,
            Cow::Borrowed(who),
            OnceLock::new(),
        );
        activity.parent = Some(step);
        activity.is_inner = true;
        activity.keep_arguments(call);
        activity.start(|event| span::call(&Span::current(), event))
    }

    /// Sends the event of a search of a step's catalog. `search` returns the query and the names of the hits, the best
    /// first; it runs only if somebody receives the event.
    pub(crate) fn searched(
        &self,
        origin: &CallOrigin,
        step_id: &Arc<str>,
        call: Option<&CallIdentity>,
        search: impl FnOnce() -> (String, Vec<ToolName>),
    ) {
        if !self.is_watched() {
            return;
        }
        let (query, hits) = search();
        let trace = TraceContext::root(Some(&origin.trace_id));
        self.emit(RuntimeEvent {
            step_id: Some(bounded_id(Arc::clone(step_id))),
            tool_call_id: call.map(|call| bounded_id(Arc::clone(&call.call_id))),
            tool_name: call.map(|call| bounded_id(Arc::clone(&call.tool_name))),
            search: Some(Box::new(ToolSearch::new(&query, &hits))),
            ..RuntimeEvent::of(EventKind::ToolsSearched, origin, trace)
        });
    }

    /// Sends the end event of a background call, perhaps started by another process.
    pub(crate) fn settled(&self, origin: &CallOrigin, handle: &str, result: &ToolResult) {
        let trace = TraceContext::root(Some(&origin.trace_id));
        let mut event = RuntimeEvent {
            tool_call_id: Some(bounded_id(result.tool_call_id())),
            tool_name: Some(bounded_id(result.tool_name())),
            ..RuntimeEvent::of(EventKind::ToolSettled, origin, trace)
        };
        event.set_result(result);
        event.handle = Some(bounded_id(handle));
        span::ended(&span::settled(&event), &event);
        if let (Some(event), Some(ring)) = (self.emit(event), self.ring()) {
            ring.add(CallKind::Settled, false, event, None, Some(result));
        }
    }

    /// Keeps a poll of a pending call that ran its component since `begin`. It is no event.
    pub(crate) fn polled(&self, who: &CallIdentity, result: &ToolResult, begin: Instant) {
        let Some(ring) = self.ring() else {
            return;
        };
        let trace = TraceContext::root(Some(&who.origin.trace_id));
        let mut event = RuntimeEvent {
            timestamp: Timestamp((self.0.bus.config().clock)()),
            tool_call_id: Some(bounded_id(Arc::clone(&who.call_id))),
            tool_name: Some(bounded_id(Arc::clone(&who.tool_name))),
            duration_ms: Some(milliseconds(begin.elapsed())),
            ..RuntimeEvent::of(EventKind::ToolPending, &who.origin, trace)
        };
        event.set_result(result);
        ring.add(CallKind::Poll, false, Arc::new(event), None, Some(result));
    }

    /// Sends an event with the current time, if there is a log, a subscriber or a ring of calls. Returns it then.
    fn emit(&self, mut event: RuntimeEvent) -> Option<Arc<RuntimeEvent>> {
        if !self.is_watched() {
            return None;
        }
        event.timestamp = Timestamp((self.0.bus.config().clock)());
        let event = Arc::new(event);
        if let Some(log) = &self.0.log {
            log.write(&event);
        }
        self.0.bus.emit(Arc::clone(&event));
        Some(event)
    }
}

/// What runs. The calls of a step may run concurrently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Turn,
    Step,
    Call,
}

/// How an activity ended.
enum End<'a> {
    /// A turn or a step, with an error if it failed.
    Closed(Option<&'a ToolError>),
    /// A call.
    Result(&'a ToolResult),
    Dropped,
}

/// A running turn, step or call.
#[derive(Debug)]
pub(crate) struct Activity<'s> {
    emitter: Cow<'s, Emitter>,
    level: Level,
    /// Whose it is. A turn has no step, and only a call has a tool.
    who: Cow<'s, CallIdentity>,
    /// That of a call is made when somebody observes the call.
    trace: OnceLock<TraceContext>,
    /// The trace of the step of a call.
    parent: Option<&'s TraceContext>,
    span: Span,
    started_at: Instant,
    has_ended: bool,
    /// Whether it is a call that another call makes.
    is_inner: bool,
    /// The arguments of a call, if they are kept.
    arguments: Option<String>,
}

impl<'s> Activity<'s> {
    fn new(
        emitter: Cow<'s, Emitter>,
        level: Level,
        who: Cow<'s, CallIdentity>,
        trace: OnceLock<TraceContext>,
    ) -> Self {
        Self {
            emitter,
            level,
            who,
            trace,
            parent: None,
            span: Span::none(),
            started_at: Instant::now(),
            has_ended: false,
            is_inner: false,
            arguments: None,
        }
    }

    fn keep_arguments(&mut self, call: &ToolCall) {
        self.arguments = self.emitter.ring().and_then(|ring| ring.arguments(call));
    }

    /// Publishes the start, if a log, a subscriber or a `tracing` subscriber may receive it.
    fn start(mut self, span: impl FnOnce(&RuntimeEvent) -> Span) -> Self {
        if LevelFilter::current() >= LevelFilter::INFO || self.emitter.is_watched() {
            let [started, ..] = self.kinds();
            let event = self.event(started);
            self.span = span(&event);
            self.emitter.emit(event);
        }
        self
    }

    /// Starts a step of this turn.
    pub(crate) fn step(&self, step_id: &Arc<str>) -> Activity<'static> {
        let who = CallIdentity {
            step_id: Arc::clone(step_id),
            ..CallIdentity::clone(&self.who)
        };
        let emitter = Cow::Owned(Emitter::clone(&self.emitter));
        let trace = self.trace().child().into();
        let step = Activity::new(emitter, Level::Step, Cow::Owned(who), trace);
        step.start(|event| span::step(&self.span, event))
    }

    /// Starts a call of this step. If nobody observes the call, it makes no event, no ids and no span. A subscriber
    /// that comes while it runs gets its end event.
    pub(crate) fn call<'c>(&'c self, who: &'c CallIdentity, call: &ToolCall) -> Activity<'c> {
        let emitter = Cow::Borrowed(&*self.emitter);
        let mut activity = Activity::new(emitter, Level::Call, Cow::Borrowed(who), OnceLock::new());
        activity.parent = Some(self.trace());
        activity.keep_arguments(call);
        activity.start(|event| span::call(&self.span, event))
    }

    pub(crate) fn trace(&self) -> &TraceContext {
        let of_parent = || self.parent.map(TraceContext::child);
        self.trace
            .get_or_init(|| of_parent().unwrap_or_else(|| TraceContext::root(None)))
    }

    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    /// Publishes the end of a turn or a step: failed if there is an error.
    pub(crate) fn end(mut self, error: Option<&ToolError>) {
        self.finish(End::Closed(error));
    }

    /// Publishes the end of a call.
    pub(crate) fn end_call(mut self, result: &ToolResult) {
        self.finish(End::Result(result));
    }

    /// The kinds of its events: started, completed, failed.
    fn kinds(&self) -> [EventKind; 3] {
        use EventKind::{
            StepCompleted, StepFailed, StepStarted, ToolCalled, ToolCompleted, ToolFailed,
            TurnCompleted, TurnFailed, TurnStarted,
        };
        match self.level {
            Level::Turn => [TurnStarted, TurnCompleted, TurnFailed],
            Level::Step => [StepStarted, StepCompleted, StepFailed],
            Level::Call => [ToolCalled, ToolCompleted, ToolFailed],
        }
    }

    fn event(&self, kind: EventKind) -> RuntimeEvent {
        let who = &*self.who;
        let of = |level, id: &Arc<str>| (self.level >= level).then(|| bounded_id(Arc::clone(id)));
        RuntimeEvent {
            step_id: of(Level::Step, &who.step_id),
            tool_call_id: of(Level::Call, &who.call_id),
            tool_name: of(Level::Call, &who.tool_name),
            ..RuntimeEvent::of(kind, &who.origin, self.trace().clone())
        }
    }

    fn finish(&mut self, end: End<'_>) {
        self.has_ended = true;
        if self.span.is_disabled() && !self.emitter.is_watched() {
            return;
        }
        let [_, completed, failed] = self.kinds();
        let mut event = self.event(completed);
        event.duration_ms = Some(milliseconds(self.started_at.elapsed()));
        let result = match &end {
            End::Result(result) => Some(*result),
            End::Closed(_) | End::Dropped => None,
        };
        match end {
            End::Result(result) => event.set_result(result),
            End::Closed(error) => event.error = error.map(Into::into),
            End::Dropped => event.error = Some(self.dropped()),
        }
        let failure = event.error.as_ref().map(|_| ToolStatus::Error);
        let status = *event
            .status
            .get_or_insert(failure.unwrap_or(ToolStatus::Ok));
        event.kind = match status {
            ToolStatus::Ok => completed,
            ToolStatus::Error => failed,
            ToolStatus::Pending => EventKind::ToolPending,
        };
        span::ended(&self.span, &event);
        let event = self.emitter.emit(event);
        if self.level == Level::Call
            && let (Some(event), Some(ring)) = (event, self.emitter.ring())
        {
            let arguments = self.arguments.take();
            ring.add(CallKind::Call, self.is_inner, event, arguments, result);
        }
    }

    fn dropped(&self) -> EventError {
        // Turns and steps have no `ToolErrorCode`.
        let (name, code) = match self.level {
            Level::Turn => ("turn", "E_CANCELLED"),
            Level::Step => ("step", "E_CANCELLED"),
            Level::Call => ("call", ToolErrorCode::Cancelled.as_str()),
        };
        EventError::new(code, &format!("the {name} was dropped before it ended"))
    }
}

impl Drop for Activity<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.finish(End::Dropped);
        }
    }
}

impl RuntimeEvent {
    /// Returns an event of a turn, without its time.
    fn of(kind: EventKind, origin: &CallOrigin, trace: TraceContext) -> Self {
        Self {
            agent_name: bounded_id(Arc::clone(&origin.agent_name)),
            instance_key: bounded_id(Arc::clone(&origin.instance_key)),
            turn_id: bounded_id(Arc::clone(&origin.turn_id)),
            ..Self::new(kind, trace)
        }
    }

    fn set_result(&mut self, result: &ToolResult) {
        self.status = Some(result.status());
        self.error = result.tool_error().map(Into::into);
        self.usage = Some(result.usage().clone());
        self.handle = result.handle().map(bounded_id);
    }
}
