//! The component that a call belongs to.

/// The first 64 bits of a component's SHA-256. All calls of a component share one quota, however often
/// it was prepared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ComponentId(pub(crate) u64);

impl ComponentId {
    /// Takes the id from a SHA-256 in hexadecimal.
    pub(crate) fn of(sha256: &str) -> Self {
        let digits = sha256.get(..16).unwrap_or_default();
        Self(u64::from_str_radix(digits, 16).unwrap_or_default())
    }
}
