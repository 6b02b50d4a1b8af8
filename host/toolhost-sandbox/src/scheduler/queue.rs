//! Who is next: the count of free places, and those who wait for one. Knows neither time nor memory.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};

use tokio::sync::oneshot;

use crate::SandboxError;
use crate::accounting::quota;
use crate::component_id::ComponentId;
use crate::sandbox::SandboxConfig;
use crate::scheduler::admission::Permit;

/// What a place is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To start a call.
    Start,
    /// To go on with one that was parked.
    GoOn,
}

/// Where somebody stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticket {
    component: ComponentId,
    purpose: Purpose,
    number: u64,
}

/// Is told of its place.
pub(super) type Waiter = oneshot::Sender<Permit>;

/// The places and those who wait for them. Whenever something was given back or somebody came,
/// [`Line::next`] is asked until there is none: between two of these, nobody waits who may go.
pub(super) struct Line {
    free: usize,
    share: u64,
    most_waiting: usize,
    waiting: usize,
    tickets: u64,
    /// Whose turn it is where both wait.
    turn: Purpose,
    going_on: BTreeMap<u64, (ComponentId, Waiter)>,
    /// The component that started the last call that had to wait.
    last: ComponentId,
    /// Those that run or wait.
    components: BTreeMap<ComponentId, Calls>,
}

/// The calls of one component.
#[derive(Default)]
struct Calls {
    running: usize,
    waiting: BTreeMap<u64, Waiter>,
}

/// Whether one that holds so many may take more of those that are free.
fn fair(held: usize, free: usize, share: u64) -> bool {
    quota::fair(held as u64, free as u64, share)
}

impl Line {
    pub(super) fn new(config: &SandboxConfig) -> Self {
        Self {
            free: config.live_calls as usize,
            // With none, nothing would ever start.
            share: config.share_per_free.max(1).into(),
            most_waiting: config.waiting_calls,
            waiting: 0,
            tickets: 0,
            turn: Purpose::GoOn,
            going_on: BTreeMap::new(),
            last: ComponentId::default(),
            components: BTreeMap::new(),
        }
    }

    pub(super) fn free(&self) -> usize {
        self.free
    }

