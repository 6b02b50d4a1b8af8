//! The operator's policy: the grants and limits of each tool. This module does no I/O.

mod approvals;
mod ask;
mod budgets;
mod calls;
mod changesets;
mod credentials;
mod grants;
mod http;
mod limits;
mod lock;
mod masked;
mod mcp_oauth;
mod mcp_servers;
mod named;
mod oauth_apps;
mod packages;
mod placement_check;
mod read;
mod rules;
mod state;
mod tool_budgets;
mod unknown_names;
mod variable;
mod workers;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use toolhost_contract::{
    AddressBlock, CommitCondition, Grants, HttpRule, Limits, Locale, McpServerResource,
    OAuthAppResource, Redactor, ResourceName, ToolPattern, WorkdirChanges,
};

use crate::diagnostic::{Diagnostic, Place};
use crate::lock::{Drift, Lock};
pub use approvals::{ApprovalRules, ApprovalWebhook};
pub use ask::{Ask, AskDecision, AskRule, AskRules, AskVerdict, EffectRules};
use budgets::BudgetRules;
pub use budgets::{
    BUDGET_KINDS, Budget, BudgetAmounts, BudgetInfo, BudgetPeriod, ToolBudgets, used,
};
use calls::Calls;
pub use calls::CallsRule;
pub use changesets::ChangesetGrant;
pub use credentials::{
    CredentialError, CredentialProvider, CredentialProviderError, CredentialResponse, Credentials,
};
pub use grants::GrantInfo;
pub use limits::{LimitInfo, parse_bytes};
pub use lock::LockRule;
pub use mcp_oauth::{McpOAuth, McpOAuthGrant};
use mcp_servers::McpRule;
pub use mcp_servers::{McpGrant, McpReach};
use oauth_apps::OAuthAppRule;
pub use oauth_apps::{OAuthAppGrant, ToolOAuthGrant};
pub use packages::{PackageRules, PackageSigner, SignerTrust};
pub use read::{PolicyError, read_at};
use rules::{AgentRules, CommitRule, Defaults, Rule};
pub use state::{PostgresRules, StateRules};
pub use variable::{SecretSource, Secrets};
pub use workers::{NatsLogin, NatsRule, Placement, WorkersRule, is_worker_word};

