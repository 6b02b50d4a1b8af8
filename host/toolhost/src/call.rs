//! Executes one tool call: admission, validation, the run, and the limits and redaction of its result.

mod acceptance;
mod access_tokens;
pub(crate) mod cancellation;
mod catalog_search;
pub(crate) mod component;
pub(crate) mod consent;
pub(crate) mod executor;
pub(crate) mod exit;
mod failed_operation;
pub(crate) mod failure;
pub(crate) mod fence;
mod hints;
pub(crate) mod inner;

pub(crate) mod live_log;
mod native;
pub(crate) mod outer;
mod output_schema;
mod placed;
mod recorded;
pub(crate) mod repeat;
pub(crate) mod run;
pub(crate) mod scope;
mod telemetry;
mod tools_call;
mod transaction;
mod transaction_part;
pub(crate) mod validate;
