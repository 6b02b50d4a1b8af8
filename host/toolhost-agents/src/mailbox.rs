//! The mailbox of one instance.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::sync::{Notify, oneshot};
use toolhost_runtime::lock;

use super::{InstanceId, Loss, OrchestratorConfig, Undelivered};

/// The mailbox of one instance: its events in the order they were accepted. The events themselves are in
/// the store.
#[derive(Debug)]
pub(super) struct Mailbox {
    pub(super) id: InstanceId,
    /// Notified when there are results of delegations. They are sent to the worker during its turn.
    pub(super) results: Arc<Notify>,
    events_max: usize,
    bytes_max: usize,
    state: Mutex<MailboxState>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct MailboxState {
    queue: VecDeque<QueuedEvent>,
    /// Slots of events that are being stored.
    reserved: usize,
    /// Bytes of the queued events and the reserved slots.
    bytes: usize,
    starts: Vec<oneshot::Sender<Result<(), Loss>>>,
    running: bool,
    closed: bool,
}

/// A queued event, by its row in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QueuedEvent {
    pub(super) seq: i64,
    pub(super) event_id: String,
    pub(super) obligation: Obligation,
    /// Length of its JSON.
    pub(super) bytes: usize,
}

/// Whether an event must be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obligation {
    /// In any case.
    Required,
    /// As long as its requester waits.
    WhileAwaited,
}

/// What an instance is to do next.
#[derive(Debug)]
pub(super) enum MailboxItem {
    /// Take a turn.
    Event(QueuedEvent),
    /// Start the worker, and report whether that succeeded.
    Start(oneshot::Sender<Result<(), Loss>>),
}

/// A slot for an event that is being stored. Dropping it queues the event, or releases the slot if the
/// event was not stored.
#[derive(Debug)]
pub(super) struct MailboxSlot {
    mailbox: Arc<Mailbox>,
    bytes: usize,
    stored: Option<QueuedEvent>,
}

impl Mailbox {
    pub(super) fn new(id: InstanceId, config: &OrchestratorConfig) -> Arc<Self> {
        Arc::new(Self {
            id,
            results: Arc::default(),
            events_max: config.mailbox_capacity,
            bytes_max: config.mailbox_bytes,
            state: Mutex::default(),
            changed: Notify::new(),
        })
    }

    /// Reserves a slot for an event of this many bytes; none if the mailbox is closed.
    pub(super) fn reserve(
        self: &Arc<Self>,
        bytes: usize,
    ) -> Result<Option<MailboxSlot>, Undelivered> {
        let (id, events_max, bytes_max) = (&self.id, self.events_max, self.bytes_max);
        let mut state = lock(&self.state);
        if state.closed {
            return Ok(None);
        }
        let waiting = state.queue.len() + state.reserved;
        if waiting >= events_max {
            let limit = format!("{id} has {events_max} events waiting already");
            return Err(Undelivered::LimitReached(limit));
        }
        if waiting > 0 && state.bytes + bytes > bytes_max {
            let limit = format!("the events of {id} would exceed {bytes_max} bytes");
            return Err(Undelivered::LimitReached(limit));
        }
        state.reserved += 1;
        state.bytes += bytes;
        Ok(Some(MailboxSlot {
            mailbox: Arc::clone(self),
            bytes,
            stored: None,
        }))
    }

    /// Queues an event that was accepted before, whatever the capacity. Returns false if the mailbox is
    /// closed.
    pub(super) fn restore(&self, entry: QueuedEvent) -> bool {
        self.change(|state| {
            state.bytes += entry.bytes;
            state.queue.push_back(entry);
        })
    }

    /// Asks for the worker to be started. Returns false if the mailbox is closed.
    pub(super) fn start(&self, reply: oneshot::Sender<Result<(), Loss>>) -> bool {
        self.change(|state| state.starts.push(reply))
    }

    fn change(&self, change: impl FnOnce(&mut MailboxState)) -> bool {
        let open = {
            let mut state = lock(&self.state);
            if !state.closed {
                change(&mut state);
            }
            !state.closed
        };
        self.changed.notify_one();
        open
    }

    /// Removes an event whose turn has not begun.
    pub(super) fn withdraw(&self, event_id: &str) -> Option<QueuedEvent> {
        let mut state = lock(&self.state);
        let index = state.queue.iter().position(|e| e.event_id == event_id)?;
        let entry = state.queue.remove(index)?;
        state.bytes -= entry.bytes;
        Some(entry)
    }

    /// Waits for the next item. For one reader. Cancel safe.
    pub(super) async fn next(&self) -> MailboxItem {
        loop {
            if let Some(item) = self.take() {
                return item;
            }
            self.changed.notified().await;
        }
    }

