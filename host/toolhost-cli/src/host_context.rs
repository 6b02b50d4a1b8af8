//! Builds hosts: the sandbox and its cache, the state root, the policy, and the places that no tool may
//! be given.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, anyhow};
use tokio::task::JoinSet;
use toolhost::{
    Host, HostBuilder, HostError, LoadError, LoadedBundle, Policy, ResourceName, Sandbox,
    SandboxConfig, ToolName,
    http::HttpConfig,
    manifest::{Diagnostic, Severity, YamlSource},
    middleware::AuditLog,
    recording::CallRecorder,
    sandbox::{CacheConfig, Compiler, SandboxStartError},
};

use toolhost_package::{
    DockerConfig, PackageSource, PackageStore, Registry, RegistryConfig, Signers, SignersError,
};

use crate::args::{Components, OperationArgs};
use crate::base::Base;
use crate::failure::{Failure, Hint};
use crate::files;
use crate::fleet;
use crate::grants;
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
pub(crate) use crate::state_root::StateRoot;
use crate::terminal::progress::Progress;
use crate::terminal::text;

/// The only argument of the processes that compile components for this one.
pub(crate) const COMPILE_ARG: &str = "compile-component";

/// Maximum bytes of the file of certificates. That of a Linux distribution has some 200 KB.
const CA_FILE_MAX: u64 = 4 << 20;

/// Builds hosts that share one sandbox.
pub(crate) struct HostFactory {
    sandbox: Sandbox,
    home: Option<PathBuf>,
    policy_path: Option<PathBuf>,
    secret_files: Vec<PathBuf>,
    cache: Option<PathBuf>,
    base: Arc<Base>,
    packages: PackageSource,
    /// Displays what is compiled.
    pub(crate) progress: Progress,
}

impl HostFactory {
    pub(crate) fn start(settings: &Settings, policy: &PolicyFile) -> Result<Self, Failure> {
        let sandbox = sandbox(settings)?;
        Ok(Self {
            packages: packages(&sandbox, settings, &policy.policy)?,
            sandbox,
            home: settings.dirs.home.clone(),
            policy_path: policy.path.clone(),
            secret_files: policy.secret_files.clone(),
            cache: settings.dirs.cache.clone(),
            base: Arc::clone(&settings.base),
            progress: Progress::start(settings.verbosity),
        })
    }

    /// Returns a builder for a host under `policy`.
    pub(crate) fn builder(&self, policy: Policy) -> HostBuilder {
        let mut builder = Host::builder()
            .sandbox(self.sandbox.clone())
            .policy(policy)
            .component_source(self.packages.clone())
            .shipped_bundles(self.base.clone())
            .on_progress(self.progress.listener());
        if let Some(home) = &self.home {
            builder = builder.keep_out_of("the home directory", home);
        }
        if let Some(path) = &self.policy_path {
            builder = builder.keep_out_of("the policy file", path);
        }
        for path in &self.secret_files {
            builder = builder.keep_out_of("a file with a secret", path);
        }
        if let Some(cache) = &self.cache {
            builder = builder.keep_private("the cache of compiled components", cache);
        }
        builder
    }
}

#[derive(Debug)]
pub(crate) struct HostContext {
    pub(crate) host: Host,
    /// The policy file, for displaying lines.
    pub(crate) policy: Option<YamlSource>,
    /// Whether the host has a state root, so that another command can poll a pending call.
    pub(crate) keeps_state: bool,
    settings: Settings,
    progress: Progress,
}

impl HostContext {
    /// Builds a host with the user's state root.
    pub(crate) async fn open(
        settings: &Settings,
        policy: Option<&Path>,
        state_root: StateRoot,
    ) -> Result<Self, Failure> {
        let policy = PolicyFile::read(policy).await?;
        Self::open_with(settings, policy, state_root)
    }

    /// Builds a host with the user's state root and a policy that was read.
    pub(crate) fn open_with(
        settings: &Settings,
        policy: PolicyFile,
        state_root: StateRoot,
    ) -> Result<Self, Failure> {
        let root = settings.dirs.state_root.as_deref();
        Self::build(settings, policy, root, state_root, |builder| builder)
    }

