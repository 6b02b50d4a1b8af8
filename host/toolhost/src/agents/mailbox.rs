//! What waits for one instance.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::sync::{Notify, oneshot};

use super::{Loss, lock};

/// The mailbox of one instance: events in the order they were accepted, each in the store, here by
/// its place alone.
#[derive(Debug)]
pub(super) struct Mailbox {
    capacity: usize,
    state: Mutex<State>,
    news: Notify,
    results: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<Entry>,
    /// Places of events that are being stored.
    reserved: usize,
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
    Closed,
}

/// A place for an event that is being stored; given back where it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    mailbox: Arc<Mailbox>,
    held: bool,
}

impl Mailbox {
    pub(super) fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self {
            capacity,
            state: Mutex::default(),
            news: Notify::new(),
            results: Arc::default(),
        })
    }

    /// Reserves a place.
    pub(super) fn reserve(self: &Arc<Self>) -> Result<Place, NoPlace> {
        let mut state = lock(&self.state);
        if state.closed {
            return Err(NoPlace::Closed);
        }
        if state.queue.len() + state.reserved >= self.capacity {
            return Err(NoPlace::Full);
        }
        state.reserved += 1;
        Ok(Place {
            mailbox: Arc::clone(self),
            held: true,
        })
    }

    /// Takes up an event that was accepted before, over the capacity if need be; says whether the
    /// mailbox is open.
    pub(super) fn take_up(&self, entry: Entry) -> bool {
        self.change(|state| state.queue.push_back(entry))
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
        state.queue.remove(index)
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
        state.queue.clear();
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
            if !state.closed {
                state.queue.push_back(entry);
            }
        }
        self.mailbox.news.notify_one();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.held {
            lock(&self.mailbox.state).reserved -= 1;
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
        }
    }

    #[tokio::test]
    async fn a_place_counts_from_its_reservation_until_its_event_is_taken() {
        let mailbox = Mailbox::new(2);
        let first = mailbox.reserve().unwrap();
        let second = mailbox.reserve().unwrap();
        assert_eq!(mailbox.reserve().unwrap_err(), NoPlace::Full);
        drop(second);
        first.put(entry(1));
        mailbox.reserve().unwrap().put(entry(2));
        assert_eq!(mailbox.reserve().unwrap_err(), NoPlace::Full);
        assert!(!mailbox.close_if_empty());
        assert!(matches!(mailbox.next().await, Item::Event(e) if e == entry(1)));
        assert!(matches!(mailbox.next().await, Item::Event(e) if e == entry(2)));
        assert_eq!(mailbox.load(), (0, true));
        mailbox.rest();
        let place = mailbox.reserve().unwrap();
        assert!(!mailbox.close_if_empty());
        drop(place);
        assert!(mailbox.close_if_empty());
        assert_eq!(mailbox.reserve().unwrap_err(), NoPlace::Closed);
    }

    #[test]
    fn only_what_waits_is_withdrawn() {
        let mailbox = Mailbox::new(2);
        mailbox.take_up(entry(1));
        assert_eq!(mailbox.withdraw("2"), None);
        assert_eq!(mailbox.withdraw("1"), Some(entry(1)));
        assert_eq!(mailbox.load(), (0, false));
    }
}
