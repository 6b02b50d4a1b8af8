//! How much is written to stderr.

/// How much is said on stderr beside errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Nothing.
    Quiet,
    /// What guests log at info and above, and what the user should know.
    Normal,
    /// Also what guests log at debug and print.
    Verbose,
    /// Everything, the host's own steps included.
    All,
}
