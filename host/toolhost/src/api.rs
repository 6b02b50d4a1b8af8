//! The public modules that name what other modules and crates define, by subject.

/// The calls that were made: what a host with a state root keeps of each, and their search. [`Policy`](crate::Policy) says
/// how much and how long: its key `calls`.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::path::Path;
/// use toolhost::ToolStatus;
/// use toolhost::calls::{CallLog, CallQuery};
///
/// // Also beside a host that runs, and in another process.
/// let Some(log) = CallLog::open(Path::new("/var/lib/agent"))? else {
///     return Ok(());
/// };
/// let mut query = CallQuery::default();
/// query.status = Some(ToolStatus::Error);
/// for call in log.search(query).await?.calls {
///     println!("{} {} {:?}", call.time, call.tool, call.code);
/// }
/// # Ok(())
/// # }
/// ```
pub mod calls {
    pub use crate::events::ring::{
        CallDenial, CallKind, CallLog, CallLogError, CallPage, CallQuery, CallRecord, CallRef,
        CallStats, CodeStats, TimeStats, ToolStats,
    };
    pub use toolhost_manifest::policy::CallsRule;
}

/// Which database keeps pending calls, approvals, the use of budgets, grants and events: a file in the state root, or one in
/// PostgreSQL that several machines share (the feature `postgres`).
pub mod state {
    pub use crate::state_store::database_of;
    pub use toolhost_manifest::policy::{PostgresRules, StateRules};
    pub use toolhost_store::{Database, StoreError};
    #[cfg(feature = "postgres")]
    pub use toolhost_store::{Postgres, PostgresConfig};
}

/// The secrets that calls get, and how to provide them otherwise than by the policy: see
/// [`HostBuilder::credential_provider`](crate::HostBuilder::credential_provider).
pub mod credentials {
    pub use toolhost_manifest::{
        CredentialError, CredentialProvider, CredentialProviderError, CredentialResponse,
        Credentials, SecretSource,
    };
}

/// Calls that run on other machines: a host sends them to workers over a [`Carrier`](fleet::Carrier), and gets their
/// reports. [`Policy`](crate::Policy) says which: its keys `placement` and `workers`.
///
/// Host and worker load the same bundle under the same policy, each with its own secrets. The host admits, validates and
/// counts a call, and ends it as every call: middleware, limits, redaction. The worker runs the component, and commits what
/// it changed. `toolhost-nats` has a carrier over NATS.
///
/// ```no_run
/// # async fn example(carrier: std::sync::Arc<dyn toolhost::fleet::Carrier>) -> Result<(), Box<dyn std::error::Error>> {
/// use toolhost::fleet::{Worker, WorkerConfig, Workers};
/// use toolhost::{Host, Policy};
///
/// let text = "workspace: shop
/// workers: {nats: {url: \"nats://10.0.0.5:4222\"}}
/// defaults: {placement: any}";
/// let policy = || Policy::parse(text, "policy.yaml");
///
/// // On one machine: its calls run on workers.
/// let host = Host::builder().policy(policy()?).state_root("/srv/toolhost");
/// let host = host.workers(Workers::new(carrier.clone())).build()?;
///
/// // On others, which share the state root.
/// let own = Host::builder().policy(policy()?).state_root("/srv/toolhost");
/// let bundle = own.as_worker().build()?.load("bundle").await?;
/// let worker = Worker::start(bundle, carrier, WorkerConfig::default()).await?;
/// worker.told_to_drain().await;
/// worker.drain().await;
/// # let _ = host;
/// # Ok(())
/// # }
/// ```
pub mod fleet {
    pub use crate::worker::{Worker, WorkerConfig, WorkerError};
    pub use crate::workers::carrier::{
        Carrier, CarrierError, Carrying, Claim, Claimed, Deliveries, Delivery, Destination, Route,
        WorkerLease,
    };
    pub use crate::workers::order::drain;
    pub use crate::workers::origin::Workers;
    pub use crate::workers::worker_info::WorkerInfo;
    pub use toolhost_contract::{
        WORKER_VERSION, WorkerCallId, WorkerCallIdError, WorkerMessageError,
    };
}

