//! The lock of a bundle, and how the tools differ from it.

pub use toolhost_manifest::lock::{
    AGENT, Annotations, Drift, Grade, LOCK, LOCK_BYTES_MAX, Lock, LockError, LockedServer,
    LockedTool, Review, ServerLock, Words,
};
