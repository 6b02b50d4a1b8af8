//! The binary `toolhost`, as people and programs meet it.
//!
//! They are here and not among the other integration tests because cargo builds the binary for the
//! tests of its own package alone.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod author;
mod bad_input;
mod cache;
mod call;
mod check;
mod docs;
mod help;
mod inspect;
mod list;
mod pending;
mod places;
mod play;
mod streams;
mod terminal;
mod test;
mod workdir;
