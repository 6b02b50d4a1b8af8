//! The tools of MCP servers, which are compared when a server lists them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::compare::{self, Drift, Grade};
use super::{LockedServer, Words};

/// What a lock has of an MCP server whose tools are compared whenever it lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerLock {
    words: Arc<BTreeMap<String, Words>>,
    stops: BTreeSet<Grade>,
}

impl ServerLock {
    /// `stops` are the grades of differences that keep a tool from the agents.
    pub fn new(server: LockedServer, stops: BTreeSet<Grade>) -> Self {
        Self {
            words: Arc::new(server.words),
            stops,
        }
    }

    /// Returns the differences of a tool, the gravest first, each with whether it keeps the tool from the agents. A tool
    /// that the lock does not have differs.
    pub fn compare(&self, server: &str, tool: &str, now: &Words) -> Vec<(Drift, bool)> {
        let drifts = compare::words_of_tool(server, tool, self.words.get(tool), now);
        let stops = |drift: Drift| {
            let is_stopped = self.stops.contains(&drift.grade);
            (drift, is_stopped)
        };
        drifts.into_iter().map(stops).collect()
    }
}
