//! Distributes events to subscribers and logs.

use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::SystemTime;

use futures_util::{Stream, StreamExt};
use tokio::sync::broadcast::{self, error::RecvError};
use toolhost_runtime::debug_fields;

use super::event::RuntimeEvent;
use super::log::{EventLog, InstanceLog};
use super::ring::Ring;
use crate::events::broadcast_stream::BroadcastStream;

/// Configuration of an [`EventBus`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct EventBusConfig {
    /// Events queued per subscriber before it loses the oldest, rounded up to a power of two.
    /// Default: 1,024.
    pub listener_queue: usize,
    /// Events queued for the logs before new ones are lost. Default: 8,192.
    pub log_queue: usize,
    /// Bytes of `events.jsonl` before it replaces `events.jsonl.1`.
    /// Default: 16 MiB.
    pub log_bytes: u64,
    /// The wall clock. Default: the system's.
    pub clock: fn() -> SystemTime,
    /// Returns the `traceparent` of the current span, parent of a turn that is opened without a trace
    /// id. Default: none. `toolhost_otel::current_traceparent` returns that of an exported span.
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

/// Sends events to subscribers and logs. Cheap to clone; all clones share one bus.
///
/// When the last clone and the last instance that uses it are dropped, the streams end and the queued
/// events are written, for at most a second.
#[derive(Clone)]
pub struct EventBus(Arc<BusInner>);

/// A bus that is not kept alive.
pub(super) struct WeakEventBus(Weak<BusInner>);

impl WeakEventBus {
    pub(super) fn upgrade(&self) -> Option<EventBus> {
        self.0.upgrade().map(EventBus)
    }
}

struct BusInner {
    sender: broadcast::Sender<Arc<RuntimeEvent>>,
    listeners: Arc<AtomicUsize>,
    log: EventLog,
    ring: Option<Ring>,
    config: EventBusConfig,
}

debug_fields!(EventBus, this => listeners: this.0.listeners);

impl Default for EventBus {
    fn default() -> Self {
        Self::new(EventBusConfig::default())
    }
}

impl EventBus {
    /// Creates a bus without subscribers.
    pub fn new(config: EventBusConfig) -> Self {
        Self::with_ring(config, None)
    }

    /// Creates a bus that keeps the calls in a ring.
    pub(crate) fn with_ring(config: EventBusConfig, ring: Option<Ring>) -> Self {
        Self(Arc::new(BusInner {
            sender: broadcast::Sender::new(config.listener_queue.clamp(1, 1 << 20)),
            listeners: Arc::default(),
            log: EventLog::new(config.log_queue, config.log_bytes),
            ring,
            config,
        }))
    }

    /// Returns whether there is a subscriber. One relaxed atomic load.
    pub fn is_watched(&self) -> bool {
        self.0.listeners.load(Relaxed) > 0
    }

    /// Sends an event to all subscribers. Never waits or fails.
    pub fn emit(&self, event: impl Into<Arc<RuntimeEvent>>) {
        if self.is_watched() {
            // Fails if the last subscriber has just been dropped.
            let _ = self.0.sender.send(event.into());
        }
    }

    /// Subscribes to all events from now on.
    pub fn subscribe(&self) -> EventStream {
        self.0.listeners.fetch_add(1, Relaxed);
        EventStream {
            events: BroadcastStream::new(self.0.sender.subscribe()),
            listeners: Arc::clone(&self.0.listeners),
        }
    }

    /// Waits until every event and call so far is written or lost. Runs on any executor. Has no timeout.
    pub async fn flush(&self) {
        self.0.log.flush().await;
        if let Some(ring) = &self.0.ring {
            ring.flush().await;
        }
    }

    /// Returns the ring of calls, if there is one.
    pub(crate) fn ring(&self) -> Option<&Ring> {
        self.0.ring.as_ref()
    }

    /// Returns the log in an instance's directory. Guests cannot access the directory.
    pub(super) fn log_in(&self, directory: &Path) -> InstanceLog {
        self.0.log.of(directory)
    }

    pub(super) fn downgrade(&self) -> WeakEventBus {
        WeakEventBus(Arc::downgrade(&self.0))
    }

    pub(super) fn config(&self) -> &EventBusConfig {
        &self.0.config
    }
}

/// An item of an [`EventStream`].
#[derive(Debug, Clone)]
pub enum Received {
    /// An event.
    Event(Arc<RuntimeEvent>),
    /// The subscriber was too slow: number of events dropped, the oldest first.
    Lost(u64),
}

/// A subscription to events, also as a [`Stream`], which ends when the bus is dropped. Dropping it
/// unsubscribes. It does not keep the bus alive.
///
/// ```
/// # async fn example(host: toolhost::Host) {
/// use futures_util::StreamExt; // or that of `futures` or `tokio-stream`
/// use toolhost::events::Received;
///
/// let types = host.events().subscribe().filter_map(async |received| match received {
///     Received::Event(event) => Some(format!("{:?}", event.kind)),
///     Received::Lost(count) => Some(format!("{count} events lost")),
/// });
/// types.for_each(async |line| println!("{line}")).await;
/// # }
/// ```
pub struct EventStream {
    events: BroadcastStream<Arc<RuntimeEvent>>,
    listeners: Arc<AtomicUsize>,
}

debug_fields!(EventStream);

impl EventStream {
    /// Waits for the next event. Returns `None` when the bus is dropped. Cancel-safe.
    pub async fn next(&mut self) -> Option<Received> {
        StreamExt::next(self).await
    }
}

impl Stream for EventStream {
    type Item = Received;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Received>> {
        self.events.poll_recv(cx).map(|received| match received {
            Ok(event) => Some(Received::Event(event)),
            Err(RecvError::Lagged(count)) => Some(Received::Lost(count)),
            Err(RecvError::Closed) => None,
        })
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        self.listeners.fetch_sub(1, Relaxed);
    }
}
