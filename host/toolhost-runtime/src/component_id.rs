//! The component that a call belongs to.

/// The first 64 bits of a component's digest. All calls of a component share one quota, however often
/// it was prepared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ComponentId(pub u64);

impl ComponentId {
    /// Returns the id of what has these bytes, such as the name of an owner in the host.
    pub fn of(bytes: &[u8]) -> Self {
        blake3::hash(bytes).into()
    }
}

impl From<blake3::Hash> for ComponentId {
    fn from(digest: blake3::Hash) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = *digest.as_bytes();
        Self(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }
}
