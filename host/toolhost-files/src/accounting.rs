//! What the files of a call use up, and what they change.

pub(crate) mod call_memory;
pub(crate) mod file_changes;
