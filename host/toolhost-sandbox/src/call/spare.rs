//! Spare instances: made before a call needs them, and touched by no call.
//!
//! An instance is spare only if making it ran no host function. It then depends on nothing but the
//! component and the limits under which it was made, and serves only calls with the same limits. The
//! call replaces everything that the store holds: its directory, its grants, its meter, its deadline.

pub(crate) mod budget;
mod host_calls;
pub(crate) mod maker;
pub(crate) mod stock;
