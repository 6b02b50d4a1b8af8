//! What runs work for toolhost: threads, a clock, shares of a resource, and lines of a stream. It knows no engine, no file
//! and no network.
//!
//! Internal to toolhost: any release may change this API.

mod blocking;
mod clock;
mod component_id;
mod debug;
pub mod lines;
mod per_component;
mod quota;
mod round_robin;
mod run_queue;
mod sync;
mod threads;
mod turns;

pub use blocking::{BlockingPool, TaskError, spawn_blocking};
pub use clock::Clock;
pub use component_id::ComponentId;
pub use quota::{Quota, QuotaGuard, Shares};
pub use run_queue::FairRunQueue;
pub use sync::{DeadlineGuard, DeadlineMutex, lock, wait_while};
pub use threads::Threads;
pub use turns::in_turns;
