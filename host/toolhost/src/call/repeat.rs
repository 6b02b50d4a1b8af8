//! What may happen to a call whose worker died.

use toolhost_contract::WorkdirChanges;

use crate::agent::ToolPermit;
use crate::agent::tool_access::ToolAccess;
use crate::registry::RegisteredTool;
use crate::registry::Runs;

/// How runs of one call relate to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It may run any number of times: it changes nothing, or the policy says so.
    Freely,
    /// It may run again, and one of its runs commits: it changes nothing but files, in a transaction.
    CommitOnce,
    /// It runs once.
    Never,
}

impl Repeat {
    /// `is_repeatable` is what the policy says.
    pub(crate) fn of(
        is_repeatable: Option<bool>,
        tool: &RegisteredTool,
        permit: &ToolPermit,
    ) -> Self {
        let Runs::Component(component) = &tool.runs else {
            return Self::Never;
        };
        let uses = (permit.agents, permit.tools.is_some());
        let access = ToolAccess::of(&component.facts().imports, &permit.grants, uses);
        let only_commits = access.writes_files && permit.changes != WorkdirChanges::Direct;
        let changes_else =
            access.changes_servers || access.agents || (access.writes_files && !only_commits);
        match (is_repeatable, changes_else) {
            (Some(false), _) | (None, true) => Self::Never,
            (Some(true), _) | (None, false) if only_commits => Self::CommitOnce,
            (Some(true), _) | (None, false) => Self::Freely,
        }
    }
}
