//! The operator's policy: what each tool gets. A tool never grants itself anything.
//!
//! Pure: text in, policy out; a policy and two names in, grants and limits out.

mod credentials;
mod http;
mod limits;
mod masked;
mod read;
mod rules;
mod variable;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use toolhost_contract::{Grants, Limits, Locale, Redactor, ResourceName, ToolErrorCode};

use crate::bundle::{Bundle, IMPLICIT_AGENT};
use crate::diagnostic::{Diagnostic, Place};
use crate::suggest::closest;
pub use credentials::{
    CredentialError, CredentialProvider, CredentialProviderError, CredentialResponse, Credentials,
};
use limits::LimitChanges;
pub use limits::{LimitInfo, parse_bytes};
pub use read::{PolicyError, read_at};
use rules::{AgentRules, Rule};
use variable::Environment;
pub use variable::{SecretSource, Secrets};

/// What the operator allows. Nothing named is nothing granted.
///
/// ```yaml
/// registryDirectCall: false        # default; true admits calls outside the step's catalog
/// locale: en                       # or ko: the language of suggestions
/// defaults:
///   limits: {deadlineMs: 30000, memoryBytes: 256MiB}
/// tools:
///   bash:
///     limits: {diskBytes: 1MiB}
///     env:                         # the only variables the tool sees
///       LANG: C.UTF-8
///       TOKEN: {secret: sk-12345}  # kept out of results, errors and logs
///       OTHER: {fromEnv: MY_TOKEN} # a secret that the host holds; or {fromFile: token.txt}
///     agents: true                 # it may talk to other agents
///     readOnly: true               # the workdir may be read, not changed
///   fetcher:
///     http:
///       allow:                     # "[METHOD ]scheme://host[:port][/path*]"
///         - GET https://api.example.com/v1/*
///         - https://*.example.org
///       privateNetworks: [10.1.0.0/16]   # where a name may resolve to, besides public addresses
///       credentials:               # added by the host; the tool never sees them
///         - origin: https://api.example.com
///           header: authorization
///           prefix: "Bearer "
///           value: {secret: sk-12345}
/// agents:
///   coder:                         # for this agent alone, over the rules of its tools above
///     tools:
///       bash: {readOnly: false}
/// ```
///
/// Of limits, each key holds by itself; an agent's `env`, and its `http`, replace the tool's as a whole,
/// so that they can also take away.
///
/// Closed by [`Policy::default`]: calls outside the catalog, every environment variable, every HTTP
/// request, other agents. Limits are those of [`Limits::default`].
#[derive(Debug, Clone, Default)]
pub struct Policy {
    registry_direct_call: bool,
    locale: Locale,
    defaults: LimitChanges,
    tools: BTreeMap<ResourceName, Rule>,
    agents: BTreeMap<ResourceName, AgentRules>,
    answered_by: Option<SocketAddr>,
    /// Whose limits are not exceeded.
    operators: Option<Arc<Policy>>,
}

impl Policy {
    /// The keys of `limits`, with their defaults and ranges.
    #[must_use]
    pub fn limits() -> Vec<LimitInfo> {
        limits::all()
    }
}

impl Policy {
    /// Whether calls outside the step's catalog are admitted. Default: no.
    ///
    /// Spec: tool-spec-v2 §2.3(3), §9.1.
    #[must_use]
    pub fn registry_direct_call(&self) -> bool {
        self.registry_direct_call
    }

    /// The language of suggestions. Default: English.
    #[must_use]
    pub fn locale(&self) -> Locale {
        self.locale
    }

    /// Resolves what a tool gets when this agent calls it: the host's limits, changed by `defaults`, by
    /// `tools.<tool>` and by `agents.<agent>.tools.<tool>`, of which the last counts. Secrets are not part
    /// of it: see [`Self::resolve_credentials`].
    #[must_use]
    pub fn resolve(&self, agent: &str, tool: &ResourceName) -> (Grants, Limits) {
        let mut grants = Grants::none();
        let mut limits = Limits::default();
        self.defaults.apply(&mut limits);
        for rule in self.rules(agent, tool) {
            rule.limits.apply(&mut limits);
            if let Some(env) = &rule.env {
                grants.env = env.plain();
            }
            if let Some(http) = &rule.http {
                grants.http = http.grant(self.answered_by);
            }
            if let Some(workdir) = rule.workdir {
                grants.workdir = workdir;
            }
        }
        if let Some(operators) = &self.operators {
            let (_, most) = operators.resolve(agent, tool);
            limits::lower(&mut limits, &most);
        }
        (grants, limits)
    }

    /// Resolves the secrets that the policy names for a tool when this agent calls it.
    #[must_use]
    pub fn resolve_credentials(&self, agent: &str, tool: &ResourceName) -> Credentials {
        let env = self.rules(agent, tool).filter_map(|rule| rule.env.as_ref());
        let http = self
            .rules(agent, tool)
            .filter_map(|rule| rule.http.as_ref());
        Credentials {
            env: env.last().map(Environment::secrets).unwrap_or_default(),
            http: http
                .last()
                .map_or_else(Vec::new, |http| http.credentials.clone()),
        }
    }

