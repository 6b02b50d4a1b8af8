//! What may happen to a call whose worker died.

/// How runs of one call relate to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It may run any number of times: it changes nothing, or the policy says so.
    Freely,
    /// It may run again, and one of its runs commits: it changes nothing but files, in a transaction.
    CommitOnce,
    /// It runs once.
    Never,
}
