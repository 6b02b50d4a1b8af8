//! The name of the target, for those that install and those that use it.

/// The target that guests are compiled for.
pub(crate) const TARGET: &str = "wasm32-wasip2";
