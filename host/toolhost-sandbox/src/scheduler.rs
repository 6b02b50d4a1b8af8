//! Which calls run, where, and for how long at a time.

pub(crate) mod admission;
pub(crate) mod executor;
pub(crate) mod queue;
pub(crate) mod run_queue;
