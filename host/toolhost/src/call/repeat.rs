//! Whether a call may run again on another worker.

use toolhost_contract::WorkdirChanges;

use crate::agent::ToolPermit;
use crate::agent::tool_access::ToolAccess;
use crate::registry::RegisteredTool;
use crate::registry::Runs;
use crate::workers::repeat::Repeat;

/// Returns whether calls of a tool may run again, and whether what they change is committed: a later run, or the end of the call,
/// then keeps an earlier run from that. `is_repeatable` is what the policy says.
pub(crate) fn repeat_of(
    is_repeatable: Option<bool>,
    tool: &RegisteredTool,
    permit: &ToolPermit,
) -> (Repeat, bool) {
    let Runs::Component(component) = &tool.runs else {
        return (Repeat::Never, false);
    };
    let uses = (permit.agents, permit.tools.is_some());
    let access = ToolAccess::of(&component.facts().imports, &permit.grants, uses);
    let commits = access.writes_files && permit.changes != WorkdirChanges::Direct;
    let changes_else = access.changes_servers || access.agents || (access.writes_files && !commits);
    let repeat = match (is_repeatable, changes_else) {
        (Some(false), _) | (None, true) => Repeat::Never,
        (Some(true), _) | (None, false) if commits => Repeat::CommitOnce,
        (Some(true), _) | (None, false) => Repeat::Freely,
    };
    (repeat, commits)
}