    /// Those that wait to start.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Takes a place where there is one and nobody waits for it.
    pub(super) fn take_now(
        &mut self,
        component: ComponentId,
        purpose: Purpose,
        has_memory: impl FnOnce() -> bool,
    ) -> bool {
        let calls = self.components.get(&component);
        let (running, waiting) = calls.map_or((0, 0), |c| (c.running, c.waiting.len()));
        let may = match purpose {
            Purpose::Start => waiting == 0 && fair(running, self.free, self.share) && has_memory(),
            Purpose::GoOn => self.free > 0 && self.going_on.is_empty(),
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

    /// Stands in line, after those of the same component and purpose.
    pub(super) fn enter(
        &mut self,
        component: ComponentId,
        purpose: Purpose,
        waiter: Waiter,
    ) -> Result<Ticket, SandboxError> {
        let number = self.tickets;
        self.tickets += 1;
        match purpose {
            Purpose::GoOn => {
                self.going_on.insert(number, (component, waiter));
            }
            Purpose::Start => {
                let left = self.most_waiting.saturating_sub(self.waiting);
                let calls = self.components.get(&component);
                let own = calls.map_or(0, |calls| calls.waiting.len());
                if !fair(own, left, self.share) {
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
        Ok(Ticket {
            component,
            purpose,
            number,
        })
    }

    /// Leaves the line; nothing where it was this one's turn meanwhile.
    pub(super) fn leave(&mut self, ticket: Ticket) {
        match ticket.purpose {
            Purpose::GoOn => {
                self.going_on.remove(&ticket.number);
            }
            Purpose::Start => {
                let calls = self.components.get_mut(&ticket.component);
                let left = calls.and_then(|calls| calls.waiting.remove(&ticket.number));
                self.waiting -= usize::from(left.is_some());
                self.forget(ticket.component);
            }
        }
    }

    /// Gives a place back.
    pub(super) fn give_back(&mut self, component: ComponentId) {
        self.free += 1;
        if let Some(calls) = self.components.get_mut(&component) {
            calls.running = calls.running.saturating_sub(1);
        }
        self.forget(component);
    }

    fn forget(&mut self, component: ComponentId) {
        let calls = self.components.get(&component);
        if calls.is_some_and(|calls| calls.running == 0 && calls.waiting.is_empty()) {
            self.components.remove(&component);
        }
    }

    /// Takes a place for the one whose turn it is; none where nobody waits who may have one.
    pub(super) fn next(
        &mut self,
        has_memory: impl Fn(ComponentId) -> bool,
    ) -> Option<(ComponentId, Waiter)> {
        let others = match self.turn {
            Purpose::Start => Purpose::GoOn,
            Purpose::GoOn => Purpose::Start,
        };
        let (served, component, waiter) = [self.turn, others].into_iter().find_map(|purpose| {
            let (component, waiter) = match purpose {
                Purpose::GoOn => self.next_to_go_on(),
                Purpose::Start => self.next_to_start(&has_memory),
            }?;
            Some((purpose, component, waiter))
        })?;
        self.turn = match served {
            Purpose::Start => Purpose::GoOn,
            Purpose::GoOn => Purpose::Start,
        };
        self.take(component);
        Some((component, waiter))
    }

    fn next_to_go_on(&mut self) -> Option<(ComponentId, Waiter)> {
        if self.free == 0 {
            return None;
        }
        self.going_on.pop_first().map(|(_, waiter)| waiter)
    }

    /// The first call of the next component, in the order of their ids, that may start one.
    fn next_to_start(
        &mut self,
        has_memory: impl Fn(ComponentId) -> bool,
    ) -> Option<(ComponentId, Waiter)> {
        if self.free == 0 || self.waiting == 0 {
            return None;
        }
        let (free, share) = (self.free, self.share);
        let may = |calls: &Calls| !calls.waiting.is_empty() && fair(calls.running, free, share);
        let after = self.components.range((Excluded(self.last), Unbounded));
        let component = after
            .chain(self.components.range(..=self.last))
            .find_map(|(id, calls)| (may(calls) && has_memory(*id)).then_some(*id))?;
        let calls = self.components.get_mut(&component)?;
        let (_, waiter) = calls.waiting.pop_first()?;
        self.waiting -= 1;
        self.last = component;
        Some((component, waiter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOG: ComponentId = ComponentId(1);
    const OTHER: ComponentId = ComponentId(2);

    fn line(live_calls: u32, waiting_calls: usize) -> Line {
        Line::new(&SandboxConfig {
            live_calls,
            waiting_calls,
            ..SandboxConfig::default()
        })
    }

    /// Starts calls until one would have to wait; says how many it started.
    fn fill(line: &mut Line, component: ComponentId) -> usize {
        let starts = std::iter::repeat_with(|| line.take_now(component, Purpose::Start, || true));
        starts.take_while(|started| *started).count()
    }

    fn enter(line: &mut Line, component: ComponentId, purpose: Purpose) -> Ticket {
        line.enter(component, purpose, oneshot::channel().0)
            .unwrap()
    }

    fn served(line: &mut Line) -> Vec<u64> {
        let next = std::iter::from_fn(|| line.next(|_| true));
        next.map(|(component, _)| component.0).collect()
    }

    #[test]
    fn however_many_take_all_they_can_something_stays_free() {
        for live in [4, 5, 8, 13, 64, 1_024] {
            let mut line = line(live, 16);
            fill(&mut line, HOG);
            let quarter = live as usize / 4;
            assert_eq!(line.free(), quarter, "of {live}");
        }
        let mut line = line(1_024, 16);
        for hogs in 1..=20 {
            fill(&mut line, ComponentId(hogs));
            // Each has the same, as soon as calls have ended and others have come.
            for _ in 0..4_000 {
                let (most, _) = line
                    .components
                    .iter()
                    .max_by_key(|(_, calls)| calls.running)
                    .unwrap();
                let most = *most;
                line.give_back(most);
                for hog in 1..=hogs {
                    line.take_now(ComponentId(hog), Purpose::Start, || true);
                }
            }
            let fair = 1_024 / (1 + 3 * usize::try_from(hogs).unwrap());
            assert!(line.free() >= fair, "{hogs} leave {}", line.free());
        }
    }

    #[test]
    fn few_places_are_all_of_use() {
        for live in 1..4 {
            assert_eq!(fill(&mut line(live, 16), HOG), live as usize);
        }
    }

    #[test]
    fn those_that_wait_take_turns_by_component() {
        let mut line = line(8, 100);
        fill(&mut line, HOG);
        fill(&mut line, OTHER);
        assert_eq!(line.free(), 0);
        for _ in 0..3 {
            enter(&mut line, HOG, Purpose::Start);
        }
        for _ in 0..3 {
            enter(&mut line, OTHER, Purpose::Start);
        }
        // The hog is above its share until it has given back.
        line.give_back(HOG);
        assert_eq!(served(&mut line), [2]);
        let mut later = Vec::new();
        for _ in 0..10 {
            line.give_back(HOG);
            later.extend(served(&mut line));
            if line.waiting() == 0 {
                break;
            }
        }
        assert_eq!(line.waiting(), 0);
        assert_eq!(later, [1, 2, 1, 2, 1]);
    }

    #[test]
    fn a_parked_call_waits_for_one_start_at_most() {
        let mut line = line(1, 100);
        fill(&mut line, HOG);
        for _ in 0..4 {
            enter(&mut line, OTHER, Purpose::Start);
        }
        for _ in 0..2 {
            enter(&mut line, HOG, Purpose::GoOn);
        }
        let mut order = Vec::new();
        let mut running = HOG;
        for _ in 0..6 {
            line.give_back(running);
            let next = served(&mut line);
            running = ComponentId(next[0]);
            order.extend(next);
        }
        assert_eq!(order, [1, 2, 1, 2, 2, 2]);
    }

    #[test]
    fn the_line_is_shared_and_those_who_leave_are_forgotten() {
        let mut line = line(1, 8);
        fill(&mut line, HOG);
        let tickets: Vec<_> = (0..6)
            .map(|_| enter(&mut line, HOG, Purpose::Start))
            .collect();
        let refused = |line: &mut Line, component| match line.enter(
            component,
            Purpose::Start,
            oneshot::channel().0,
        ) {
            Err(SandboxError::Busy { reason }) => reason,
            _ => "accepted",
        };
        assert!(refused(&mut line, HOG).contains("of this tool"));
        enter(&mut line, OTHER, Purpose::Start);
        enter(&mut line, OTHER, Purpose::Start);
        assert_eq!(
            refused(&mut line, ComponentId(3)),
            "too many calls are waiting"
        );
        for ticket in tickets {
            line.leave(ticket);
            line.leave(ticket);
        }
        assert_eq!(line.waiting(), 2);
        line.give_back(HOG);
        assert_eq!(served(&mut line), [2]);
        line.give_back(OTHER);
        assert_eq!(served(&mut line), [2]);
        line.give_back(OTHER);
        assert!(line.components.is_empty());
        assert_eq!((line.free(), line.waiting()), (1, 0));
    }

    #[test]
    fn nothing_starts_without_memory_and_a_parked_call_goes_on() {
        let mut line = line(2, 8);
        assert!(!line.take_now(HOG, Purpose::Start, || false));
        enter(&mut line, HOG, Purpose::Start);
        assert!(line.next(|_| false).is_none());
        enter(&mut line, OTHER, Purpose::GoOn);
        assert!(line.next(|_| false).is_some_and(|(next, _)| next == OTHER));
        assert_eq!(served(&mut line), [1]);
    }
}
