//! The mailbox of one instance.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::sync::{Notify, oneshot};

use super::Loss;
use super::sync::lock;

/// The mailbox of one instance: its events in the order they were accepted. The events themselves are in
/// the store.
#[derive(Debug)]
pub(super) struct Mailbox {
    capacity: Capacity,
    state: Mutex<State>,
    changed: Notify,
    results: Arc<Notify>,
}

/// Limits of a mailbox.
#[derive(Debug, Clone, Copy)]
pub(super) struct Capacity {
    pub(super) events: usize,
    /// Bytes of the events' JSON.
    pub(super) bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Entry>,
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
pub(super) struct Entry {
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
pub(super) enum Item {
    /// Take a turn.
    Event(Entry),
    /// Start the worker, and report whether that succeeded.
    Start(oneshot::Sender<Result<(), Loss>>),
}

/// Why no slot was reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReserveError {
    Full,
    TooLarge,
    Closed,
}

/// A slot for an event that is being stored. Dropping it releases it.
#[derive(Debug)]
pub(super) struct Slot {
    mailbox: Arc<Mailbox>,
    bytes: usize,
    in_use: bool,
}

impl Mailbox {
    pub(super) fn new(capacity: Capacity) -> Arc<Self> {
        Arc::new(Self {
            capacity,
            state: Mutex::default(),
            changed: Notify::new(),
            results: Arc::default(),
        })
    }

    /// Reserves a slot for an event of this many bytes.
    pub(super) fn reserve(self: &Arc<Self>, bytes: usize) -> Result<Slot, ReserveError> {
        let mut state = lock(&self.state);
        if state.closed {
            return Err(ReserveError::Closed);
        }
        let waiting = state.queue.len() + state.reserved;
        if waiting >= self.capacity.events {
            return Err(ReserveError::Full);
        }
        if waiting > 0 && state.bytes + bytes > self.capacity.bytes {
            return Err(ReserveError::TooLarge);
        }
        state.reserved += 1;
        state.bytes += bytes;
        Ok(Slot {
            mailbox: Arc::clone(self),
            bytes,
            in_use: true,
        })
    }

    /// Queues an event that was accepted before, whatever the capacity. Returns false if the mailbox is
    /// closed.
    pub(super) fn restore(&self, entry: Entry) -> bool {
        self.change(|state| {
            state.bytes += entry.bytes;
            state.queue.push_back(entry);
        })
    }

    /// Asks for the worker to be started. Returns false if the mailbox is closed.
    pub(super) fn start(&self, started: oneshot::Sender<Result<(), Loss>>) -> bool {
        self.change(|state| state.starts.push(started))
    }

    /// Notified when there are results of delegations. They are sent to the worker during its turn.
    pub(super) fn results(&self) -> &Arc<Notify> {
        &self.results
    }

    fn change(&self, change: impl FnOnce(&mut State)) -> bool {
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
    pub(super) fn withdraw(&self, event_id: &str) -> Option<Entry> {
        let mut state = lock(&self.state);
        let index = state.queue.iter().position(|e| e.event_id == event_id)?;
        let entry = state.queue.remove(index)?;
        state.bytes -= entry.bytes;
        Some(entry)
    }

    /// Waits for the next item. For one reader. Cancel safe.
    pub(super) async fn next(&self) -> Item {
        loop {
            if let Some(item) = self.take() {
                return item;
            }
            self.changed.notified().await;
        }
    }

    fn take(&self) -> Option<Item> {
        let mut state = lock(&self.state);
        if let Some(started) = state.starts.pop() {
            return Some(Item::Start(started));
        }
        let entry = state.queue.pop_front()?;
        state.bytes -= entry.bytes;
        state.running = true;
        Some(Item::Event(entry))
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

impl Slot {
    /// Queues the stored event.
    pub(super) fn put(mut self, entry: Entry) {
        self.in_use = false;
        {
            let mut state = lock(&self.mailbox.state);
            state.reserved -= 1;
            if state.closed {
                state.bytes -= self.bytes;
            } else {
                state.queue.push_back(entry);
            }
        }
        self.mailbox.changed.notify_one();
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if self.in_use {
            let mut state = lock(&self.mailbox.state);
            state.reserved -= 1;
            state.bytes -= self.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(seq: i64) -> Entry {
        Entry {
            seq,
            event_id: seq.to_string(),
            obligation: Obligation::Required,
            bytes: 10,
        }
    }

    fn mailbox(events: usize, bytes: usize) -> Arc<Mailbox> {
        Mailbox::new(Capacity { events, bytes })
    }

    #[tokio::test]
    async fn a_slot_counts_from_its_reservation_until_its_event_is_taken() {
        let mailbox = mailbox(2, 100);
        let first = mailbox.reserve(10).unwrap();
        let second = mailbox.reserve(10).unwrap();
        assert_eq!(mailbox.reserve(10).unwrap_err(), ReserveError::Full);
        drop(second);
        first.put(entry(1));
        mailbox.reserve(10).unwrap().put(entry(2));
        assert_eq!(mailbox.reserve(10).unwrap_err(), ReserveError::Full);
        assert!(!mailbox.close_if_empty());
        assert!(matches!(mailbox.next().await, Item::Event(e) if e == entry(1)));
        assert!(matches!(mailbox.next().await, Item::Event(e) if e == entry(2)));
        assert_eq!(mailbox.load(), (0, true));
        mailbox.set_idle();
        let slot = mailbox.reserve(10).unwrap();
        assert!(!mailbox.close_if_empty());
        drop(slot);
        assert!(mailbox.close_if_empty());
        assert_eq!(mailbox.reserve(10).unwrap_err(), ReserveError::Closed);
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
        let alone = mailbox.reserve(99).unwrap();
        assert_eq!(mailbox.reserve(10).unwrap_err(), ReserveError::TooLarge);
        drop(alone);
        mailbox.reserve(10).unwrap().put(entry(1));
        mailbox.restore(entry(2));
        assert_eq!(mailbox.reserve(10).unwrap_err(), ReserveError::TooLarge);
        mailbox.next().await;
        assert!(mailbox.withdraw("2").is_some());
        mailbox.restore(entry(3));
        let last = mailbox.reserve(10).unwrap();
        mailbox.close();
        last.put(entry(4));
        assert_eq!(lock(&mailbox.state).bytes, 0);
    }
}
