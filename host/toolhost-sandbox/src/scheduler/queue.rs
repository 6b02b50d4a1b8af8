//! Who runs next: the free call slots, and the calls that wait for one. It knows neither time nor memory.
//!
//! A component starts calls within its share of the slots: see [`Shares`]. One that runs nothing
//! therefore starts at once. Calls beyond the share wait, and waiting components take turns, so each of
//! them starts one call before any other starts two. Resuming a parked call is under no share, and takes
//! turns with starting one.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

use toolhost_runtime::{ComponentId, Shares};

use crate::SandboxError;

/// What a slot is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To start a call.
    Start,
    /// To resume a parked call.
    Resume,
}

impl Purpose {
    fn other(self) -> Self {
        match self {
            Self::Start => Self::Resume,
            Self::Resume => Self::Start,
        }
    }
}

/// Identifies a waiter.
#[derive(Debug, Clone, Copy)]
pub(super) struct WaiterId {
    component: ComponentId,
    purpose: Purpose,
    number: u64,
}

/// The free slots and the waiters. After each change the owner calls [`next`](Self::next) until it
/// returns none, so that no call waits that may run.
pub(super) struct WaitQueue<W> {
    slots: Shares,
    /// Calls that wait to start.
    waiting: Shares,
    next_number: u64,
    /// The purpose that is served first where waiters have both.
    served_next: Purpose,
    resuming: BTreeMap<u64, (ComponentId, W)>,
    starting: BTreeMap<(ComponentId, u64), W>,
    /// The component of the waiter that started last.
    last_started: ComponentId,
}

impl<W> WaitQueue<W> {
    pub(super) fn new(slots: u64, max_waiting: u64, share: u32) -> Self {
        Self {
            slots: Shares::new(slots, share),
            waiting: Shares::new(max_waiting, share),
            next_number: 0,
            served_next: Purpose::Resume,
            resuming: BTreeMap::new(),
            starting: BTreeMap::new(),
            last_started: ComponentId::default(),
        }
    }

    pub(super) fn free(&self) -> u64 {
        self.slots.free()
    }

