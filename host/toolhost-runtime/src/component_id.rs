//! The component that a call belongs to.

/// The first 64 bits of a component's digest. All calls of a component share one quota, however often
/// it was prepared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ComponentId(pub u64);

impl From<blake3::Hash> for ComponentId {
    fn from(digest: blake3::Hash) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = *digest.as_bytes();
        Self(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
    }
}
