//! Places: how many calls run at once, how many wait for their turn, and how many are parked.
//!
//! A call that runs holds a place. While it waits for another agent it is parked: it keeps its
//! instance, gives its place to others, and takes one again before it goes on. Therefore calls that
//! wait for each other, however deep, never hold every place between them.
//!
//! An instance needs a slot of the pool whether its call runs or is parked, so there are as many
//! slots as places and parked calls together, and some for calls that hang in a file call. One that
//! would be parked beyond that is told so and goes on: nothing ever waits for a slot.
//!
//! **No tool starves another.** A component may start a call while its calls hold fewer than
//! `share` times the places that are free. With the default of 3, one that takes all
//! it can ends with three quarters of the places, two end with three sevenths each, and of `n` such
//! `1 / (1 + 3n)` of the places stay free: one that runs nothing starts at once. Beyond its share its
//! calls wait in a line of their own, and the lines of components take turns, so each waiting
//! component starts a call before any other starts two. A parked call that goes on is under no share,
//! and takes turns with those that start.

use std::sync::{Arc, Mutex};

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::SandboxError;
use crate::accounting::quota::{Share, Shares};
use crate::call::resource_limiter::has_room;
use crate::component_id::ComponentId;
use crate::engine::Running;
use crate::sandbox::{Cell, SandboxConfig};
use crate::scheduler::queue::{Line, Purpose, Ticket};
use crate::sync::lock;

/// Most calls whose place is another's while a file call of theirs hangs. Each keeps a slot, a thread
/// and its memory.
pub(crate) const MOST_HANGING: usize = 32;

/// The places of a sandbox.
pub(crate) struct Places {
    line: Mutex<Line>,
    memory: Arc<Shares>,
}

impl Places {
    pub(crate) fn new(config: &SandboxConfig, memory: Arc<Shares>) -> Self {
        Self {
            line: Mutex::new(Line::new(config)),
            memory,
        }
    }

    /// Places that nobody holds.
    pub(crate) fn free(&self) -> usize {
        lock(&self.line).free()
    }

    /// Calls that wait to start.
    pub(crate) fn waiting(&self) -> usize {
        lock(&self.line).waiting()
    }

    /// Takes a place; none where one has to be waited for.
    fn try_take(self: &Arc<Self>, component: ComponentId, purpose: Purpose) -> Option<Permit> {
        let has_memory = || has_room(&self.memory, component);
        let taken = lock(&self.line).take_now(component, purpose, has_memory);
        taken.then(|| self.permit(component))
    }

    /// Waits for a place in line.
    async fn wait(
        self: &Arc<Self>,
        component: ComponentId,
        purpose: Purpose,
    ) -> Result<Permit, SandboxError> {
        let (waiter, granted) = oneshot::channel();
        let ticket = lock(&self.line).enter(component, purpose, waiter)?;
        let _stands = Standing {
            places: self,
            ticket,
        };
        // What this call waits for may have come free before it stood in line.
        self.hand_out();
        granted.await.map_err(|_| SandboxError::HostPanic)
    }

    fn permit(self: &Arc<Self>, component: ComponentId) -> Permit {
        Permit {
            places: Arc::clone(self),
            component,
        }
    }

    /// Gives what is free to those who wait for it and may have it.
    fn hand_out(self: &Arc<Self>) {
        let next = || lock(&self.line).next(|component| has_room(&self.memory, component));
        while let Some((component, waiter)) = next() {
            // Not under the lock: where the waiter has gone, its place comes back at once.
            let _gone = waiter.send(self.permit(component));
        }
    }
}

/// A place that is held, until dropped.
pub(crate) struct Permit {
    places: Arc<Places>,
    component: ComponentId,
}

impl Drop for Permit {
    fn drop(&mut self) {
        lock(&self.places.line).give_back(self.component);
        self.places.hand_out();
    }
}

/// Stands in line, until dropped.
struct Standing<'a> {
    places: &'a Places,
    ticket: Ticket,
}

impl Drop for Standing<'_> {
    fn drop(&mut self) {
        lock(&self.places.line).leave(self.ticket);
    }
}

/// What a call holds of its sandbox, from before its instance is made until after it is gone.
pub(crate) struct Place {
    cell: Arc<Cell>,
    component: ComponentId,
    stand: Mutex<Stand>,
}

/// Either permit is given back when dropped.
enum Stand {
    Running {
        _permit: Permit,
        /// The clock, kept going for it.
        _clock: Running,
    },
    Parked {
        _share: Share,
        _memory: HeldMemory,
    },
    /// A file call of it hangs: it is answered, and its place is another's.
    Hanging {
        _permit: OwnedSemaphorePermit,
        /// It is ended by the clock, once the file call returns.
        _clock: Running,
    },
}

impl Stand {
    fn running(permit: Permit, cell: &Cell) -> Self {
        Self::Running {
            _permit: permit,
            _clock: cell.ticker.running(),
        }
    }
}

/// A parked call holds memory that others may wait for. It is back before this is dropped.
struct HeldMemory(Arc<Places>);

impl Drop for HeldMemory {
    fn drop(&mut self) {
        self.0.hand_out();
    }
}

/// As many calls are parked, of all or of this component, as may be.
#[derive(Debug)]
pub(crate) struct NoRoomToPark;

impl Place {
    /// Takes a place to start in, when it is this call's turn.
    pub(crate) async fn take(
        cell: &Arc<Cell>,
        component: ComponentId,
    ) -> Result<Self, SandboxError> {
        let permit = match cell.places.try_take(component, Purpose::Start) {
            Some(permit) => permit,
            None => {
                let too_long = cell.threads.timer(cell.config.queueing);
                tokio::select! {
                    biased;
                    permit = cell.places.wait(component, Purpose::Start) => permit?,
                    () = too_long => return Err(SandboxError::Busy { reason: "none became free in time" }),
                }
            }
        };
        Ok(Self {
            cell: Arc::clone(cell),
            component,
            stand: Mutex::new(Stand::running(permit, cell)),
        })
    }

    /// Gives the place to others.
    pub(crate) fn park(&self) -> Result<(), NoRoomToPark> {
        let share = self.cell.parked.hold(self.component, 1);
        self.stand(Stand::Parked {
            _share: share.ok_or(NoRoomToPark)?,
            _memory: HeldMemory(Arc::clone(&self.cell.places)),
        });
        Ok(())
    }

    /// Takes a place again. At most one call that waits to start is before it; the call's own
    /// deadline bounds the wait.
    pub(crate) async fn resume(&self) -> Result<(), SandboxError> {
        let places = &self.cell.places;
        let permit = match places.try_take(self.component, Purpose::GoOn) {
            Some(permit) => permit,
            None => places.wait(self.component, Purpose::GoOn).await?,
        };
        self.stand(Stand::running(permit, &self.cell));
        Ok(())
    }

    /// Gives the place to others for good, where a file call hangs; keeps it where too many hang.
    pub(crate) fn leave_hanging(&self) {
        let permit = Arc::clone(&self.cell.hanging).try_acquire_owned();
        if let Ok(permit) = permit {
            self.stand(Stand::Hanging {
                _permit: permit,
                _clock: self.cell.ticker.running(),
            });
        }
        let hanging = MOST_HANGING.saturating_sub(self.cell.hanging.available_permits());
        tracing::warn!(
            hanging,
            "a file call did not end with its tool's time: the workdir's file system hangs"
        );
    }

    /// What was held until now is given back outside the lock, as others then take it.
    fn stand(&self, stand: Stand) {
        let before = std::mem::replace(&mut *lock(&self.stand), stand);
        drop(before);
    }
}
