//! An inner call that waited for consent.

use std::sync::Arc;

use toolhost_contract::ToolResult;

use crate::pending::record::Hold;

/// What becomes of an inner call that waited for consent.
pub(crate) enum ReleasedInner {
    /// It has ended with this result, or waits for its component.
    Ended(Box<ToolResult>),
    /// It runs again, with what somebody has consented to.
    Again(Arc<Hold>),
}
