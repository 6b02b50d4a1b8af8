//! The grants that a tool can use only through an import of its component.

use toolhost_contract::ResourceName;

use super::Policy;

/// A key of the rules for a tool.
#[derive(Debug)]
#[non_exhaustive]
pub struct GrantInfo {
    /// The key.
    pub key: &'static str,
    /// How the name of the import begins.
    pub import: &'static str,
    /// What the import gives, and an example of the key that grants it. None: a component may import it and work
    /// without the grant.
    pub needed: Option<(&'static str, &'static str)>,
    /// What a component without the import is like.
    pub unused: &'static str,
    is_set: fn(&Policy, &str, &ResourceName) -> bool,
}

/// All grants. `Rule::read` reads their keys.
static GRANTS: [GrantInfo; 5] = [
    GrantInfo {
        key: "agents",
        import: "goondan:tool/agents@",
        needed: Some(("other agents", "agents: true")),
        unused: "asks no other agents",
        is_set: Policy::grants_agents,
    },
    GrantInfo {
        key: "tools",
        import: "goondan:tool/tools@",
        needed: Some(("other tools", "tools: [\"file-system__*\"]")),
        unused: "calls no other tools",
        is_set: |policy, agent, tool| policy.callable_tools(agent, tool).is_some(),
    },
    GrantInfo {
        key: "http",
        import: "wasi:http/outgoing-handler@",
        needed: Some(("HTTP", "http: {allow: [\"GET https://api.example.com/*\"]}")),
        unused: "sends no HTTP requests",
        // What every tool is allowed is no mistake where a tool sends nothing.
        is_set: Policy::has_http_rules,
    },
    GrantInfo {
        key: "oauth",
        import: "wasi:http/outgoing-handler@",
        needed: None,
        unused: "sends no HTTP requests",
        is_set: |policy, agent, tool| !policy.oauth_of(agent, tool).is_empty(),
    },
    GrantInfo {
        key: "env",
        import: "wasi:cli/environment@",
        needed: None,
        unused: "reads no environment variables",
        is_set: |policy, agent, tool| {
            let (mut grants, _) = policy.resolve(agent, tool);
            policy.resolve_credentials(agent, tool).add_to(&mut grants);
            !grants.env.is_empty()
        },
    },
];

impl Policy {
    /// Returns the keys of a tool that grant what its component imports.
    pub fn grants() -> &'static [GrantInfo] {
        &GRANTS
    }
}

impl GrantInfo {
    /// Returns whether the policy grants it to a tool of an agent.
    pub fn is_set(&self, policy: &Policy, agent: &str, tool: &ResourceName) -> bool {
        (self.is_set)(policy, agent, tool)
    }
}
