//! The engines of a sandbox.

pub(crate) mod pools;
pub(crate) mod settings;
