//! Whether a command needs the state root.

/// Whether a command needs the state root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateRoot {
    /// The command only keeps tools out of it.
    Optional,
    /// The command keeps a workspace in it.
    Needed,
}