    /// Builds a host of a server with the user's state root.
    pub(crate) fn open_served(
        settings: &Settings,
        mut policy: PolicyFile,
        state_root: StateRoot,
        operation: &OperationArgs,
    ) -> Result<Self, Failure> {
        let audit_log = operation.audit_log.as_deref().map(AuditLog::append);
        let audit_log = audit_log.transpose();
        let audit_log = audit_log.hint("Pass --audit-log a file that you can write.")?;
        policy.secret_files.extend(operation.audit_log.clone());
        let root = settings.dirs.state_root.as_deref();
        let context = Self::build(settings, policy, root, state_root, |mut builder| {
            if let Some(log) = &audit_log {
                builder = builder.audit_log(log.clone());
            }
            match operation.record {
                Some(recorded) => builder.kept_recordings(recorded.into()),
                None => builder,
            }
        })?;
        if operation.record.is_some() && !context.keeps_state {
            let error = anyhow!("there is no place for the recordings of --record");
            return Err(Failure::from(error).hint("Pass --state-root DIR, or set HOME."));
        }
        if let Some(log) = audit_log {
            settings.event_logs.add_audit(log);
        }
        Ok(context)
    }

    /// Builds the host of a worker.
    pub(crate) fn open_worker(
        settings: &Settings,
        policy: PolicyFile,
        state_root: StateRoot,
    ) -> Result<Self, Failure> {
        let root = settings.dirs.state_root.as_deref();
        Self::build(settings, policy, root, state_root, HostBuilder::as_worker)
    }

    /// Builds a host without a state root that does not compare bundles with their locks.
    pub(crate) fn open_ignoring_lock(
        settings: &Settings,
        policy: PolicyFile,
    ) -> Result<Self, Failure> {
        let factory = HostFactory::start(settings, &policy)?;
        let built = factory
            .builder(policy.policy.clone().without_placements())
            .build();
        let host = built?;
        Ok(Self {
            host: host.ignoring_lock(),
            keeps_state: false,
            policy: policy.source,
            settings: settings.clone(),
            progress: factory.progress,
        })
    }

    /// Builds a host with another state root, which it needs, and with what receives the recordings of its
    /// calls.
    pub(crate) fn open_recorded(
        settings: &Settings,
        mut policy: PolicyFile,
        root: &Path,
        recorder: Option<&CallRecorder>,
    ) -> Result<Self, Failure> {
        policy.policy = policy.policy.without_state();
        Self::build(settings, policy, Some(root), StateRoot::Needed, |builder| {
            // Its state root is its own, which no worker shares.
            let builder = builder.as_worker();
            match recorder {
                Some(recorder) => builder.recorder(recorder.clone()),
                None => builder,
            }
        })
    }

    fn build(
        settings: &Settings,
        policy: PolicyFile,
        root: Option<&Path>,
        state_root: StateRoot,
        configure: impl Fn(HostBuilder) -> HostBuilder,
    ) -> Result<Self, Failure> {
        let factory = HostFactory::start(settings, &policy)?;
        let workers = fleet::workers(&policy.policy)?;
        let oauth = grants::open_for(&factory.sandbox, &policy.policy, root, state_root)?;
        let builder = || {
            let mut builder = factory.builder(policy.policy.clone());
            if let Some(workers) = &workers {
                builder = builder.workers(workers.clone());
            }
            let builder = configure(builder);
            match &oauth {
                Some(oauth) => builder.oauth(oauth.clone()),
                None => builder,
            }
        };
        let (host, keeps_state) = host(builder, root, state_root)?;
        if keeps_state {
            settings.event_logs.add(&host);
        }
        Ok(Self {
            host,
            keeps_state,
            policy: policy.source,
            settings: settings.clone(),
            progress: factory.progress,
        })
    }

    pub(crate) async fn load(&self, bundle: &Path) -> Result<LoadedBundle, Failure> {
        let bundle = self.settings.bundle(bundle)?;
        self.loaded(self.host.load(bundle).await)
    }

