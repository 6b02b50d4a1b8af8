//! What waits for one instance.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::sync::{Notify, oneshot};

use super::{Loss, lock};

/// The mailbox of one instance: events in the order they were accepted, each in the store, here by
/// its place alone.
#[derive(Debug)]
pub(super) struct Mailbox {
    capacity: Capacity,
    state: Mutex<State>,
    news: Notify,
    results: Arc<Notify>,
}

/// How much may wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Capacity {
    pub(super) events: usize,
    /// Of the events' JSON.
    pub(super) bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Entry>,
    /// Places of events that are being stored.
    reserved: usize,
    /// Bytes of all these events.
    bytes: usize,
    starts: Vec<oneshot::Sender<Result<(), Loss>>>,
    running: bool,
    closed: bool,
}

/// An event that waits: its place in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) seq: i64,
    pub(super) event_id: String,
    pub(super) standing: Standing,
    /// Length of its JSON.
    pub(super) bytes: usize,
}

/// Whether an event must have its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// In any case.
    Owed,
    /// As long as the one who asked waits for it.
    WhileAwaited,
}

/// What an instance does next.
#[derive(Debug)]
pub(super) enum Item {
    /// Takes a turn.
    Event(Entry),
    /// Starts, and says whether it could.
    Start(oneshot::Sender<Result<(), Loss>>),
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoPlace {
    Full,
    TooHeavy,
    Closed,
}

/// A place for an event that is being stored; given back where it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    mailbox: Arc<Mailbox>,
    bytes: usize,
    held: bool,
}

impl Mailbox {
    pub(super) fn new(capacity: Capacity) -> Arc<Self> {
        Arc::new(Self {
            capacity,
            state: Mutex::default(),
            news: Notify::new(),
            results: Arc::default(),
        })
    }

    /// Reserves a place for an event of so many bytes.
    pub(super) fn reserve(self: &Arc<Self>, bytes: usize) -> Result<Place, NoPlace> {
        let mut state = lock(&self.state);
        if state.closed {
            return Err(NoPlace::Closed);
        }
        let waiting = state.queue.len() + state.reserved;
        if waiting >= self.capacity.events {
            return Err(NoPlace::Full);
        }
        if waiting > 0 && state.bytes + bytes > self.capacity.bytes {
            return Err(NoPlace::TooHeavy);
        }
        state.reserved += 1;
        state.bytes += bytes;
        Ok(Place {
            mailbox: Arc::clone(self),
            bytes,
            held: true,
        })
    }

    /// Takes up an event that was accepted before, over the capacity if need be; says whether the
    /// mailbox is open.
    pub(super) fn take_up(&self, entry: Entry) -> bool {
        self.change(|state| {
            state.bytes += entry.bytes;
            state.queue.push_back(entry);
        })
    }

    /// Has the instance started; says whether the mailbox is open.
    pub(super) fn start(&self, started: oneshot::Sender<Result<(), Loss>>) -> bool {
        self.change(|state| state.starts.push(started))
    }

    /// Told when there are results of delegations, which a process is told in the middle of its turn.
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
        self.news.notify_one();
        open
    }

    /// Takes an event out, where its turn has not begun.
    pub(super) fn withdraw(&self, event_id: &str) -> Option<Entry> {
        let mut state = lock(&self.state);
        let index = state.queue.iter().position(|e| e.event_id == event_id)?;
        let entry = state.queue.remove(index)?;
        state.bytes -= entry.bytes;
        Some(entry)
    }

    /// Waits for what is to be done next. For one reader; nothing is lost where it is dropped.
    pub(super) async fn next(&self) -> Item {
        loop {
            if let Some(item) = self.take() {
                return item;
            }
            self.news.notified().await;
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
    pub(super) fn rest(&self) {
        lock(&self.state).running = false;
    }

    /// Closes the mailbox unless something is in it, or on its way; says whether it is closed.
    pub(super) fn close_if_empty(&self) -> bool {
        let mut state = lock(&self.state);
        let empty = state.queue.is_empty() && state.reserved == 0 && state.starts.is_empty();
        state.closed |= empty;
        state.closed
    }

    /// Closes the mailbox. What is in it stays in the store.
    pub(super) fn close(&self) {
        let mut state = lock(&self.state);
        state.closed = true;
        let dropped: usize = state.queue.drain(..).map(|entry| entry.bytes).sum();
        state.bytes -= dropped;
        state.starts.clear();
    }

    /// How many events wait, and whether a turn is being taken.
    pub(super) fn load(&self) -> (usize, bool) {
        let state = lock(&self.state);
        (state.queue.len() + state.reserved, state.running)
    }
}

impl Place {
    /// Puts the stored event in.
    pub(super) fn put(mut self, entry: Entry) {
        self.held = false;
        {
            let mut state = lock(&self.mailbox.state);
            state.reserved -= 1;
            if state.closed {
                state.bytes -= self.bytes;
            } else {
                state.queue.push_back(entry);
            }
        }
        self.mailbox.news.notify_one();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.held {
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
            standing: Standing::Owed,
            bytes: 10,
        }
    }

    fn mailbox(events: usize, bytes: usize) -> Arc<Mailbox> {
        Mailbox::new(Capacity { events, bytes })
    }

    #[tokio::test]
    async fn a_place_counts_from_its_reservation_until_its_event_is_taken() {
        let mailbox = mailbox(2, 100);
        let first = mailbox.reserve(10).unwrap();
        let second = mailbox.reserve(10).unwrap();
        assert_eq!(mailbox.reserve(10).unwrap_err(), NoPlace::Full);
        drop(second);
        first.put(entry(1));
        mailbox.reserve(10).unwrap().put(entry(2));
        assert_eq!(mailbox.reserve(10).unwrap_err(), NoPlace::Full);
        assert!(!mailbox.close_if_empty());
        assert!(matches!(mailbox.next().await, Item::Event(e) if e == entry(1)));
        assert!(matches!(mailbox.next().await, Item::Event(e) if e == entry(2)));
        assert_eq!(mailbox.load(), (0, true));
        mailbox.rest();
        let place = mailbox.reserve(10).unwrap();
        assert!(!mailbox.close_if_empty());
        drop(place);
        assert!(mailbox.close_if_empty());
        assert_eq!(mailbox.reserve(10).unwrap_err(), NoPlace::Closed);
    }

    #[test]
    fn only_what_waits_is_withdrawn() {
        let mailbox = mailbox(2, 100);
        mailbox.take_up(entry(1));
        assert_eq!(mailbox.withdraw("2"), None);
        assert_eq!(mailbox.withdraw("1"), Some(entry(1)));
        assert_eq!(mailbox.load(), (0, false));
    }

    #[tokio::test]
    async fn what_waits_is_weighed_from_its_reservation_until_it_is_taken() {
        let mailbox = mailbox(10, 25);
        let alone = mailbox.reserve(99).unwrap();
        assert_eq!(mailbox.reserve(10).unwrap_err(), NoPlace::TooHeavy);
        drop(alone);
        mailbox.reserve(10).unwrap().put(entry(1));
        mailbox.take_up(entry(2));
        assert_eq!(mailbox.reserve(10).unwrap_err(), NoPlace::TooHeavy);
        mailbox.next().await;
        assert!(mailbox.withdraw("2").is_some());
        mailbox.take_up(entry(3));
        let last = mailbox.reserve(10).unwrap();
        mailbox.close();
        last.put(entry(4));
        assert_eq!(lock(&mailbox.state).bytes, 0);
    }
}
