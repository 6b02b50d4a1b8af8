//! What a call has used, and how components share what all of them use.

pub(crate) mod call_memory;
pub(crate) mod file_changes;
pub(crate) mod output;