/// What the operator grants. A tool that is not named gets no grants.
///
/// ```yaml
/// strict: true                     # default; false: names that the bundle does not have are warnings
/// workspace: shop                  # the name of the instances' workspaces; default: the bundle's
/// registryDirectCall: false        # default; true admits calls outside the step's catalog
/// calls: {days: 7}                 # what is kept of calls in the state root; or off
/// approvals:                       # where people decide, and who is told of calls that wait
///   page: https://tools.example.com/
///   webhook: {url: https://example.com/hook, secret: {fromEnv: WEBHOOK_SECRET}}
/// workers:                         # other machines, for tools with `placement`
///   nats: {url: nats://10.0.0.5:4222}
/// state:                           # a database that several hosts share; default: a file in the state root
///   postgres: {url: postgres://toolhost@db.example.com/toolhost, password: {fromEnv: DB_PASSWORD}}
/// locale: en                       # or ko: the language of suggestions
/// defaults:
///   limits: {deadlineMs: 30000, memoryBytes: 256MiB}
///   workdir: direct                # or transactional, or durable: see `WorkdirChanges`
/// budgets:                         # of all calls together; also of a tool, and of an agent
///   perDay: {cost: 1000}
///   eachInstance: {perHour: {calls: 100}}
/// tools:
///   bash:
///     limits: {diskBytes: 1MiB}
///     cost: 5                      # the price of a call, for budgets
///     env:                         # the only variables the tool sees
///       LANG: C.UTF-8
///       TOKEN: {secret: sk-12345}  # kept out of results, errors and logs
///       OTHER: {fromEnv: MY_TOKEN} # a secret that the host holds; or {fromFile: token.txt}
///     agents: true                 # it may talk to other agents
///     tools: [file-system__*]      # the tools that it may call, of those that the step has
///     readOnly: true               # the workdir may be read, not changed
///     workdir: transactional       # the changes of a call are kept all together, or not at all
///     commitWhen: {pointer: /exitCode, equals: 0}  # only if the output has this there; or always
///   resizer:
///     placement: any               # its calls run on workers; or local, or {label: NAME}
///     repeatable: true             # a call whose worker died may run again
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
///     oauth: {github: {}}          # the host sets a user's token on requests to the app's origins
/// mcpServers:                      # the only ones that are started, compared exactly with the bundle's
///   files:
///     command: [npx, "@modelcontextprotocol/server-filesystem", /srv/project]
///     env: {PATH: /usr/bin}
///   search: {url: https://mcp.example.com/mcp}
/// oauthApps:                       # the only ones that are used, compared exactly with the bundle's
///   github:
///     endpoints:
///       authorizationUrl: https://github.com/login/oauth/authorize
///       tokenUrl: https://github.com/login/oauth/access_token
///     env:                         # the variables that the app's `valueFrom` reads
///       GITHUB_SECRET: {fromEnv: GITHUB_SECRET}
///     origins: [https://api.github.com]  # the host sets tokens on requests to these alone
/// agents:
///   coder:                         # for this agent alone, over the rules of its tools above
///     tools:
///       bash: {readOnly: false}
///     changesets: [goondan.yaml, tools/]   # it may change these files of its own bundle; true: all
/// ```
///
/// A key of `tools` is the name of a Tool resource: the part of a tool's name before `__`. A bundle does not load
/// under a policy that names a tool, an agent, a server or an app which it does not have: a misspelt name would
/// leave the real one without its restrictions. With `strict: false` such names are warnings: for a policy of
/// several bundles, and for one with rules for tools that extensions add.
///
/// Each key of an agent's `limits` replaces the tool's. Its `env`, `http` and `oauth` replace those of the tool
/// as a whole, so that they can also revoke grants.
///
/// [`Policy::default`] denies calls outside the catalog, all environment variables, all HTTP requests,
/// other agents and changesets. Its limits are those of [`Limits::default`].
///
/// ```
/// use std::time::Duration;
/// use toolhost_contract::ResourceName;
/// use toolhost_manifest::Policy;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy = Policy::parse("tools: {bash: {limits: {deadlineMs: 5000}}}", "policy.yaml")?;
/// let (grants, limits) = policy.resolve("coder", &ResourceName::parse("bash")?);
/// assert_eq!(limits.deadline, Duration::from_secs(5));
/// assert!(grants.env.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Policy {
    names: Names,
    workspace: Option<ResourceName>,
    registry_direct_call: bool,
    locale: Locale,
    defaults: Defaults,
    budgets: BudgetRules,
    tools: BTreeMap<ResourceName, Rule>,
    agents: BTreeMap<ResourceName, AgentRules>,
    mcp_servers: BTreeMap<ResourceName, McpRule>,
    oauth_apps: BTreeMap<ResourceName, OAuthAppRule>,
    lock: LockRule,
    calls: Calls,
    approvals: ApprovalRules,
    state: StateRules,
    packages: Option<Arc<PackageRules>>,
    workers: Option<Arc<WorkersRule>>,
    /// The digest of its text.
    sha256: [u8; 32],
    /// The tools that a tool may call, in place of those of its rules.
    tools_called: BTreeMap<ResourceName, Arc<[ToolPattern]>>,
    /// Requests that every tool may send, besides those of its rules.
    http_for_all: Vec<HttpRule>,
    answered_by: Option<SocketAddr>,
    /// The policy whose limits are the maximum.
    operators: Option<Arc<Policy>>,
}

/// Whether a bundle must have every name of the policy: `strict`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Names {
    /// A name that the bundle does not have is an error.
    #[default]
    OfBundle,
    /// It is a warning.
    OfSeveralBundles,
}

