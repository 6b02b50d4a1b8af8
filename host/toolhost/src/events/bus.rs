//! Where events go.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::SystemTime;

use tokio::sync::broadcast::{self, error::RecvError};

use super::event::RuntimeEvent;
use super::log::{EventLog, InstanceLog};
use toolhost_contract::Timestamp;

/// How events are kept and given out.
#[derive(Debug, Clone)]
pub struct EventBusConfig {
    /// Events a slow listener may be behind before it loses the oldest, rounded up to a power of two.
    /// Default: 1,024.
    pub listener_queue: usize,
    /// Events that may wait to be written before new ones are lost. Default: 8,192.
    pub log_queue: usize,
    /// Bytes of `events.jsonl` before it becomes `events.jsonl.1`, in the place of the one before.
    /// Default: 16 MiB.
    pub log_bytes: u64,
    /// The wall clock. Default: the system's.
    pub clock: fn() -> SystemTime,
    /// Returns the `traceparent` of the current span: a turn that is opened without a trace id becomes
    /// its child. Default: none. `toolhost_otel::current_traceparent` returns that of an exported span.
    pub current_traceparent: fn() -> Option<String>,
}

impl Default for EventBusConfig {
    fn default() -> Self {
        Self {
            listener_queue: 1024,
            log_queue: 8192,
            log_bytes: 16 << 20,
            clock: SystemTime::now,
            current_traceparent: || None,
        }
    }
}

/// Gives events to whoever watches. Cheap to clone; all clones are one bus.
///
/// When the last clone is dropped, and the last instance whose events go here, its streams end, and
/// what waits to be written is written: that takes at most a second.
#[derive(Clone)]
pub struct EventBus(Arc<BusInner>);

struct BusInner {
    sender: broadcast::Sender<Arc<RuntimeEvent>>,
    listeners: Arc<AtomicUsize>,
    log: EventLog,
    clock: fn() -> SystemTime,
    current_traceparent: fn() -> Option<String>,
}

impl fmt::Debug for EventBus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventBus")
            .field("listeners", &self.0.listeners)
            .finish_non_exhaustive()
    }
}

impl Default for EventBus {
    fn default() -> Self {
        Self::new(EventBusConfig::default())
    }
}

impl EventBus {
    /// Makes a bus that nobody watches.
    #[must_use]
    pub fn new(config: EventBusConfig) -> Self {
        Self(Arc::new(BusInner {
            sender: broadcast::Sender::new(config.listener_queue.clamp(1, 1 << 20)),
            listeners: Arc::default(),
            log: EventLog::new(config.log_queue, config.log_bytes),
            clock: config.clock,
            current_traceparent: config.current_traceparent,
        }))
    }

    /// Whether anybody has subscribed: then an event is worth making. One relaxed load.
    #[must_use]
    pub fn is_watched(&self) -> bool {
        self.0.listeners.load(Relaxed) > 0
    }

    /// Gives an event to all who have subscribed. Never waits, never fails.
    pub fn emit(&self, event: impl Into<Arc<RuntimeEvent>>) {
        if self.is_watched() {
            // It is no error that the last listener has just left.
            let _ = self.0.sender.send(event.into());
        }
    }

    /// Subscribes to all events from now on.
    #[must_use]
    pub fn subscribe(&self) -> EventStream {
        self.0.listeners.fetch_add(1, Relaxed);
        EventStream {
            receiver: self.0.sender.subscribe(),
            listeners: Arc::clone(&self.0.listeners),
        }
    }

    /// Waits until every event so far is in its file, or known to be lost. Runs on any executor; as
    /// long as the disk takes.
    pub async fn flush(&self) {
        self.0.log.flush().await;
    }

    /// The log in an instance's directory: the parent of its workspace, which no guest reaches.
    pub(super) fn log_in(&self, directory: &Path) -> InstanceLog {
        self.0.log.of(directory)
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp((self.0.clock)())
    }

    pub(super) fn current_traceparent(&self) -> Option<String> {
        (self.0.current_traceparent)()
    }
}

/// What a listener receives.
#[derive(Debug, Clone)]
pub enum Received {
    /// An event.
    Event(Arc<RuntimeEvent>),
    /// The listener was too slow: so many events were dropped here, the oldest.
    Lost(u64),
}

/// Events as they happen. Dropping it unsubscribes; it does not keep the bus alive.
pub struct EventStream {
    receiver: broadcast::Receiver<Arc<RuntimeEvent>>,
    listeners: Arc<AtomicUsize>,
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream")
            .field("waiting", &self.receiver.len())
            .finish_non_exhaustive()
    }
}

impl EventStream {
    /// Waits for the next; none when the bus is gone. Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Received> {
        match self.receiver.recv().await {
            Ok(event) => Some(Received::Event(event)),
            Err(RecvError::Lagged(count)) => Some(Received::Lost(count)),
            Err(RecvError::Closed) => None,
        }
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.listeners.fetch_sub(1, Relaxed);
    }
}
