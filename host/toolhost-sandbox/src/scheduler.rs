//! Which calls run, on which threads, and for how long at a time.

pub(crate) mod admission;
pub(crate) mod call_slot;
pub(crate) mod epoch;
pub(crate) mod migrating_call;
pub(crate) mod own_thread;
pub(crate) mod queue;
