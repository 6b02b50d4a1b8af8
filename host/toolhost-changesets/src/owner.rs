//! The owner of a changeset.

/// Whose changeset it is. Nobody else finds it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChangesetOwner {
    /// Path of the bundle's manifest.
    pub(crate) bundle: String,
    pub(crate) agent: String,
    pub(crate) instance: String,
}
