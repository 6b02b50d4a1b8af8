//! The formats of patches.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Unified,
    Context,
    /// With stars at the end of `*** 1,2 ****`.
    NewContext,
    Normal,
    Ed,
    GitBinary,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Unified => "a unified diff",
            Self::Context => "a context diff",
            Self::NewContext => "a new-style context diff",
            Self::Normal => "a normal diff",
            Self::Ed => "an ed script",
            Self::GitBinary => "a git binary diff",
        }
    }
}
