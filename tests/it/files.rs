//! The sandbox's implementation of `wasi:filesystem`. Results are compared with the files on the host;
//! a refused operation must change nothing.

mod budgets;
mod contents;
mod escapes;
mod host_comparison;
mod interrupted_calls;
mod irregular;
mod modes;
mod names;
mod probe;
mod protection;
mod races;
pub(crate) mod snapshot;
mod times;
mod transactional;
mod versions;
