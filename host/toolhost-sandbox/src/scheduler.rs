//! Which calls run, on which threads, and for how long at a time.

pub(crate) mod admission;
pub(crate) mod blocking;
pub(crate) mod call_slot;
pub(crate) mod clock;
pub(crate) mod epoch;
pub(crate) mod executor;
pub(crate) mod migrating_call;
pub(crate) mod own_thread;
mod per_component;
pub(crate) mod queue;
mod round_robin;
pub(crate) mod run_queue;
mod turns;