/// HTTP for tools: what a policy allows, how servers are reached, and a client under the same
/// rules for the host's own requests.
pub mod http {
    pub use toolhost_contract::http::{
        Host as HttpHost, Origin as HttpOrigin, Reach as HttpReach, Scheme as HttpScheme,
        non_public_block,
    };
    pub use toolhost_contract::{
        AddressBlock, HttpCredential, HttpCredentialError, HttpGrant, HttpRule, HttpRuleError,
    };
    pub use toolhost_egress::{
        Egress, HttpClient, HttpClientError, HttpConfig, HttpResolveFuture, HttpResolver,
        OriginClient, RequestError, ResponseBody,
    };
}

/// The lock of a bundle, and how the tools differ from it.
pub mod lock {
    pub use toolhost_manifest::lock::{
        AGENT, Annotations, Drift, Grade, LOCK, LOCK_BYTES_MAX, Lock, LockError, LockedServer,
        LockedTool, Review, ServerLock, Words,
    };
}

/// The resources of a bundle, the findings in them, and where the bytes of components come from: see
/// [`HostBuilder::component_source`](crate::HostBuilder::component_source).
pub mod manifest {
    pub use crate::loaded_bundle::Declares;
    pub use toolhost_contract::ToolResource;
    pub use toolhost_manifest::bundle::host_files::{folded, is_read_by_name};
    pub use toolhost_manifest::bundle::{ChangedFiles, ShippedBundles};
    pub use toolhost_manifest::component_source::{BundleDirectory, ComponentSource, EntryFuture};
    pub use toolhost_manifest::{
        Bundle, ChangesetGrant, Diagnostic, LimitInfo, Place, Severity, YamlSource,
    };
}

/// MCP servers that a bundle names and a policy grants. The crate `toolhost-mcp-client` starts them.
pub mod mcp {
    pub use crate::loaded_bundle::GrantedMcpServer;
    pub use toolhost_contract::{McpServerResource, McpServerSpec, McpSource, McpTransportSpec};
    pub use toolhost_manifest::{McpGrant, McpOAuth, McpOAuthGrant, McpReach};
}

/// Settings of the sandbox, its cache of compiled components, and what it reports of a component.
pub mod sandbox {
    pub use crate::call::failure::{prepare_error_code, prepare_error_help};
    pub use crate::load::inspect::{DescribeFault, Inspection, inspect};
    pub use toolhost_sandbox::{
        BuildFolder, CacheConfig, CacheEntry, CacheError, CacheVerdict, CodeOrigin, Compiler,
        ComponentFacts, FileIo, Grants, HandlerSpec, KernelFeatures, Limits, LogLevel,
        PrepareError, PrepareStage, PreparedCount, ResumeError, SandboxStartError,
    };
}

/// The search of a catalog: [`ToolCatalog::search`](crate::ToolCatalog::search),
/// [`catalog_tools`](crate::catalog_tools) for models, and a ranker of an embedder's own.
pub mod search {
    pub use crate::catalog::exposure::ToolExposure;
    pub use crate::catalog::search::hits::ToolHit;
    #[doc(hidden)]
    pub use crate::catalog::search::parts::SearchPart;
    pub use crate::catalog::search::ranker::ToolRanker;
}

/// What is known of a tool and of its calls: its definition, what it can reach, what it logged and what it
/// was denied.
pub mod tool {
    pub use crate::agent::tool_access::ToolAccess;
    pub use crate::call::live_log::CallLogRecord;
    pub use crate::catalog::provider::{ModelProvider, ProviderFinding};
    pub use toolhost_contract::{
        Denial, ExportName, JsonError, JsonLimits, JsonPlace, JsonSchemaObject, JsonShape,
        NameError, NoLine, SourceType, ToolCallUsage, ToolCallsUsage, ToolContext, ToolPattern,
        ToolPatternError, ToolSource,
    };
}

/// Which directory a call sees as `/`: see
/// [`HostBuilder::workdir_provider`](crate::HostBuilder::workdir_provider).
pub mod workdir {
    pub use crate::workdir_provider::{
        CallWorkdir, InstanceWorkdir, OpenWorkdir, WorkdirProvider, WorkdirProviderError,
        WorkdirRequest, WorkdirTransaction,
    };
    pub use toolhost_contract::{
        FileChange, FileChangeCounts, FileChangeKind, FileChanges, FileDigest, WorkdirChanges,
    };
    pub use toolhost_sandbox::{
        CommitError, FileReplacement, ReplaceFilesError, ReplacedFiles, Shortage, StagingError,
        StagingRoot, UndoError, UndoRecord, Undone, WorkdirAccess,
    };
}
