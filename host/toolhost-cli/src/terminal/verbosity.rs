//! How much is written to stderr.

/// How much is written to stderr besides errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Nothing.
    Quiet,
    /// What guests log at info and above, and notes.
    Normal,
    /// Also what guests print, and log at debug.
    Verbose,
    /// Everything, including the host's own steps.
    All,
}
