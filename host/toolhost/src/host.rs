//! The host: a sandbox, a policy and a state root, from which bundles are loaded.

mod staging_root;
mod write_protection;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toolhost_contract::{Redactor, ResourceName};
use toolhost_files::PrivateDir;
use toolhost_sandbox::{
    CodeOrigin, PrepareStage, Sandbox, SandboxConfig, SandboxStartError, StagingError, StagingRoot,
    Workdir, WorkdirError, WorkdirRules,
};

use crate::budgets::Budgets;
use crate::catalog::search::ranker::ToolRanker;
use crate::events::ring::Ring;
use crate::events::{EventBus, EventBusConfig};
use crate::host::write_protection::WriteProtection;
use crate::middleware::AuditLog;
use crate::oauth::OAuth;
use crate::pending::{Completions, CompletionsError, EXPIRY, PendingCalls};
use crate::recording::kept::KeptRecordings;
use crate::recording::recorder::CallRecorder;
use crate::workdir_provider::{InstanceWorkdir, WorkdirProvider};
use crate::workers::origin::{Origin, Workers};
use toolhost_manifest::bundle::{Diagnostic, NoShippedBundles, ShippedBundles};
use toolhost_manifest::component_source::ComponentSource;
use toolhost_manifest::policy::{CredentialProvider, Policy};
use toolhost_runtime::debug_fields;
use toolhost_store::{Database, StoreError};

use crate::state_store;

/// Why a host could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The sandbox could not start.
    #[error("the sandbox could not start")]
    Sandbox(#[from] SandboxStartError),
    /// The state root could not be created, belongs to another user, or can be written by others.
    #[error("the state root {} cannot be used", .path.display())]
    StateRoot {
        /// Path of the state root.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The policy places calls on workers, and the host has none.
    #[error(
        "the policy places calls on workers, and the host has none: set them with `HostBuilder::workers`"
    )]
    NoWorkers,
    /// Calls on workers use the workspaces of instances, which a workdir provider replaces.
    #[error("a host with workers cannot have a workdir provider")]
    WorkersAndWorkdirs,
    /// Workers have secrets of their own, by the policy, and not those of a credential provider.
    #[error("a host with workers cannot have a credential provider")]
    WorkersAndCredentials,
    /// The system gave no random bytes.
    #[error("the system gave no random bytes")]
    Random(#[source] getrandom::Error),
    /// The policy has transactions, and the host no state root for what they stage.
    #[error(
        "the policy sets `workdir: transactional` or `workdir: durable`, which needs a state root"
    )]
    NoStateRoot,
    /// The staging directory of transactions in the state root cannot be used.
    #[error("the changes of transactions cannot be staged")]
    Staging(#[from] StagingError),
    /// The database of the state cannot be used.
    #[error("the state cannot be kept")]
    State(#[from] StoreError),
}

/// Progress of loading a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadProgress {
    /// A component is being prepared. This takes seconds if it must be compiled. Others may be prepared at
    /// the same time.
    Preparing {
        /// Name of its Tool.
        tool: ResourceName,
        /// Size of the component in bytes.
        bytes: u64,
    },
    /// A component that is being prepared takes longer than mapping it.
    Slow {
        /// Name of its Tool.
        tool: ResourceName,
        /// Why.
        stage: PrepareStage,
    },
    /// A component is ready.
    Prepared {
        /// Name of its Tool.
        tool: ResourceName,
        /// Whether it was compiled, taken from the cache, or used again.
        origin: CodeOrigin,
        /// How long it took.
        took: Duration,
    },
    /// A component that [`Host::load_to_serve`] left for later cannot be called.
    Failed {
        /// Name of its Tool.
        tool: ResourceName,
        /// Why.
        finding: Box<Diagnostic>,
    },
}

type OnProgress = Arc<dyn Fn(&LoadProgress) + Send + Sync>;

