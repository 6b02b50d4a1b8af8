//! One call of a component: how it runs, how it ends, and its report.

pub(crate) mod code;
mod crash_words;
pub(crate) mod instantiated;
pub(crate) mod invocation;
pub(crate) mod recorded;
pub(crate) mod response;
pub(crate) mod run;
pub(crate) mod task;
pub(crate) mod trap;
