//! Tests of the binary `toolhost`.
//!
//! They are in this package because cargo builds the binary only for the tests of its own package.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod approval_card;
mod approvals;
mod auth;
mod author;
mod backup;
mod bad_input;
mod base;
mod budgets;
mod cache;
mod call;
mod calls;
mod changesets;
mod check;
mod docs;
mod docs_page;
mod doctor;
mod fleet;
mod front_ends;
mod help;
mod include;
mod inspect;
mod instances;
mod limits;
mod list;
mod lock;
mod mcp_login;
mod mcp_servers;
mod mistakes;
mod on_terminal;
mod packages;
mod pending;
mod places;
mod play;
mod recordings;
mod rpc;
mod script;
mod search;
mod serve;
mod shared_state;
mod shells;
mod state_root;
mod strangers;
mod streams;
mod terminal;
mod test;
mod transactions;
mod watch_page;
mod workdir;
