//! Who runs next: the number of free call slots, and the calls that wait for one. It knows neither time
//! nor memory.
//!
//! **No tool starves another.** A component may start a call while it runs fewer than `share` times as
//! many as there are free slots. With the default of 3, one component takes at most three quarters of
//! the slots, two take at most three sevenths each, and `n` leave `1 / (1 + 3n)` of them free, so a
//! component that runs nothing starts at once. Calls beyond the share wait. Waiting components take
//! turns, so each of them starts one call before any other starts two. Resuming a parked call is under no
//! share, and takes turns with starting one.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

use crate::SandboxError;
use crate::accounting::quota;
use crate::component_id::ComponentId;

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
/// returns none, so that nobody waits who may go.
pub(super) struct WaitQueue<W> {
    free: usize,
    share: u64,
    max_waiting: usize,
    waiting: usize,
    next_number: u64,
    /// The purpose that is served first where waiters have both.
    turn: Purpose,
    resuming: BTreeMap<u64, (ComponentId, W)>,
    /// The component of the waiter that started last.
    last_started: ComponentId,
    /// Components that have running or waiting calls.
    components: BTreeMap<ComponentId, Calls<W>>,
}

struct Calls<W> {
    running: usize,
    waiting: BTreeMap<u64, W>,
}

impl<W> Default for Calls<W> {
    fn default() -> Self {
        Self {
            running: 0,
            waiting: BTreeMap::new(),
        }
    }
}

fn is_fair(held: usize, free: usize, share: u64) -> bool {
    quota::is_fair(held as u64, free as u64, share)
}

impl<W> WaitQueue<W> {
    pub(super) fn new(slots: usize, max_waiting: usize, share: u32) -> Self {
        Self {
            free: slots,
            // With 0 nothing would ever start.
            share: share.max(1).into(),
            max_waiting,
            waiting: 0,
            next_number: 0,
            turn: Purpose::Resume,
            resuming: BTreeMap::new(),
            last_started: ComponentId::default(),
            components: BTreeMap::new(),
        }
    }

    pub(super) fn free(&self) -> usize {
        self.free
    }

    /// Calls that wait to start.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Takes a slot where one is free and nobody waits for it.
    pub(super) fn try_take(
        &mut self,
        component: ComponentId,
        purpose: Purpose,
        has_memory: impl FnOnce() -> bool,
    ) -> bool {
        let calls = self.components.get(&component);
        let (running, waiting) = calls.map_or((0, 0), |c| (c.running, c.waiting.len()));
        let may = match purpose {
            Purpose::Start => {
                waiting == 0 && is_fair(running, self.free, self.share) && has_memory()
            }
            Purpose::Resume => self.free > 0 && self.resuming.is_empty(),
        };
        if may {
            self.take(component);
        }
        may
    }

    fn take(&mut self, component: ComponentId) {
        self.free -= 1;
        self.components.entry(component).or_default().running += 1;
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
            Purpose::Resume => {
                self.resuming.insert(number, (component, waiter));
            }
            Purpose::Start => {
                let left = self.max_waiting.saturating_sub(self.waiting);
                let own = self.components.get(&component);
                let own = own.map_or(0, |calls| calls.waiting.len());
                if !is_fair(own, left, self.share) {
                    let reason = match left {
                        0 => "too many calls are waiting",
                        _ => "too many calls of this tool are waiting",
                    };
                    return Err(SandboxError::Busy { reason });
                }
                let calls = self.components.entry(component).or_default();
                calls.waiting.insert(number, waiter);
                self.waiting += 1;
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
            Purpose::Resume => {
                self.resuming.remove(&id.number);
            }
            Purpose::Start => {
                let calls = self.components.get_mut(&id.component);
                let left = calls.and_then(|calls| calls.waiting.remove(&id.number));
                self.waiting -= usize::from(left.is_some());
                self.forget(id.component);
            }
        }
    }

    pub(super) fn give_back(&mut self, component: ComponentId) {
        self.free += 1;
        if let Some(calls) = self.components.get_mut(&component) {
            calls.running = calls.running.saturating_sub(1);
        }
        self.forget(component);
    }

    /// Removes a component without calls.
    fn forget(&mut self, component: ComponentId) {
        let calls = self.components.get(&component);
        if calls.is_some_and(|calls| calls.running == 0 && calls.waiting.is_empty()) {
            self.components.remove(&component);
        }
    }

    /// Takes a slot for the waiter whose turn it is. Returns none where no waiter may have one.
    pub(super) fn next(
        &mut self,
        has_memory: impl Fn(ComponentId) -> bool,
    ) -> Option<(ComponentId, W)> {
        if self.free == 0 {
            return None;
        }
        let purposes = [self.turn, self.turn.other()];
        let (purpose, (component, waiter)) = purposes.into_iter().find_map(|purpose| {
            let next = match purpose {
                Purpose::Resume => self.resuming.pop_first().map(|(_, waiter)| waiter),
                Purpose::Start => self.next_to_start(&has_memory),
            };
            Some((purpose, next?))
        })?;
        self.turn = purpose.other();
        self.take(component);
        Some((component, waiter))
    }

    /// The first waiter of the next component, in the order of ids, that may start a call.
    fn next_to_start(
        &mut self,
        has_memory: impl Fn(ComponentId) -> bool,
    ) -> Option<(ComponentId, W)> {
        if self.waiting == 0 {
            return None;
        }
        let may_start = |(id, calls): (&ComponentId, &Calls<W>)| {
            let may = !calls.waiting.is_empty() && is_fair(calls.running, self.free, self.share);
            (may && has_memory(*id)).then_some(*id)
        };
        let after = self
            .components
            .range((Excluded(self.last_started), Unbounded));
        let component = after
            .chain(self.components.range(..=self.last_started))
            .find_map(may_start)?;
        let (_, waiter) = self.components.get_mut(&component)?.waiting.pop_first()?;
        self.waiting -= 1;
        self.last_started = component;
        Some((component, waiter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOG: ComponentId = ComponentId(1);
    const OTHER: ComponentId = ComponentId(2);

    fn queue(live_calls: usize, waiting_calls: usize) -> WaitQueue<()> {
        WaitQueue::new(live_calls, waiting_calls, 3)
    }

    /// Starts calls until one would have to wait; returns how many it started.
    fn fill(queue: &mut WaitQueue<()>, component: ComponentId) -> usize {
        let starts = std::iter::repeat_with(|| queue.try_take(component, Purpose::Start, || true));
        starts.take_while(|started| *started).count()
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
        for live in [4, 5, 8, 13, 64, 1_024_usize] {
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
                let (most, _) = queue
                    .components
                    .iter()
                    .max_by_key(|(_, calls)| calls.running)
                    .unwrap();
                let most = *most;
                queue.give_back(most);
                for hog in 1..=hogs {
                    queue.try_take(ComponentId(hog), Purpose::Start, || true);
                }
            }
            let fair = 1_024 / (1 + 3 * usize::try_from(hogs).unwrap());
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
        assert!(queue.components.is_empty());
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