    /// Loads a bundle, and prepares the component of one tool, or none.
    pub(crate) async fn load_for(
        &self,
        bundle: &Path,
        tool: Option<&ToolName>,
    ) -> Result<LoadedBundle, Failure> {
        let bundle = self.settings.bundle(bundle)?;
        let tools = tool.map(|tool| tool.resource().clone());
        self.loaded(self.host.load_tools(bundle, tools.as_slice()).await)
    }

    /// Loads a bundle for a call of the tool with this name, and prepares its component alone. If no agent has such a tool,
    /// and the bundle no such McpServer, all are prepared: the tool may be the host's own, and the others are named.
    pub(crate) async fn load_for_call(
        &self,
        bundle: &Path,
        tool: &str,
    ) -> Result<LoadedBundle, Failure> {
        let Ok(tool) = ToolName::parse(tool) else {
            return self.load(bundle).await;
        };
        // It may call the others.
        if self.host.policy().grants_tools(tool.resource()) {
            return self.load(bundle).await;
        }
        let loaded = self.load_for(bundle, Some(&tool)).await?;
        let (resources, name) = (loaded.bundle(), tool.resource());
        let mut agents = loaded.agents().iter();
        let mut servers = resources.mcp_servers().iter();
        let is_declared = agents.any(|agent| agent.catalog().get(tool.as_str()).is_some())
            || servers.any(|(server, _)| server.spec.prefix == *name);
        if is_declared {
            return Ok(loaded);
        }
        self.load(bundle).await
    }

    fn loaded(&self, loaded: Result<LoadedBundle, LoadError>) -> Result<LoadedBundle, Failure> {
        self.progress.idle();
        loaded.map_err(|error| Failure::of_bundle(error, self.policy.as_ref()))
    }

    /// Loads a bundle, and notes the warnings about the policy.
    pub(crate) async fn load_with_notes(
        &self,
        bundle: &Path,
        settings: &Settings,
    ) -> Result<LoadedBundle, Failure> {
        let bundle = self.load(bundle).await?;
        note_policy_warnings(self.policy.as_ref(), &bundle, settings);
        Ok(bundle)
    }

    /// Loads a bundle as [`Self::load_with_notes`] does, but does not wait until it is compiled. Notes the end of that
    /// in `tasks`.
    pub(crate) async fn load_to_serve(
        &self,
        bundle: &Path,
        components: Components,
        settings: &Settings,
        tasks: &mut JoinSet<()>,
    ) -> Result<LoadedBundle, Failure> {
        let started = Instant::now();
        let bundle = self.settings.bundle(bundle)?;
        let loaded = match self.host.load_to_serve(bundle).await {
            Err(error) if components == Components::BeingBuilt => {
                settings.note(&format!("no tool is served yet: {}", error.summary()));
                self.host.load_without_tools(bundle).await
            }
            loaded => loaded,
        };
        let bundle = loaded.map_err(|error| {
            self.progress.idle();
            Failure::of_bundle(error, self.policy.as_ref())
        })?;
        note_policy_warnings(self.policy.as_ref(), &bundle, settings);
        let compiling = bundle.compiling();
        if !compiling.is_empty() {
            let names: Vec<&str> = compiling.iter().map(ResourceName::as_str).collect();
            let tools = text::line(&names.join(", "));
            settings.note(&format!(
                "compiling in the background, once for this machine: {tools}; a call waits for its own tool"
            ));
            let (compiled, settings) = (bundle.clone(), settings.clone());
            tasks.spawn(async move {
                compiled.compiled().await;
                let seconds = started.elapsed().as_secs_f64();
                settings.note(&format!("compiled after {seconds:.1} s: {tools}"));
            });
        }
        Ok(bundle)
    }
}

/// Notes names in the policy that the bundle lacks: a misspelt name leaves a tool at the defaults. For
/// commands that do not display diagnostics.
pub(crate) fn note_policy_warnings(
    policy: Option<&YamlSource>,
    bundle: &LoadedBundle,
    settings: &Settings,
) {
    let policy = policy.map(YamlSource::name);
    let of_policy = |finding: &&Diagnostic| {
        finding.severity == Severity::Warning && Some(&*finding.place.file) == policy
    };
    for finding in bundle.diagnostics().iter().filter(of_policy) {
        settings.note(&format!("{finding}; {}", finding.help));
    }
}

