//! What somebody has consented to.

use std::sync::Arc;

use toolhost_contract::HeldEffect;

use crate::pending::record::Hold;

/// What somebody has consented to.
#[derive(Debug)]
pub(crate) struct Release {
    pub(super) effect: HeldEffect,
    pub(super) digest: String,
    pub(super) bound: String,
    pub(super) prefix: Option<Vec<u8>>,
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