impl Policy {
    /// Returns the keys of `limits`, with their defaults and ranges.
    pub fn limits() -> &'static [LimitInfo] {
        &limits::KEYS
    }

    /// Returns whether calls outside the step's catalog are allowed. Default: no.
    ///
    /// Spec: tool-spec-v2 §2.3(3), §9.1.
    pub fn registry_direct_call(&self) -> bool {
        self.registry_direct_call
    }

    /// Returns the name of the workspaces of a bundle's instances, in the place of the bundle's own. Default: none.
    pub fn workspace(&self) -> Option<&ResourceName> {
        self.workspace.as_ref()
    }

    /// Returns which differences from the lock of a bundle keep it from loading. Default: all.
    pub fn lock(&self) -> &LockRule {
        &self.lock
    }

    /// Returns what the host keeps of calls in its state root; none if the policy turns that off. Default: on.
    pub fn calls(&self) -> Option<CallsRule> {
        match self.calls {
            Calls::Off => None,
            Calls::On(rule) => Some(rule),
        }
    }

    /// Keeps nothing of calls: for hosts whose state root is temporary.
    #[must_use]
    pub fn without_calls(mut self) -> Self {
        self.calls = Calls::Off;
        self
    }

    /// Returns where people decide about calls that wait, and who is told of them. Default: nowhere, nobody.
    pub fn approvals(&self) -> &ApprovalRules {
        &self.approvals
    }

    /// Keeps the state in the state root, whatever the policy says: of what is tried out.
    #[must_use]
    pub fn without_state(mut self) -> Self {
        self.state = StateRules::default();
        self
    }

    /// Returns which database keeps the state.
    pub fn state(&self) -> &StateRules {
        &self.state
    }

    /// Returns whose signatures packages of registries must have. Default: packages need none.
    pub fn packages(&self) -> Option<&PackageRules> {
        self.packages.as_deref()
    }

    /// Returns how calls get to workers; none if all calls run in the host, which is the default.
    pub fn workers(&self) -> Option<&WorkersRule> {
        self.workers.as_deref()
    }

    /// Returns where the calls of a tool of this agent run. Default: in the host.
    pub fn placement(&self, agent: &str, tool: &ResourceName) -> Placement {
        let of_tool = self.last(agent, tool, |rule| rule.placement.as_ref());
        let placement = of_tool.or(self.defaults.placement.as_ref());
        placement.cloned().unwrap_or_default()
    }

    /// Returns whether the calls of any tool run on workers.
    pub fn places_calls(&self) -> bool {
        let of_tools = self.all_rules().filter_map(|rule| rule.placement.as_ref());
        let mut placements = of_tools.chain(&self.defaults.placement);
        placements.any(|placement| *placement != Placement::Local)
    }

    /// Runs all calls in the host: for programs that call no tools.
    #[must_use]
    pub fn without_placements(mut self) -> Self {
        self.defaults.placement = None;
        let of_agents = self.agents.values_mut();
        let of_agents = of_agents.flat_map(|agent| agent.tools.values_mut());
        for rule in self.tools.values_mut().chain(of_agents) {
            rule.placement = None;
        }
        self
    }

    /// Returns whether a call of a tool of this agent may run again after its worker died, if the policy says so.
    pub fn is_repeatable(&self, agent: &str, tool: &ResourceName) -> Option<bool> {
        self.last(agent, tool, |rule| rule.repeatable)
    }

    /// Returns the SHA-256 of the text that was parsed. Zeros for the default policy.
    pub fn sha256(&self) -> [u8; 32] {
        self.sha256
    }

    /// Returns the language of suggestions. Default: English.
    pub fn locale(&self) -> Locale {
        self.locale
    }

    /// Returns the grants and limits of a tool that this agent calls: the defaults of the host, `defaults`,
    /// `tools.<tool>` and `agents.<agent>.tools.<tool>`, of which later ones replace earlier ones. The
    /// grants have no secrets: see [`Self::resolve_credentials`].
    pub fn resolve(&self, agent: &str, tool: &ResourceName) -> (Grants, Limits) {
        let (mut grants, mut limits) = (Grants::none(), Limits::default());
        self.defaults.limits.apply(&mut limits);
        for rule in self.rules(agent, tool) {
            rule.limits.apply(&mut limits);
            rule.add_to(&mut grants, self.answered_by);
        }
        if !self.http_for_all.is_empty() {
            http::add(&mut grants, &self.http_for_all, self.answered_by);
        }
        if let Some(operators) = &self.operators {
            let (_, most) = operators.resolve(agent, tool);
            limits::lower(&mut limits, &most);
        }
        (grants, limits)
    }

    /// Returns when the changes that a call of a tool makes in its workdir take effect. Default: at once.
    pub fn workdir_changes(&self, agent: &str, tool: &ResourceName) -> WorkdirChanges {
        let of_tool = self.last(agent, tool, |rule| rule.changes);
        let changes = of_tool.or(self.defaults.changes).unwrap_or_default();
        let is_held = || {
            let rules = self.ask_rules(agent, tool);
            rules.is_some_and(|rules| rules.holds_changes())
        };
        if changes == WorkdirChanges::Direct && is_held() {
            // What waits for consent is kept apart.
            return WorkdirChanges::Transactional;
        }
        changes
    }

    /// Returns which calls of a tool wait for a person's consent; none if no call does, which is the default.
    pub fn ask_rules(&self, agent: &str, tool: &ResourceName) -> Option<&Arc<AskRules>> {
        let of_tool = self.last(agent, tool, |rule| rule.ask.as_ref());
        of_tool.or(self.defaults.ask.as_ref())
    }

    /// Returns which outputs mean that the changes of a transaction are kept. None: all. The policy's rule
    /// replaces `of_export`, that of the manifest.
    pub fn commit_when<'a>(
        &'a self,
        agent: &str,
        tool: &ResourceName,
        of_export: Option<&'a CommitCondition>,
    ) -> Option<&'a CommitCondition> {
        match self.last(agent, tool, |rule| rule.commit_when.as_ref()) {
            None => of_export,
            Some(CommitRule::Always) => None,
            Some(CommitRule::If(condition)) => Some(condition),
        }
    }

    /// Returns whether the calls of any tool are transactions, which need a state root.
    pub fn has_transactions(&self) -> bool {
        let of_tools = self.all_rules().filter_map(|rule| rule.changes);
        let mut modes = of_tools.chain(self.defaults.changes);
        let of_tools = self.all_rules().filter_map(|rule| rule.ask.as_ref());
        let mut asks = of_tools.chain(&self.defaults.ask);
        modes.any(|changes| changes != WorkdirChanges::Direct)
            || asks.any(|rules| rules.holds_changes())
    }

    /// Returns whether calls of any tool may wait for approval.
    pub fn may_ask(&self) -> bool {
        let of_tools = self.all_rules().filter_map(|rule| rule.ask.as_ref());
        let mut asks = of_tools.chain(&self.defaults.ask);
        asks.any(|rules| rules.may_ask())
    }

    /// Returns the secrets that the policy names for a tool that this agent calls.
    pub fn resolve_credentials(&self, agent: &str, tool: &ResourceName) -> Credentials {
        let env = self.last(agent, tool, |rule| rule.env.as_ref());
        rules::credentials(env, self.last(agent, tool, |rule| rule.http.as_ref()))
    }

    /// Limits a policy that comes with the tools: each limit of a call is at most the operator's, or the
    /// default if that is higher; the operator's budgets hold; the MCP servers, the signers of packages, the name of
    /// workspaces, what differences from the lock stop and what is kept of calls are the operator's alone; and no tool may
    /// use an OAuthApp.
    #[must_use]
    pub fn within(mut self, operators: &Self) -> Self {
        self.oauth_apps.clear();
        self.mcp_servers.clone_from(&operators.mcp_servers);
        self.packages.clone_from(&operators.packages);
        self.workspace.clone_from(&operators.workspace);
        self.lock.clone_from(&operators.lock);
        self.calls = operators.calls;
        self.approvals.clone_from(&operators.approvals);
        self.workers.clone_from(&operators.workers);
        self.state.clone_from(&operators.state);
        self.operators = Some(Arc::new(operators.clone()));
        self
    }

    /// Returns the differences of tools from a lock that was reviewed. Signers are compared only where the policy
    /// requires signatures.
    pub fn differences(&self, reviewed: Lock, now: Lock) -> Vec<Drift> {
        match &self.packages {
            Some(_) => reviewed.compare(&now.with_signers_of(&reviewed)),
            None => reviewed.without_signers().compare(&now.without_signers()),
        }
    }

    /// Returns whether the policy has rules for a Tool of this name.
    pub fn names_tool(&self, name: &str) -> bool {
        let of_agents = self.agents.values().flat_map(|agent| agent.tools.keys());
        let mut named = self.tools.keys().chain(of_agents);
        named.any(|tool| tool.as_str() == name)
    }

    /// Returns whether the policy grants any MCP server.
    pub fn grants_any_mcp_server(&self) -> bool {
        !self.mcp_servers.is_empty()
    }

    /// Returns whether any tool may send any HTTP request.
    pub fn grants_any_http(&self) -> bool {
        let mut grants = self.all_rules().filter_map(|rule| rule.http.as_ref());
        !self.http_for_all.is_empty() || grants.any(|http| http.grant(None).is_some())
    }

    /// Returns whether a tool that this agent calls may use other agents. Default: no.
    pub fn grants_agents(&self, agent: &str, tool: &ResourceName) -> bool {
        let granted = self.last(agent, tool, |rule| rule.agents);
        granted.unwrap_or(false)
    }

    /// Returns which tools a tool that this agent calls may call; none if it may call no tool, which is the default.
    pub fn callable_tools(&self, agent: &str, tool: &ResourceName) -> Option<&Arc<[ToolPattern]>> {
        let of_rules = || self.last(agent, tool, |rule| rule.tools.as_ref());
        let granted = self.tools_called.get(tool).or_else(of_rules);
        granted.filter(|patterns| !patterns.is_empty())
    }

    /// Returns whether a tool may call any tool, under any agent.
    pub fn grants_tools(&self, tool: &ResourceName) -> bool {
        let of_agents = self.agents.values().flat_map(|agent| agent.tools.get(tool));
        let mut rules = self.tools.get(tool).into_iter().chain(of_agents);
        self.tools_called.contains_key(tool) || rules.any(|rule| rule.tools.is_some())
    }

    /// Allows a tool to call these tools, and no others.
    #[must_use]
    pub fn allow_tools(
        mut self,
        tool: ResourceName,
        called: impl Into<Arc<[ToolPattern]>>,
    ) -> Self {
        self.tools_called.insert(tool, called.into());
        self
    }

    /// Returns which files of its own bundle an agent may change through changesets. Default: none. A
    /// policy that comes with the tools grants none: the [operator's](Self::within) counts.
    ///
    /// Spec: requirements-v1 §12.4.
    pub fn changesets(&self, agent: &str) -> Option<&ChangesetGrant> {
        match &self.operators {
            Some(operators) => operators.changesets(agent),
            None => self.agents.get(agent)?.changesets.as_ref(),
        }
    }

    /// Returns whether a tool that this agent calls may send any HTTP request. Default: no.
    pub fn grants_http(&self, agent: &str, tool: &ResourceName) -> bool {
        !self.http_for_all.is_empty() || self.has_http_rules(agent, tool)
    }

    /// Returns whether the rules for a tool of this agent allow any HTTP request.
    fn has_http_rules(&self, agent: &str, tool: &ResourceName) -> bool {
        let http = self.last(agent, tool, |rule| rule.http.as_ref());
        http.is_some_and(|http| http.grant(None).is_some())
    }

    /// Allows these requests to every tool, besides those that its rules allow.
    #[must_use]
    pub fn allow_http(mut self, rules: impl IntoIterator<Item = HttpRule>) -> Self {
        self.http_for_all.extend(rules);
        self
    }

    /// Names the workspaces of instances, unless the policy does.
    #[must_use]
    pub fn or_workspace(mut self, name: ResourceName) -> Self {
        self.workspace.get_or_insert(name);
        self
    }

    /// Makes calls transactions, unless the policy says when their changes take effect.
    #[must_use]
    pub fn or_transactional(mut self) -> Self {
        let changes = &mut self.defaults.changes;
        changes.get_or_insert(WorkdirChanges::Transactional);
        self
    }

    /// Sends all allowed HTTP requests to one server, for tests of tools: over plain HTTP, whatever their
    /// scheme and host, with their `Host` header and the credentials of their origin. No name is resolved.
    #[must_use]
    pub fn answered_by(mut self, server: SocketAddr) -> Self {
        self.answered_by = Some(server);
        self
    }

    /// Returns the grant for an MCP server of a bundle.
    ///
    /// # Errors
    /// A finding that names the lines to add or to correct: a warning if the policy does not have the
    /// server, an error if it has another command, URL or variable under that name. `place` is the
    /// resource's.
    pub fn mcp_server(
        &self,
        server: &McpServerResource,
        place: &Place,
    ) -> Result<McpGrant, Box<Diagnostic>> {
        match self.mcp_servers.get(&server.metadata.name) {
            Some(rule) => rule.check(server, place),
            None => Err(mcp_servers::not_granted(server, place)),
        }
    }

    /// Returns the grant for an MCP server by its name, whatever a bundle has.
    pub fn mcp_grant(&self, name: &ResourceName) -> Option<McpGrant> {
        self.mcp_servers.get(name).map(McpRule::grant)
    }

    /// Returns the names of the MCP servers that the policy grants, sorted.
    pub fn mcp_server_names(&self) -> impl Iterator<Item = &str> {
        self.mcp_servers.keys().map(ResourceName::as_str)
    }

    /// Returns the grant for an OAuthApp of a bundle.
    ///
    /// # Errors
    /// A finding that names the lines to add or to correct: a warning if the policy does not have the app,
    /// an error if it has other endpoints, or not the variables that the app reads. `place` is the resource's.
    pub fn oauth_app(
        &self,
        app: &OAuthAppResource,
        place: &Place,
    ) -> Result<OAuthAppGrant, Box<Diagnostic>> {
        match self.oauth_apps.get(&app.metadata.name) {
            Some(rule) => rule.check(app, place),
            None => Err(oauth_apps::not_granted(app, place)),
        }
    }

    /// Returns the non-public addresses at which authorization servers of OAuthApps may be.
    pub fn oauth_networks(&self) -> Vec<AddressBlock> {
        let rules = self.oauth_apps.values();
        rules.flat_map(OAuthAppRule::networks).collect()
    }

    /// Returns whether the policy grants any OAuthApp.
    pub fn grants_any_oauth_app(&self) -> bool {
        !self.oauth_apps.is_empty()
    }

    /// Returns whether the policy reaches any MCP server with OAuth.
    pub fn authorizes_at_any_mcp_server(&self) -> bool {
        self.mcp_servers.values().any(McpRule::has_oauth)
    }

    /// Returns the OAuthApps that a tool of this agent may use, sorted by name. Default: none.
    pub fn oauth_of(&self, agent: &str, tool: &ResourceName) -> Vec<ToolOAuthGrant> {
        let rules = self.last(agent, tool, |rule| rule.oauth.as_ref());
        let rules = rules.into_iter().flatten();
        rules.map(|(app, rule)| rule.grant(app)).collect()
    }

    /// Returns whether the policy sets the deadline of a tool.
    pub fn sets_deadline(&self, agent: &str, tool: &ResourceName) -> bool {
        let mut rules = self.rules(agent, tool);
        self.defaults.limits.sets_deadline() || rules.any(|rule| rule.limits.sets_deadline())
    }

    /// Returns the rules for a tool of an agent. Values in later ones replace those in earlier ones.
    fn rules(&self, agent: &str, tool: &ResourceName) -> impl Iterator<Item = &Rule> {
        let agents_own = self.agents.get(agent);
        let agents_own = agents_own.and_then(|rules| rules.tools.get(tool));
        [self.tools.get(tool), agents_own].into_iter().flatten()
    }

    /// Returns the last value that the rules for a tool of an agent set.
    fn last<'p, T>(
        &'p self,
        agent: &str,
        tool: &ResourceName,
        value: impl Fn(&'p Rule) -> Option<T>,
    ) -> Option<T> {
        self.rules(agent, tool).filter_map(value).last()
    }

    fn all_rules(&self) -> impl Iterator<Item = &Rule> {
        let of_agents = self.agents.values().flat_map(|agent| agent.tools.values());
        self.tools.values().chain(of_agents)
    }

    /// Returns a redactor of all secrets in the policy.
    pub fn redactor(&self) -> Redactor {
        let redactor = Redactor::default();
        self.add_secrets_to(&redactor);
        redactor
    }

    /// Adds all secrets in the policy to a redactor.
    pub fn add_secrets_to(&self, redactor: &Redactor) {
        let secrets = |rule: &Rule| rules::credentials(rule.env.as_ref(), rule.http.as_ref());
        let secrets: Vec<Credentials> = self.all_rules().map(secrets).collect();
        redactor.add(secrets.iter().flat_map(Credentials::secrets));
        redactor.add(self.mcp_servers.values().flat_map(McpRule::secrets));
        redactor.add(self.oauth_apps.values().flat_map(OAuthAppRule::secrets));
        redactor.add(self.approvals.secrets());
        redactor.add(self.workers.iter().flat_map(|workers| workers.secrets()));
        redactor.add(self.state.secrets());
    }
}

impl CredentialProvider for Policy {
    fn credentials(&self, agent: &str, tool: &ResourceName) -> CredentialResponse {
        CredentialResponse::Ready(self.resolve_credentials(agent, tool))
    }
}

#[cfg(test)]
mod tests;