    fn take(&self) -> Option<MailboxItem> {
        let mut state = lock(&self.state);
        if let Some(reply) = state.starts.pop() {
            return Some(MailboxItem::Start(reply));
        }
        let entry = state.queue.pop_front()?;
        state.bytes -= entry.bytes;
        state.running = true;
        Some(MailboxItem::Event(entry))
    }

    /// Notes that the turn of the last event has ended.
    pub(super) fn set_idle(&self) {
        lock(&self.state).running = false;
    }

    /// Closes the mailbox if it has no event, reservation or start. Returns whether it is closed.
    pub(super) fn close_if_empty(&self) -> bool {
        let mut state = lock(&self.state);
        let empty = state.queue.is_empty() && state.reserved == 0 && state.starts.is_empty();
        state.closed |= empty;
        state.closed
    }

    /// Closes the mailbox. Its events stay in the store.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        let dropped: usize = state.queue.drain(..).map(|entry| entry.bytes).sum();
        state.bytes -= dropped;
        state.starts.clear();
    }

    /// Returns how many events wait, and whether a turn is running.
    pub(super) fn load(&self) -> (usize, bool) {
        let state = lock(&self.state);
        (state.queue.len() + state.reserved, state.running)
    }
}

impl MailboxSlot {
    pub(super) fn put(mut self, entry: QueuedEvent) {
        self.stored = Some(entry);
    }
}

impl Drop for MailboxSlot {
    fn drop(&mut self) {
        let mut state = lock(&self.mailbox.state);
        state.reserved -= 1;
        match self.stored.take() {
            Some(entry) if !state.closed => state.queue.push_back(entry),
            Some(_) | None => state.bytes -= self.bytes,
        }
        drop(state);
        self.mailbox.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seq: i64) -> QueuedEvent {
        QueuedEvent {
            seq,
            event_id: seq.to_string(),
            obligation: Obligation::Required,
            bytes: 10,
        }
    }

    fn mailbox(events: usize, bytes: usize) -> Arc<Mailbox> {
        let limits = OrchestratorConfig {
            mailbox_capacity: events,
            mailbox_bytes: bytes,
            ..OrchestratorConfig::default()
        };
        Mailbox::new(InstanceId::new("a", "k"), &limits)
    }

    /// Reserves a slot that must be free.
    fn slot(mailbox: &Arc<Mailbox>, bytes: usize) -> MailboxSlot {
        mailbox.reserve(bytes).unwrap().unwrap()
    }

    fn refusal(mailbox: &Arc<Mailbox>) -> String {
        mailbox.reserve(10).unwrap_err().to_string()
    }

    #[tokio::test]
    async fn a_slot_counts_from_its_reservation_until_its_event_is_taken() {
        let mailbox = mailbox(2, 100);
        let first = slot(&mailbox, 10);
        let second = slot(&mailbox, 10);
        let full = "a[k] has 2 events waiting already";
        assert_eq!(refusal(&mailbox), full);
        drop(second);
        first.put(entry(1));
        slot(&mailbox, 10).put(entry(2));
        assert_eq!(refusal(&mailbox), full);
        assert!(!mailbox.close_if_empty());
        assert!(matches!(mailbox.next().await, MailboxItem::Event(e) if e == entry(1)));
        assert!(matches!(mailbox.next().await, MailboxItem::Event(e) if e == entry(2)));
        assert_eq!(mailbox.load(), (0, true));
        mailbox.set_idle();
        let last = slot(&mailbox, 10);
        assert!(!mailbox.close_if_empty());
        drop(last);
        assert!(mailbox.close_if_empty());
        assert!(mailbox.reserve(10).unwrap().is_none());
    }

    #[test]
    fn only_a_queued_event_is_withdrawn() {
        let mailbox = mailbox(2, 100);
        mailbox.restore(entry(1));
        assert_eq!(mailbox.withdraw("2"), None);
        assert_eq!(mailbox.withdraw("1"), Some(entry(1)));
        assert_eq!(mailbox.load(), (0, false));
    }

    #[tokio::test]
    async fn bytes_count_from_the_reservation_until_the_event_is_taken() {
        let mailbox = mailbox(10, 25);
        let alone = slot(&mailbox, 99);
        let too_large = "the events of a[k] would exceed 25 bytes";
        assert_eq!(refusal(&mailbox), too_large);
        drop(alone);
        slot(&mailbox, 10).put(entry(1));
        mailbox.restore(entry(2));
        assert_eq!(refusal(&mailbox), too_large);
        mailbox.next().await;
        assert!(mailbox.withdraw("2").is_some());
        mailbox.restore(entry(3));
        let last = slot(&mailbox, 10);
        mailbox.close();
        last.put(entry(4));
        assert_eq!(lock(&mailbox.state).bytes, 0);
    }
}
