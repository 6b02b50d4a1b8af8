//! The interfaces that the host implements for guests.

pub(crate) mod agents;
pub(crate) mod bindings;
pub(crate) mod effects;
pub(crate) mod filesystem;
pub(crate) mod http;
pub(crate) mod logging;
pub(crate) mod random;
pub(crate) mod sockets_denied;
pub(crate) mod stdio;
pub(crate) mod tools;
mod wit_error;