/// Sets up a [`Host`]. Reads no environment variables and no configuration files.
///
/// ```no_run
/// # fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use toolhost::{Host, Policy, Sandbox, SandboxConfig, sandbox::CacheConfig};
///
/// let mut config = SandboxConfig::default();
/// config.cache = Some(CacheConfig::new("/var/cache/agent", "/var/lib/agent/cache.key"));
/// let policy = Policy::parse("tools: {fetch: {limits: {deadlineMs: 5000}}}", "policy.yaml")?;
/// let host = Host::builder()
///     .sandbox(Sandbox::new(config)?)
///     .policy(policy)
///     .state_root("/var/lib/agent") // workspaces, pending calls, events
///     .keep_out_of("the policy file", "/etc/agent/policy.yaml")
///     .build()?;
/// # let _ = host;
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct HostBuilder {
    sandbox: Option<Sandbox>,
    policy: Policy,
    credentials: Option<Arc<dyn CredentialProvider>>,
    state_root: Option<PathBuf>,
    database: Option<Database>,
    keep_out_of: Vec<(&'static str, PathBuf)>,
    keep_private: Vec<(&'static str, PathBuf)>,
    on_progress: Option<OnProgress>,
    events: EventBusConfig,
    pending_expiry: Option<Duration>,
    components: Option<Arc<dyn ComponentSource>>,
    shipped: Option<Arc<dyn ShippedBundles>>,
    ignores_lock: bool,
    workdirs: Option<Arc<dyn WorkdirProvider>>,
    oauth: Option<OAuth>,
    recorder: Option<CallRecorder>,
    kept_recordings: KeptRecordings,
    audit_log: Option<AuditLog>,
    ranker: Option<Arc<dyn ToolRanker>>,
    workers: Option<Workers>,
    is_worker: bool,
}

debug_fields!(HostBuilder, this => state_root: this.state_root);

impl HostBuilder {
    /// Uses a sandbox that other hosts may share. Default: a new one without a cache.
    #[must_use]
    pub fn sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = Some(sandbox);
        self
    }

    /// Sets the grants and limits of tools. Default: no grants, and the default limits.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets what provides the secrets of calls, in the place of the policy. Default: the policy.
    #[must_use]
    pub fn credential_provider(mut self, provider: impl CredentialProvider) -> Self {
        self.credentials = Some(Arc::new(provider));
        self
    }

    /// Sets the directory for instances' workspaces, event logs, pending calls and [past calls](crate::calls). It is created if
    /// missing, and refused if it belongs to another user or others can write it. Links in it are not
    /// followed. No workdir may contain it or lie in it. Several hosts, also in other processes, may share it.
    /// Default: none; then every instance needs a
    /// workdir of the caller's, and pending calls end with the host.
    #[must_use]
    pub fn state_root(mut self, dir: impl Into<PathBuf>) -> Self {
        self.state_root = Some(dir.into());
        self
    }

    /// Sets which database keeps pending calls, approvals and the use of budgets. Default: the policy's `state`, or else a file
    /// in the state root. Give each host its own.
    #[must_use]
    pub fn database(mut self, database: Database) -> Self {
        self.database = Some(database);
        self
    }

    /// Forbids workdirs that are or contain this path: a home directory, the policy file, a file of
    /// secrets. `what` names it in errors.
    #[must_use]
    pub fn keep_out_of(mut self, what: &'static str, path: impl Into<PathBuf>) -> Self {
        self.keep_out_of.push((what, path.into()));
        self
    }

    /// Forbids workdirs that are, contain or lie in this directory: a cache of compiled components.
    /// `what` names it in errors.
    #[must_use]
    pub fn keep_private(mut self, what: &'static str, dir: impl Into<PathBuf>) -> Self {
        self.keep_private.push((what, dir.into()));
        self
    }

    /// Calls `report` while bundles load. Default: no progress is reported.
    #[must_use]
    pub fn on_progress(mut self, report: impl Fn(&LoadProgress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(report));
        self
    }

    /// Sets how events are queued and logged. Default: [`EventBusConfig::default`].
    #[must_use]
    pub fn events(mut self, config: EventBusConfig) -> Self {
        self.events = config;
        self
    }

    /// Sets how long the handle of a pending call can be polled. Default: 24 hours.
    #[must_use]
    pub fn pending_expiry(mut self, expiry: Duration) -> Self {
        self.pending_expiry = Some(expiry);
        self
    }

    /// Sets where the bytes of components come from. Default: the bundle's directory, which is read on a
    /// thread of the sandbox.
    #[must_use]
    pub fn component_source(mut self, source: impl ComponentSource) -> Self {
        self.components = Some(Arc::new(source));
        self
    }

    /// Sets the bundles that others include by name. Default: none.
    #[must_use]
    pub fn shipped_bundles(mut self, bundles: Arc<dyn ShippedBundles>) -> Self {
        self.shipped = Some(bundles);
        self
    }

    /// Sets which directory a call sees as `/`. Default: [`InstanceWorkdir`].
    #[must_use]
    pub fn workdir_provider(mut self, provider: impl WorkdirProvider) -> Self {
        self.workdirs = Some(Arc::new(provider));
        self
    }

    /// Sets where the grants of OAuthApps are kept. Default: nowhere; then a call that needs one is
    /// `E_TOOL_AUTH_FAILED`. Grants that are stored while the host exists are events: `auth.granted`.
    #[must_use]
    pub fn oauth(mut self, oauth: OAuth) -> Self {
        self.oauth = Some(oauth);
        self
    }

    /// Records the calls of components. Default: none. What the host keeps itself is set with
    /// [`Self::kept_recordings`].
    #[must_use]
    pub fn recorder(mut self, recorder: CallRecorder) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Sets which recordings of calls the host itself keeps beneath the state root. Default:
    /// [`KeptRecordings::Summaries`].
    #[must_use]
    pub fn kept_recordings(mut self, kept: KeptRecordings) -> Self {
        self.kept_recordings = kept;
        self
    }

    /// Writes an audit log of the calls of every agent that this host loads, outside of all other middleware: as the
    /// extension `audit-log`. Default: none.
    #[must_use]
    pub fn audit_log(mut self, log: AuditLog) -> Self {
        self.audit_log = Some(log);
        self
    }

    /// Sets what ranks the tools of a step for a query. Default: [`ToolCatalog::search`](crate::ToolCatalog::search).
    #[must_use]
    pub fn tool_ranker(mut self, ranker: impl ToolRanker) -> Self {
        self.ranker = Some(Arc::new(ranker));
        self
    }

    /// Sends the calls of tools that the policy places on workers. Default: none; then a policy with such tools is an error.
    #[must_use]
    pub fn workers(mut self, workers: Workers) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Runs all calls here, wherever the policy places them: for the host of a [`Worker`](crate::fleet::Worker), which has
    /// the policy of those that send it calls.
    #[must_use]
    pub fn as_worker(mut self) -> Self {
        self.is_worker = true;
        self
    }

    /// Builds the host.
    ///
    /// # Errors
    /// [`HostError`] if the sandbox cannot start, or the state root cannot be created, belongs to another user
    /// or can be written by others; if the policy has transactions, and there is no state root; if the policy's `state`
    /// cannot be used.
    pub fn build(self) -> Result<Host, HostError> {
        let sandbox = match self.sandbox {
            Some(sandbox) => sandbox,
            None => Sandbox::new(SandboxConfig::default())?,
        };
        let mut rules = WorkdirRules::default();
        if let Some(root) = &self.state_root {
            PrivateDir::make(root).map_err(|source| HostError::StateRoot {
                path: root.clone(),
                source,
            })?;
            rules.keep_private("the state root", root);
        }
        for (what, dir) in &self.keep_private {
            rules.keep_private(what, dir);
        }
        for (what, path) in &self.keep_out_of {
            rules.keep_out_of(what, path);
        }
        if self.workers.is_none() && self.policy.places_calls() && !self.is_worker {
            return Err(HostError::NoWorkers);
        }
        if self.workers.is_some() && self.workdirs.is_some() {
            return Err(HostError::WorkersAndWorkdirs);
        }
        if self.workers.is_some() && self.credentials.is_some() {
            return Err(HostError::WorkersAndCredentials);
        }
        // A worker that sent calls to workers would never end.
        let workers = self.workers.filter(|_| !self.is_worker);
        let origin = workers.map(|workers| {
            let origin = Origin::new(workers, sandbox.threads().clone());
            origin.map(Arc::new).map_err(HostError::Random)
        });
        let origin = origin.transpose()?;
        let staging = open_staging(self.state_root.as_deref(), &self.policy)?;
        let root = self.state_root.clone();
        let database = match self.database {
            None => state_store::database_of(&self.policy, root.as_deref())?,
            database => database,
        };
        if let (Some(database), Some(root)) = (&database, &root) {
            database.mark(root)?;
        }
        let policy = Arc::new(self.policy);
        let (expiry, locale) = (self.pending_expiry.unwrap_or(EXPIRY), policy.locale());
        let redactor = policy.redactor();
        let ring = root.as_deref();
        let ring = ring.map(|root| Ring::new(root, &redactor, policy.calls()));
        let events = EventBus::with_ring(self.events, ring);
        if let Some(oauth) = &self.oauth {
            sandbox
                .threads()
                .spawn_own(events.forward_grants(oauth.granted()));
        }
        let budgets = Budgets::new(sandbox.threads().clone(), database.clone());
        let kept = (database.clone(), staging.clone());
        let pending = PendingCalls::new(sandbox.clone(), kept, expiry, locale);
        let pending = Arc::new(pending);
        pending.tell(policy.approvals());
        Ok(Host(Arc::new(HostInner {
            sandbox,
            redactor,
            provider: self.credentials,
            policy,
            protection: Arc::new(WriteProtection::new(rules)),
            pending,
            budgets: Arc::new(budgets),
            workdirs: self.workdirs.unwrap_or_else(|| Arc::new(InstanceWorkdir)),
            components: self.components,
            shipped: self.shipped.unwrap_or_else(|| Arc::new(NoShippedBundles)),
            ignores_lock: self.ignores_lock,
            oauth: self.oauth,
            recorder: self.recorder,
            kept_recordings: self.kept_recordings,
            audit_log: self.audit_log,
            ranker: self.ranker,
            origin,
            is_worker: self.is_worker,
            events,
            state_root: self.state_root,
            database,
            staging,
            on_progress: self.on_progress,
        })))
    }
}

/// Loads bundles and opens workdirs. Cheap to clone.
///
/// # Shutting down
///
/// There is nothing to call: when the last handle is dropped, what it holds is freed. To end in order, stop the
/// calls that run (the token of [`TurnStart::with_cancellation`](crate::TurnStart::with_cancellation), or wait
/// for them), close the turns, [unload](crate::LoadedBundle::unload) the bundles, and wait until the events are
/// in their files ([`EventBus::flush`]), the use of budgets in the database ([`Host::flush_budgets`]), and
/// webhooks told ([`Host::flush_webhooks`]). Calls in the
/// background whose process ends are `E_TOOL_INTERRUPTED` when they are polled by the next.
///
/// ```no_run
/// # async fn example(call: toolhost::ToolCall) -> Result<(), Box<dyn std::error::Error>> {
/// use toolhost::Host;
///
/// let host = Host::builder().build()?;
/// let bundle = host.load("goondan.yaml").await?;
/// let instance = bundle.agent("coder")?.instance("user-1", host.workdir("/srv/project")?);
///
/// let turn = instance.open_turn("turn-1").await?;
/// let step = turn.open_step().await?;
/// let tools = step.catalog().to_openai(); // the tools for the model
/// let result = step.execute_without_message(call).await; // a result, never an `Err`
/// step.close("done").await?;
/// turn.close("done").await?;
/// # let _ = (tools, result);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Host(pub(crate) Arc<HostInner>);

#[derive(Clone)]
pub(crate) struct HostInner {
    pub(crate) sandbox: Sandbox,
    pub(crate) policy: Arc<Policy>,
    /// Provides the secrets in the place of the policy.
    provider: Option<Arc<dyn CredentialProvider>>,
    /// Removes the policy's secrets, and those that calls got.
    pub(crate) redactor: Redactor,
    pub(crate) protection: Arc<WriteProtection>,
    pub(crate) pending: Arc<PendingCalls>,
    pub(crate) budgets: Arc<Budgets>,
    pub(crate) workdirs: Arc<dyn WorkdirProvider>,
    /// Where the bytes of components come from. None: from the bundle's directory.
    pub(crate) components: Option<Arc<dyn ComponentSource>>,
    /// The bundles that others include by name.
    pub(crate) shipped: Arc<dyn ShippedBundles>,
    pub(crate) ignores_lock: bool,
    /// The grants of OAuthApps.
    pub(crate) oauth: Option<OAuth>,
    /// Receives the recordings of calls.
    pub(crate) recorder: Option<CallRecorder>,
    pub(crate) kept_recordings: KeptRecordings,
    /// What the agents of each bundle begin with.
    pub(crate) audit_log: Option<AuditLog>,
    /// Ranks the tools of a step, in the place of its catalog.
    pub(crate) ranker: Option<Arc<dyn ToolRanker>>,
    /// Sends calls to workers.
    pub(crate) origin: Option<Arc<Origin>>,
    is_worker: bool,
    pub(crate) events: EventBus,
    pub(crate) state_root: Option<PathBuf>,
    pub(crate) database: Option<Database>,
    /// Where transactions keep their changes. None until a policy has transactions.
    pub(crate) staging: Option<StagingRoot>,
    on_progress: Option<OnProgress>,
}

impl HostInner {
    /// Returns what provides the secrets of calls.
    pub(crate) fn credential_provider(&self) -> &dyn CredentialProvider {
        self.provider.as_deref().unwrap_or(&*self.policy)
    }

    /// Whether calls get secrets from elsewhere than the policy.
    pub(crate) fn has_credential_provider(&self) -> bool {
        self.provider.is_some()
    }

    /// Whether its calls run on workers, or it runs those of others.
    pub(crate) fn is_of_fleet(&self) -> bool {
        self.origin.is_some() || self.is_worker
    }

    pub(crate) fn report(&self, progress: &LoadProgress) {
        if let Some(report) = &self.on_progress {
            report(progress);
        }
    }
}

debug_fields!(Host, this => state_root: this.0.state_root);

impl Host {
    /// Starts a builder.
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// Returns a host with another policy. It shares everything else with this one: the sandbox, the state
    /// root and its pending calls, the events, the credential provider, and the protection of bundles.
    ///
    /// What this host has loaded keeps its policy. [`Host::reload`] of the new host loads a bundle again
    /// under the new policy. Secrets of both policies are redacted in the results of both hosts; what both keep of calls is
    /// as the new policy says; messages about pending calls keep the language of the first policy. Without a state root, calls that are
    /// transactions under the new policy fail with `E_TOOL_WORKDIR_STAGING`. Where the rules for signatures of packages
    /// are other ones, packages do not load until the host has another component source:
    /// [`Self::with_component_source`].
    pub fn with_policy(&self, policy: Policy) -> Self {
        policy.add_secrets_to(&self.0.redactor);
        if let Some(ring) = self.0.events.ring() {
            ring.set_rule(policy.calls());
        }
        self.0.pending.tell(policy.approvals());
        let staging = self.0.staging.clone().or_else(|| {
            let root = open_staging(self.0.state_root.as_deref(), &policy);
            root.unwrap_or_else(|error| {
                tracing::error!(%error, "calls that are transactions will fail");
                None
            })
        });
        Self(Arc::new(HostInner {
            policy: Arc::new(policy),
            staging,
            ..HostInner::clone(&self.0)
        }))
    }

    /// Returns a host that loads bundles without comparing them with `toolhost.lock`: for programs that write locks,
    /// publish packages or replay recordings. It shares everything else with this one. Default: the policy's key `lock`
    /// decides.
    pub fn ignoring_lock(&self) -> Self {
        Self(Arc::new(HostInner {
            ignores_lock: true,
            ..HostInner::clone(&self.0)
        }))
    }

    /// Returns a host that reads components from another source: see [`HostBuilder::component_source`]. It shares
    /// everything else with this one.
    pub fn with_component_source(&self, source: impl ComponentSource) -> Self {
        Self(Arc::new(HostInner {
            components: Some(Arc::new(source)),
            ..HostInner::clone(&self.0)
        }))
    }

    /// Opens a directory that guests will see as `/`. The path is resolved once; guests then work
    /// beneath the directory handle.
    ///
    /// # Errors
    /// [`WorkdirError`] if it cannot be opened, or no tool may get it.
    ///
    /// Spec: tool-spec-v2 §2.5(1).
    pub fn workdir(&self, path: impl AsRef<Path>) -> Result<Workdir, WorkdirError> {
        let rules = &self.0.protection.rules;
        self.0.sandbox.open_workdir(path.as_ref(), rules)
    }

    /// Subscribes to the pending calls that end in this process from now on. They include calls that
    /// were interrupted when another process died: this looks for them now, and whenever calls are
    /// accepted. A component's own pending call ends when it is polled.
    ///
    /// # Errors
    /// [`CompletionsError`] if the store of pending calls cannot be opened.
    ///
    /// Spec: tool-spec-v2 §10.2.
    pub async fn completions(&self) -> Result<Completions, CompletionsError> {
        self.0.pending.completions().await
    }

    /// Waits until what calls have used of their budgets is in the database. What is not written when the process ends, at
    /// most the use of the calls of the last 50 ms, is lost; that they were made is not.
    pub async fn flush_budgets(&self) {
        self.0.budgets.flush().await;
    }

    /// Waits until the webhook of the policy was told once of each call that waits: for at most 5 s, as its server may be
    /// slow. What is not received by then is sent by the next process of the state root whose policy has the address.
    pub async fn flush_webhooks(&self) {
        self.0.pending.flush_webhooks().await;
    }

    /// Waits until the carrier of calls to workers knows which of them have ended, for at most 5 s: others are delivered again.
    pub async fn flush_workers(&self) {
        if let Some(origin) = &self.0.origin {
            origin.flush().await;
        }
    }

    /// The events of this host's instances: subscribe to them, or wait until they are in their files.
    pub fn events(&self) -> &EventBus {
        &self.0.events
    }

    /// The policy of this host.
    pub fn policy(&self) -> &Policy {
        &self.0.policy
    }

    /// The grants of OAuthApps, as [`HostBuilder::oauth`] got them.
    pub fn oauth(&self) -> Option<&OAuth> {
        self.0.oauth.as_ref()
    }

    /// The audit log, as [`HostBuilder::audit_log`] got it.
    pub fn audit_log(&self) -> Option<&AuditLog> {
        self.0.audit_log.as_ref()
    }

    /// Returns the database that keeps the state; none in memory.
    pub fn database(&self) -> Option<&Database> {
        self.0.database.as_ref()
    }

    /// Returns the state root, if there is one: see [`HostBuilder::state_root`].
    pub fn state_root(&self) -> Option<&Path> {
        self.0.state_root.as_deref()
    }

    /// The sandbox, for sharing with another host.
    pub fn sandbox(&self) -> &Sandbox {
        &self.0.sandbox
    }
}

fn open_staging(
    state_root: Option<&Path>,
    policy: &Policy,
) -> Result<Option<StagingRoot>, HostError> {
    match state_root {
        Some(state_root) => Ok(staging_root::open(state_root, policy)?),
        None if policy.has_transactions() => Err(HostError::NoStateRoot),
        None => Ok(None),
    }
}
