//! The bundle where none is given.

/// In the current directory.
pub(super) const BUNDLE: &str = "goondan.yaml";
