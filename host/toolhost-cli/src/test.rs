//! What `toolhost test` is made of: case files found, cases planned, run, and told.

mod done;
mod files;
mod heard;
mod item;
pub(crate) mod junit;
mod lab;
pub(crate) mod people;
pub(crate) mod run;
pub(crate) mod update;

pub(crate) use done::{Done, Report, Verdict};
pub(crate) use files::Files;
pub(crate) use lab::Lab;
