//! Moments that a caller's duration leads to.

use std::time::Duration;

use tokio::time::Instant;

/// Thirty years: longer than any process runs, and within the range of every clock.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// Returns the moment after `from`; one that is far away if that is beyond the range of the clock.
pub(super) fn after(from: Instant, time: Duration) -> Instant {
    let far = || from.checked_add(FAR);
    from.checked_add(time).or_else(far).unwrap_or(from)
}
