//! Our own `wasi:filesystem`: the workdir and nothing else. What a guest is told is compared with
//! what the host sees; what is refused must leave no trace.

mod budgets;
mod contents;
mod escapes;
mod host_comparison;
mod interrupted_calls;
mod irregular;
mod names;
mod probe;
mod protection;
mod races;
pub(crate) mod snapshot;
mod times;
mod versions;
