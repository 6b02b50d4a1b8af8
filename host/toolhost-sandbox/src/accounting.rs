//! What a call has used, and how components share what all of them use.

pub(crate) mod attempts;
pub(crate) mod call_memory;
pub(crate) mod failed_operation;
pub(crate) mod file_changes;
pub(crate) mod output;
