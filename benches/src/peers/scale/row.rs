//! A row of the table, and how its numbers are written.

use std::time::Instant;

use toolhost_tests::process_usage::ProcessUsage;

use crate::peers::spread::{digits, grouped};

/// A row of the table.
pub(in crate::peers) struct ScaleRow {
    pub(in crate::peers) name: String,
    pub(in crate::peers) result: String,
}

/// Returns the resident memory of this process.
pub(super) fn rss() -> u64 {
    ProcessUsage::now().rss
}

pub(super) fn mib(bytes: u64) -> String {
    format!("{} MiB", grouped(bytes as f64 / 1024.0 / 1024.0))
}

pub(super) fn seconds_since(started: Instant) -> String {
    format!("{} s", digits(started.elapsed().as_secs_f64()))
}
