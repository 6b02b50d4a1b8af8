//! Our own `wasi:filesystem`: the workdir and nothing else. What a guest is told is compared with
//! what the host sees; what is refused must leave no trace.

mod budgets;
mod contents;
mod escapes;
mod irregular;
mod names;
mod probe;
mod protection;
mod races;
mod stopped;
mod times;
pub(crate) mod tree;
mod twins;
mod versions;
