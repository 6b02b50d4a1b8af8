//! What somebody has consented to.

use std::sync::Arc;

use toolhost_contract::{HeldEffect, ToolResult};

use crate::pending::record::Hold;

/// What somebody has consented to.
#[derive(Debug)]
pub(crate) struct Release {
    pub(super) effect: HeldEffect,
    pub(super) digest: String,
    pub(super) bound: String,
    pub(super) prefix: Option<Vec<u8>>,
}

/// What becomes of a call that another one waits for.
pub(crate) enum ReleasedInner {
    /// It has ended with this result, or waits for its component.
    Ended(ToolResult),
    /// It runs again.
    Again(Arc<Release>),
}

impl Release {
    pub(crate) fn of(hold: Hold) -> Arc<Self> {
        Arc::new(Self {
            effect: hold.effect,
            digest: hold.digest,
            bound: hold.bound,
            prefix: hold.prefix,
        })
    }

    /// Does not consent to anything, but lets a run come as far as the one before it.
    pub(crate) fn of_nothing(hold: Hold) -> Arc<Self> {
        Arc::new(Self {
            effect: hold.effect,
            digest: String::new(),
            bound: hold.bound,
            prefix: hold.prefix,
        })
    }
}