/// Starts a sandbox, with a cache if there is a place for one.
pub(crate) fn sandbox(settings: &Settings) -> Result<Sandbox, Failure> {
    let http = http(settings)?;
    let start = |cache| {
        Sandbox::new({
            let mut config = SandboxConfig::default();
            // This program, even if its file has been replaced since it started. Other systems than Linux have no such
            // path, and no limits for a process that runs: they compile in this process.
            let compiler = || Compiler::new("/proc/self/exe", [COMPILE_ARG]);
            config.compiler = cfg!(target_os = "linux").then(compiler);
            config.cache = cache;
            config.http = http.clone();
            config
        })
    };
    let cache = cache(settings);
    if cache.is_none() {
        settings.note(
            "compiled components are not kept: set HOME, or XDG_CACHE_HOME and TOOLHOST_STATE_ROOT",
        );
    }
    let started = match start(cache) {
        Err(SandboxStartError::Cache(error)) => {
            settings.note(&format!("compiled components are not kept: {error}"));
            start(None)
        }
        started => started,
    };
    Ok(started.context("the sandbox cannot start")?)
}

/// Returns what reads packages: from the cache, or from registries, signed as the policy requires it.
pub(crate) fn packages(
    sandbox: &Sandbox,
    settings: &Settings,
    policy: &Policy,
) -> Result<PackageSource, Failure> {
    let mut config = RegistryConfig::new(sandbox.egress().clone());
    if let Some(path) = &settings.dirs.docker_config {
        config.credentials = Arc::new(DockerConfig::new(path));
    }
    let cache = settings.dirs.cache.as_ref();
    let cache = cache.map(|cache| PackageStore::new(cache.join("packages")));
    let rules = policy.packages();
    if let Some(rules) = rules {
        config.private_networks.clone_from(&rules.private_networks);
    }
    let source = PackageSource::new(Registry::new(config), cache);
    let Some(rules) = rules else {
        return Ok(source);
    };
    let signers = Signers::new(rules).map_err(signers_failed)?;
    Ok(source.require(signers))
}

/// A key or a trusted root cannot be used.
pub(crate) fn signers_failed(error: SignersError) -> Failure {
    let help = error.help();
    Failure::from(error).hint(help)
}

/// Returns which servers HTTPS requests trust.
fn http(settings: &Settings) -> Result<HttpConfig, Failure> {
    let mut http = HttpConfig::default();
    if let Some(file) = &settings.ca_file {
        let hint = "Pass --ca-file a file of certificates in PEM.";
        let pem = files::read("the certificate file", file, CA_FILE_MAX);
        let pem = pem.hint(hint)?;
        let trusted = http.trust_pem(&pem).with_context(|| {
            let file = file.display();
            format!("the certificate file {file} cannot be used")
        });
        trusted.hint(hint)?;
    }
    Ok(http)
}

/// The cache of compiled components, if there is a place for one.
pub(crate) fn cache(settings: &Settings) -> Option<CacheConfig> {
    let key_file = settings.dirs.state_root.as_ref()?.join("cache.key");
    Some(CacheConfig::new(settings.dirs.cache.clone()?, key_file))
}

/// Builds a host, and returns whether it has a state root.
fn host(
    builder: impl Fn() -> HostBuilder,
    root: Option<&Path>,
    state_root: StateRoot,
) -> Result<(Host, bool), Failure> {
    let Some(root) = root else {
        if state_root == StateRoot::Needed {
            let error = anyhow!("the directory for the instance's workspace is not known");
            let hint = "Pass --workdir DIR or --state-root DIR, or set HOME.";
            return Err(Failure::from(error).hint(hint));
        }
        return Ok((builder().build()?, false));
    };
    match builder().state_root(root).build() {
        // The command keeps nothing in the state root: only keep tools out of it.
        Err(HostError::StateRoot { .. }) if state_root == StateRoot::Optional => {
            let builder = builder().keep_private("the state root", root);
            Ok((builder.build()?, false))
        }
        Err(error @ HostError::StateRoot { .. }) => {
            let hint = "Pass --workdir DIR, or --state-root DIR with a directory you can write.";
            Err(Failure::from(error).hint(hint))
        }
        built => Ok((built?, true)),
    }
}