    /// Calls that wait to start.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting.held()
    }

    pub(super) fn has_waiters(&self) -> bool {
        !self.starting.is_empty() || !self.resuming.is_empty()
    }

    /// Takes a slot where one is free and no call waits for it.
    pub(super) fn try_take(
        &mut self,
        component: ComponentId,
        purpose: Purpose,
        has_memory: impl FnOnce() -> bool,
    ) -> bool {
        let may = match purpose {
            Purpose::Start => {
                self.waiting.held_by(component) == 0
                    && self.slots.may_take(component, 1)
                    && has_memory()
            }
            Purpose::Resume => self.free() > 0 && self.resuming.is_empty(),
        };
        if may {
            self.slots.take(component, 1);
        }
        may
    }

    /// Adds a waiter behind those of the same component and purpose.
    pub(super) fn enter(
        &mut self,
        component: ComponentId,
        purpose: Purpose,
        waiter: W,
    ) -> Result<WaiterId, SandboxError> {
        let number = self.next_number;
        self.next_number += 1;
        match purpose {
            Purpose::Resume => drop(self.resuming.insert(number, (component, waiter))),
            Purpose::Start if self.waiting.may_take(component, 1) => {
                self.waiting.take(component, 1);
                self.starting.insert((component, number), waiter);
            }
            Purpose::Start => {
                let reason = match self.waiting.free() {
                    0 => "too many calls are waiting",
                    _ => "too many calls of this tool are waiting",
                };
                return Err(SandboxError::Busy { reason });
            }
        }
        Ok(WaiterId {
            component,
            purpose,
            number,
        })
    }

    /// Removes a waiter, where it was not served meanwhile.
    pub(super) fn leave(&mut self, id: WaiterId) {
        match id.purpose {
            Purpose::Resume => drop(self.resuming.remove(&id.number)),
            Purpose::Start => drop(self.take_starting(id.component, id.number)),
        }
    }

    pub(super) fn give_back(&mut self, component: ComponentId) {
        self.slots.give_back(component, 1);
    }

    /// Takes a slot for the waiter whose turn it is. Returns none where no waiter may have one.
    pub(super) fn next(
        &mut self,
        has_memory: impl Fn(ComponentId) -> bool,
    ) -> Option<(ComponentId, W)> {
        if self.free() == 0 {
            return None;
        }
        let purposes = [self.served_next, self.served_next.other()];
        let (purpose, (component, waiter)) = purposes.into_iter().find_map(|purpose| {
            let next = match purpose {
                Purpose::Resume => self.resuming.pop_first().map(|(_, waiter)| waiter),
                Purpose::Start => self.next_to_start(&has_memory),
            };
            Some((purpose, next?))
        })?;
        self.served_next = purpose.other();
        self.slots.take(component, 1);
        Some((component, waiter))
    }

    /// The first waiter of the next component, in the order of ids, that may start a call.
    fn next_to_start(
        &mut self,
        has_memory: impl Fn(ComponentId) -> bool,
    ) -> Option<(ComponentId, W)> {
        let waiting = self.waiting.components();
        let after = waiting.range((Excluded(self.last_started), Unbounded));
        let mut components = after.chain(waiting.range(..=self.last_started));
        let (&component, _) =
            components.find(|(id, _)| self.slots.may_take(**id, 1) && has_memory(**id))?;
        let ((_, number), _) = self.starting.range((component, 0)..).next()?;
        let waiter = self.take_starting(component, *number)?;
        self.last_started = component;
        Some((component, waiter))
    }

    fn take_starting(&mut self, component: ComponentId, number: u64) -> Option<W> {
        let waiter = self.starting.remove(&(component, number))?;
        self.waiting.give_back(component, 1);
        Some(waiter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOG: ComponentId = ComponentId(1);
    const OTHER: ComponentId = ComponentId(2);

    fn queue(live_calls: u64, waiting_calls: u64) -> WaitQueue<()> {
        WaitQueue::new(live_calls, waiting_calls, 3)
    }

    /// Starts calls until one would have to wait; returns how many it started.
    fn fill(queue: &mut WaitQueue<()>, component: ComponentId) -> u64 {
        let starts = std::iter::repeat_with(|| queue.try_take(component, Purpose::Start, || true));
        starts.take_while(|started| *started).count() as u64
    }

    fn enter(queue: &mut WaitQueue<()>, component: ComponentId, purpose: Purpose) -> WaiterId {
        queue.enter(component, purpose, ()).unwrap()
    }

    fn served(queue: &mut WaitQueue<()>) -> Vec<u64> {
        let next = std::iter::from_fn(|| queue.next(|_| true));
        next.map(|(component, _)| component.0).collect()
    }

    #[test]
    fn however_many_take_all_they_can_some_slots_stay_free() {
        for live in [4, 5, 8, 13, 64, 1_024] {
            let mut queue = queue(live, 16);
            fill(&mut queue, HOG);
            let quarter = live / 4;
            assert_eq!(queue.free(), quarter, "of {live}");
        }
        let mut queue = queue(1_024, 16);
        for hogs in 1..=20 {
            fill(&mut queue, ComponentId(hogs));
            // Each has the same, as soon as calls have ended and others have come.
            for _ in 0..4_000 {
                let running = queue.slots.components().iter();
                let (&most, _) = running.max_by_key(|(_, calls)| **calls).unwrap();
                queue.give_back(most);
                for hog in 1..=hogs {
                    queue.try_take(ComponentId(hog), Purpose::Start, || true);
                }
            }
            let fair = 1_024 / (1 + 3 * hogs);
            assert!(queue.free() >= fair, "{hogs} leave {}", queue.free());
        }
    }

    #[test]
    fn few_slots_can_all_be_used() {
        for live in 1..4 {
            assert_eq!(fill(&mut queue(live, 16), HOG), live);
        }
    }

    #[test]
    fn waiting_components_take_turns() {
        let mut queue = queue(8, 100);
        fill(&mut queue, HOG);
        fill(&mut queue, OTHER);
        assert_eq!(queue.free(), 0);
        for _ in 0..3 {
            enter(&mut queue, HOG, Purpose::Start);
        }
        for _ in 0..3 {
            enter(&mut queue, OTHER, Purpose::Start);
        }
        // The hog is above its share until it has given back.
        queue.give_back(HOG);
        assert_eq!(served(&mut queue), [2]);
        let mut later = Vec::new();
        for _ in 0..10 {
            queue.give_back(HOG);
            later.extend(served(&mut queue));
            if queue.waiting() == 0 {
                break;
            }
        }
        assert_eq!(queue.waiting(), 0);
        assert_eq!(later, [1, 2, 1, 2, 1]);
    }

    #[test]
    fn a_parked_call_waits_for_one_start_at_most() {
        let mut queue = queue(1, 100);
        fill(&mut queue, HOG);
        for _ in 0..4 {
            enter(&mut queue, OTHER, Purpose::Start);
        }
        for _ in 0..2 {
            enter(&mut queue, HOG, Purpose::Resume);
        }
        let mut order = Vec::new();
        let mut running = HOG;
        for _ in 0..6 {
            queue.give_back(running);
            let next = served(&mut queue);
            running = ComponentId(next[0]);
            order.extend(next);
        }
        assert_eq!(order, [1, 2, 1, 2, 2, 2]);
    }

    #[test]
    fn the_queue_is_shared_and_who_leaves_is_forgotten() {
        let mut queue = queue(1, 8);
        fill(&mut queue, HOG);
        let waiters: Vec<_> = (0..6)
            .map(|_| enter(&mut queue, HOG, Purpose::Start))
            .collect();
        let refused =
            |queue: &mut WaitQueue<()>, component| match queue.enter(component, Purpose::Start, ())
            {
                Err(SandboxError::Busy { reason }) => reason,
                _ => "accepted",
            };
        assert!(refused(&mut queue, HOG).contains("of this tool"));
        enter(&mut queue, OTHER, Purpose::Start);
        enter(&mut queue, OTHER, Purpose::Start);
        assert_eq!(
            refused(&mut queue, ComponentId(3)),
            "too many calls are waiting"
        );
        for waiter in waiters {
            queue.leave(waiter);
            queue.leave(waiter);
        }
        assert_eq!(queue.waiting(), 2);
        queue.give_back(HOG);
        assert_eq!(served(&mut queue), [2]);
        queue.give_back(OTHER);
        assert_eq!(served(&mut queue), [2]);
        queue.give_back(OTHER);
        assert!(queue.slots.components().is_empty());
        assert!(queue.waiting.components().is_empty());
        assert_eq!((queue.free(), queue.waiting()), (1, 0));
    }

    #[test]
    fn nothing_starts_without_memory_and_a_parked_call_resumes() {
        let mut queue = queue(2, 8);
        assert!(!queue.try_take(HOG, Purpose::Start, || false));
        enter(&mut queue, HOG, Purpose::Start);
        assert!(queue.next(|_| false).is_none());
        enter(&mut queue, OTHER, Purpose::Resume);
        assert!(queue.next(|_| false).is_some_and(|(next, _)| next == OTHER));
        assert_eq!(served(&mut queue), [1]);
    }
}
