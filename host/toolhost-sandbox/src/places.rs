//! Places: how many calls run at once, how many wait for their turn, and how many are parked.
//!
//! A call that runs holds a place. While it waits for another agent it is parked: it keeps its
//! instance, gives its place to others, and takes one again before it goes on. Therefore calls that
//! wait for each other, however deep, never hold every place between them.
//!
//! An instance needs a slot of the pool whether its call runs or is parked, so there are as many
//! slots as places and parked calls together. One that would be parked beyond that is told so and
//! goes on: nothing ever waits for a slot.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

use tokio::sync::OwnedSemaphorePermit;

use crate::SandboxError;
use crate::engine::Running;
use crate::meter::lock;
use crate::sandbox::Cell;

/// What a call holds of its sandbox, from before its instance is made until after it is gone.
pub(crate) struct Place {
    cell: Arc<Cell>,
    stand: Mutex<Stand>,
}

/// Either permit is given back when dropped.
enum Stand {
    Running {
        _permit: OwnedSemaphorePermit,
        /// The clock, kept going for it.
        _clock: Running,
    },
    Parked {
        _permit: OwnedSemaphorePermit,
    },
}

impl Stand {
    fn running(permit: OwnedSemaphorePermit, cell: &Cell) -> Self {
        Self::Running {
            _permit: permit,
            _clock: cell.ticker.running(),
        }
    }
}

/// As many calls are parked as may be.
#[derive(Debug)]
pub(crate) struct NoRoomToPark;

impl Place {
    /// Takes a place, after those who came before.
    pub(crate) async fn take(cell: &Arc<Cell>) -> Result<Self, SandboxError> {
        let free = Arc::clone(&cell.places).try_acquire_owned().ok();
        // A place is not kept while memory is waited for: `filter` gives it back.
        let permit = match free.filter(|_| cell.memory.has_room()) {
            Some(permit) => permit,
            None => wait(cell).await?,
        };
        Ok(Self {
            cell: Arc::clone(cell),
            stand: Mutex::new(Stand::running(permit, cell)),
        })
    }

    /// Gives the place to others.
    pub(crate) fn park(&self) -> Result<(), NoRoomToPark> {
        let permit = Arc::clone(&self.cell.parked).try_acquire_owned();
        let permit = permit.map_err(|_| NoRoomToPark)?;
        *lock(&self.stand) = Stand::Parked { _permit: permit };
        Ok(())
    }

    /// Takes a place again. At most one call that waits to start is before it; the call's own
    /// deadline bounds the wait.
    pub(crate) async fn resume(&self) -> Result<(), SandboxError> {
        let permit = Arc::clone(&self.cell.places).acquire_owned().await;
        let permit = permit.map_err(|_| SandboxError::HostPanic)?;
        *lock(&self.stand) = Stand::running(permit, &self.cell);
        Ok(())
    }
}

/// Counts a call among those that wait, until dropped.
struct Waiting<'a>(&'a Cell);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, SeqCst);
    }
}

async fn wait(cell: &Arc<Cell>) -> Result<OwnedSemaphorePermit, SandboxError> {
    let waiting = Waiting(cell);
    if cell.waiting.fetch_add(1, SeqCst) >= cell.config.waiting_calls {
        return Err(SandboxError::Busy {
            reason: "too many calls are waiting",
        });
    }
    let too_long = cell.threads.timer(cell.config.queueing);
    tokio::select! {
        biased;
        permit = turn(cell) => {
            drop(waiting);
            permit
        }
        () = too_long => Err(SandboxError::Busy { reason: "none became free in time" }),
    }
}

/// Waits until this call is the first in line, and then for memory and a place. Only the first asks
/// for a place, so that a call which goes on after it was parked is not behind the whole line.
async fn turn(cell: &Arc<Cell>) -> Result<OwnedSemaphorePermit, SandboxError> {
    let _first = cell.line.acquire().await;
    loop {
        // Without a place: those that hold the memory may need one to go on and free it.
        cell.memory.wait_for_room().await;
        let permit = Arc::clone(&cell.places).acquire_owned().await;
        let permit = permit.map_err(|_| SandboxError::HostPanic)?;
        if cell.memory.has_room() {
            return Ok(permit);
        }
    }
}
