//! What the policy gives to one tool of one agent.

use toolhost_contract::ResourceName;
use toolhost_sandbox::{Grants, Limits};

use toolhost_manifest::policy::Policy;

/// What the policy gives to one tool of one agent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Permit {
    pub(crate) grants: Grants,
    pub(crate) limits: Limits,
    /// Whether the tool may use other agents.
    pub(crate) agents: bool,
    /// Whether the policy sets the deadline; otherwise it is the default.
    pub(crate) sets_deadline: bool,
}

impl Permit {
    pub(crate) fn of(policy: &Policy, agent: &str, tool: &ResourceName) -> Self {
        let (grants, limits) = policy.resolve(agent, tool);
        Self {
            grants,
            limits,
            agents: policy.grants_agents(agent, tool),
            sets_deadline: policy.sets_deadline(agent, tool),
        }
    }
}
