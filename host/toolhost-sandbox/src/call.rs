//! One call of a component: its store, its imports, and its report.

pub(crate) mod call_hook;
mod crash_words;
pub(crate) mod instantiated;
pub(crate) mod invocation;
pub(crate) mod linker;
pub(crate) mod meters;
pub(crate) mod resource_limiter;
pub(crate) mod response;
pub(crate) mod run;
pub(crate) mod store;
pub(crate) mod store_data;
pub(crate) mod store_state;
pub(crate) mod task;
pub(crate) mod trap;
