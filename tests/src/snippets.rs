//! The Rust snippets of the pages, compiled as doctests. Those that name `toolhost_guest` are doctests
//! of that crate, in `guest-sdk/rust`.

#[doc = include_str!("../../README.md")]
mod readme {}

#[doc = include_str!("../../docs/embedding.md")]
mod embedding {}
