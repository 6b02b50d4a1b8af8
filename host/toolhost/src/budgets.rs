//! Budgets over time: what the calls of a tool, an agent or an instance may use together in an hour or a day.
//!
//! A call takes what it needs of each of its budgets before it runs, and what it has used is added when it ends. The sums
//! are in the store of the state root, which processes share; without a state root they are in memory. A window is a full
//! hour or day of UTC by the clock of the machine: a clock that is set back finds what was used of the window.

mod account;
mod ledger;
mod refusal;
mod report;
mod rows;
pub(crate) mod spent;

pub(crate) use self::ledger::{Budgets, Caller};
pub(crate) use self::report::stored_uses;
pub use self::report::{BudgetUse, BudgetsError};
pub use toolhost_manifest::policy::{Budget, BudgetInfo, BudgetPeriod};
