//! What is added to the ring.

use std::path::Path;
use std::sync::Arc;

use super::super::event::RuntimeEvent;
use super::record::CallKind;

/// A call that ended, a poll of one, or the end of one that was pending.
pub(super) struct Entry {
    pub(super) kind: CallKind,
    /// Whether another call made it.
    pub(super) is_inner: bool,
    pub(super) event: Arc<RuntimeEvent>,
    pub(super) arguments: Option<String>,
    pub(super) output: Option<String>,
    pub(super) recording: Option<Arc<Path>>,
}
