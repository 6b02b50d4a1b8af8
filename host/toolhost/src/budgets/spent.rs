//! What the calls within a call have used: it counts for their tools, and not for that of the outer call again.

use std::sync::Mutex;

use toolhost_contract::Usage;
use toolhost_manifest::policy::{BudgetAmounts, used};
use toolhost_runtime::lock;

/// What the calls within a call have used so far.
#[derive(Debug, Default)]
pub(crate) struct InnerSpent(Mutex<BudgetAmounts>);

impl InnerSpent {
    /// Adds what a call within it has used, with the calls within that one.
    pub(crate) fn add(&self, usage: &Usage) {
        let mut sums = lock(&self.0);
        for (sum, more) in sums.iter_mut().zip(used(usage)) {
            *sum = sum.saturating_add(more);
        }
    }

    /// Returns what the outer call has used itself.
    pub(super) fn without(&self, amounts: BudgetAmounts) -> BudgetAmounts {
        let mut own = amounts;
        for (own, inner) in own.iter_mut().zip(*lock(&self.0)) {
            *own = own.saturating_sub(inner);
        }
        own
    }
}