    /// Holds a policy that comes with the tools themselves to the operator's: each limit of a call is at
    /// most the operator's, or the default where that is more.
    #[must_use]
    pub fn within(mut self, operators: &Self) -> Self {
        self.operators = Some(Arc::new(operators.clone()));
        self
    }

    /// Whether some tool may send some HTTP request.
    #[must_use]
    pub fn grants_any_http(&self) -> bool {
        let of_agents = self.agents.values().flat_map(|agent| agent.tools.values());
        let mut all = self
            .tools
            .values()
            .chain(of_agents)
            .filter_map(|rule| rule.http.as_ref());
        all.any(|http| http.grant(None).is_some())
    }

    /// Whether a tool may talk to other agents when this agent calls it. Default: no.
    #[must_use]
    pub fn grants_agents(&self, agent: &str, tool: &ResourceName) -> bool {
        let set = self.rules(agent, tool).filter_map(|rule| rule.agents);
        set.last().unwrap_or(false)
    }

    /// Whether a tool may send some HTTP request when this agent calls it. Default: no.
    #[must_use]
    pub fn grants_http(&self, agent: &str, tool: &ResourceName) -> bool {
        let set = self
            .rules(agent, tool)
            .filter_map(|rule| rule.http.as_ref());
        set.last().is_some_and(|http| http.grant(None).is_some())
    }

    /// Has every HTTP request that it allows answered by one server of the embedder's, for tests of a
    /// tool: in plain HTTP, whatever its scheme and host, with the `Host` header it would have had and
    /// the credentials bound to its origin. No name is looked up then.
    #[must_use]
    pub fn answered_by(mut self, server: SocketAddr) -> Self {
        self.answered_by = Some(server);
        self
    }

    /// Whether the policy sets the deadline of a tool; otherwise it is the default.
    pub fn sets_deadline(&self, agent: &str, tool: &ResourceName) -> bool {
        let limits = self.rules(agent, tool).map(|rule| &rule.limits);
        limits
            .chain([&self.defaults])
            .any(LimitChanges::set_deadline)
    }

    /// Returns the rules for a tool of an agent. Of several values of one key, the last counts.
    fn rules(&self, agent: &str, tool: &ResourceName) -> impl Iterator<Item = &Rule> {
        let agents_own = self.agents.get(agent);
        let agents_own = agents_own.and_then(|rules| rules.tools.get(tool));
        [self.tools.get(tool), agents_own].into_iter().flatten()
    }

    /// Returns a redactor of every secret that the policy names.
    #[must_use]
    pub fn redactor(&self) -> Redactor {
        let of_agents = self.agents.values().flat_map(|agent| agent.tools.values());
        let rules = self.tools.values().chain(of_agents);
        let rules: Vec<Credentials> = rules.map(Rule::credentials).collect();
        Redactor::new(rules.iter().flat_map(Credentials::secrets))
    }

    /// Lists, as warnings, the tools and agents that the policy names and the bundle does not have:
    /// a misspelt name would quietly leave a tool at the defaults.
    #[must_use]
    pub fn unknown_names(&self, bundle: &Bundle) -> Vec<Diagnostic> {
        let tools = bundle.tools().iter().map(|tool| &tool.metadata.name);
        let tools: Vec<&str> = tools.map(ResourceName::as_str).collect();
        let agents = bundle.agents().iter().map(|agent| &agent.metadata.name);
        let mut agents: Vec<&str> = agents.map(ResourceName::as_str).collect();
        if agents.is_empty() {
            agents.push(IMPLICIT_AGENT);
        }
        let agents_rules = self.agents.values().flat_map(|agent| &agent.tools);
        let named_tools = self.tools.iter().chain(agents_rules);
        let unknown_tools =
            named_tools.filter_map(|(name, rule)| unknown("Tool", name, &rule.place, &tools));
        let named_agents = self.agents.iter();
        let unknown_agents =
            named_agents.filter_map(|(name, rules)| unknown("Agent", name, &rules.place, &agents));
        let mut findings: Vec<Diagnostic> = unknown_tools.chain(unknown_agents).collect();
        findings.sort_by_key(|finding| finding.place.position.map(|at| at.span.offset));
        findings
    }
}

impl CredentialProvider for Policy {
    fn credentials(&self, agent: &str, tool: &ResourceName) -> CredentialResponse {
        CredentialResponse::Ready(self.resolve_credentials(agent, tool))
    }
}

fn unknown(kind: &str, name: &ResourceName, place: &Place, known: &[&str]) -> Option<Diagnostic> {
    if known.contains(&name.as_str()) {
        return None;
    }
    let message = format!("{kind}/{name} is not in the bundle");
    let warning = Diagnostic::warning(ToolErrorCode::ConfigRefNotFound, place.clone(), message);
    Some(match closest(name.as_str(), known) {
        Some(close) => warning.with_help(format!("Did you mean '{close}'?")),
        None => warning.with_help("Correct the name, or remove its rules."),
    })
}

#[cfg(test)]
mod tests;
