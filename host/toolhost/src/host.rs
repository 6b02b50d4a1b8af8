//! The house: a sandbox, a policy and a place for state, from which bundles are loaded.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use tokio::sync::{OnceCell, oneshot};
use toolhost_contract::{Locale, ResourceName, ToolError, ToolErrorCode};
use toolhost_sandbox::{
    CodeOrigin, Protected, Sandbox, SandboxConfig, SandboxStartError, Workdir, WorkdirError,
    WorkdirRules, WriteProtected,
};

use crate::events::{EventBus, EventBusConfig};
use crate::load;
use crate::loaded::LoadedBundle;
use crate::middleware::Redactor;
use crate::pending::{self, Completions, Pending};
use toolhost_manifest::bundle::{LoadError, WriteGuard};
use toolhost_manifest::policy::Policy;
use toolhost_store::{Store, StoreError, make_private};

/// Why a host cannot be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The sandbox cannot start.
    #[error("the sandbox cannot start")]
    Sandbox(#[from] SandboxStartError),
    /// The state root cannot be made.
    #[error("the state root {} cannot be made", .path.display())]
    StateRoot {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
}

/// What a host says while a bundle loads.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadProgress {
    /// A component is being prepared; seconds where it must be compiled.
    Preparing {
        /// Its Tool.
        tool: ResourceName,
        /// Its size in bytes.
        bytes: u64,
    },
    /// It is ready.
    Prepared {
        /// Its Tool.
        tool: ResourceName,
        /// Whether it was compiled or cached.
        origin: CodeOrigin,
        /// How long it took.
        took: Duration,
    },
}

type OnProgress = Arc<dyn Fn(&LoadProgress) + Send + Sync>;

/// Sets up a [`Host`]. Reads no environment: what is not said is not assumed.
#[derive(Default)]
pub struct HostBuilder {
    sandbox: Option<Sandbox>,
    policy: Policy,
    state_root: Option<PathBuf>,
    keep_out_of: Vec<(&'static str, PathBuf)>,
    keep_private: Vec<(&'static str, PathBuf)>,
    on_progress: Option<OnProgress>,
    events: EventBusConfig,
    pending_expiry: Option<Duration>,
}

impl fmt::Debug for HostBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostBuilder")
            .field("state_root", &self.state_root)
            .finish_non_exhaustive()
    }
}

impl HostBuilder {
    /// Uses a sandbox that other hosts may share. Default: one of its own, without a cache.
    #[must_use]
    pub fn sandbox(mut self, sandbox: Sandbox) -> Self {
        self.sandbox = Some(sandbox);
        self
    }

    /// Sets what tools are granted. Default: nothing, and the default limits.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets where instances' workspaces are kept; made where it is missing. Default: nowhere, and
    /// each call must bring a workdir. No workdir may contain it or lie within it.
    #[must_use]
    pub fn state_root(mut self, dir: impl Into<PathBuf>) -> Self {
        self.state_root = Some(dir.into());
        self
    }

    /// No workdir may be or contain this: a home directory, the policy file, a file of secrets.
    #[must_use]
    pub fn keep_out_of(mut self, what: &'static str, place: impl Into<PathBuf>) -> Self {
        self.keep_out_of.push((what, place.into()));
        self
    }

    /// No workdir may be, contain or lie within this directory: a cache of compiled components.
    #[must_use]
    pub fn keep_private(mut self, what: &'static str, dir: impl Into<PathBuf>) -> Self {
        self.keep_private.push((what, dir.into()));
        self
    }

    /// Calls `say` while bundles load.
    #[must_use]
    pub fn on_progress(mut self, say: impl Fn(&LoadProgress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Arc::new(say));
        self
    }

    /// Sets how events are kept and given out. Default: [`EventBusConfig::default`].
    #[must_use]
    pub fn events(mut self, config: EventBusConfig) -> Self {
        self.events = config;
        self
    }

    /// Sets how long the handle of a pending call can be asked for. Default: 24 hours.
    #[must_use]
    pub fn pending_expiry(mut self, expiry: Duration) -> Self {
        self.pending_expiry = Some(expiry);
        self
    }

    /// Builds the host.
    ///
    /// # Errors
    /// [`HostError`] where the sandbox cannot start or the state root cannot be made.
    pub fn build(self) -> Result<Host, HostError> {
        let sandbox = match self.sandbox {
            Some(sandbox) => sandbox,
            None => Sandbox::new(SandboxConfig::default())?,
        };
        let mut rules = WorkdirRules::default();
        if let Some(root) = &self.state_root {
            make_private(root).map_err(|source| HostError::StateRoot {
                path: root.clone(),
                source,
            })?;
            rules.keep_private("the state root", root);
        }
        for (what, place) in &self.keep_private {
            rules.keep_private(what, place);
        }
        for (what, place) in &self.keep_out_of {
            rules.keep_out_of(what, place);
        }
        Ok(Host(Arc::new(HostInner {
            sandbox,
            redactor: self.policy.redactor(),
            policy: self.policy,
            state_root: self.state_root,
            rules,
            on_progress: self.on_progress,
            events: EventBus::new(self.events),
            pending: OnceCell::new(),
            pending_expiry: self.pending_expiry.unwrap_or(pending::EXPIRY),
            guarded: Mutex::default(),
        })))
    }
}

/// Loads bundles and opens workdirs. Cheap to clone; send it anywhere, share it between threads.
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
/// let tools = step.catalog().to_openai(); // what the model is shown
/// let result = step.execute_without_message(call).await; // never an error
/// step.close("done").await?;
/// turn.close("done").await?;
/// # let _ = (tools, result);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Host(pub(crate) Arc<HostInner>);

pub(crate) struct HostInner {
    pub(crate) sandbox: Sandbox,
    pub(crate) policy: Policy,
    /// Of the policy's secrets.
    pub(crate) redactor: Redactor,
    pub(crate) state_root: Option<PathBuf>,
    rules: WorkdirRules,
    on_progress: Option<OnProgress>,
    pub(crate) events: EventBus,
    pending: OnceCell<Arc<Pending>>,
    pending_expiry: Duration,
    /// The files of every bundle that is loaded.
    guarded: Mutex<Vec<Weak<WriteGuard>>>,
}

impl HostInner {
    /// Keeps a bundle's files from guests for as long as it is held.
    pub(crate) fn guard(&self, guarded: WriteGuard) -> Arc<WriteGuard> {
        let guarded = Arc::new(guarded);
        let mut all = self.guarded.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| known.strong_count() > 0);
        all.push(Arc::downgrade(&guarded));
        guarded
    }

    /// What no guest may change: everything where that cannot be known.
    pub(crate) fn protected(&self) -> WriteProtected {
        let all = self.guarded.lock().unwrap_or_else(PoisonError::into_inner);
        let live: Vec<_> = all.iter().filter_map(Weak::upgrade).collect();
        drop(all);
        let mut own = Protected::default();
        self.rules.protected().for_each(|id| own.add(id));
        let own = Arc::new(own);
        WriteProtected::refreshed_by(move || {
            let mut all = vec![Arc::clone(&own)];
            for guarded in &live {
                match guarded.now() {
                    Ok(found) => all.push(found),
                    Err(error) => {
                        tracing::error!(%error, "the files of a bundle cannot be looked at: workdirs are read-only");
                        return None;
                    }
                }
            }
            Some(all)
        })
    }

    /// The pending calls: in the state root, where there is one, else for as long as the host lives.
    /// Opened when they are first needed, on a thread that may wait for another process.
    pub(crate) async fn pending(&self, locale: Locale) -> Result<&Arc<Pending>, ToolError> {
        let opened = self.pending.get_or_try_init(async || {
            let store = self.open_store().await?;
            let new = Pending::new(store, locale, self.pending_expiry);
            Ok(Arc::new(new))
        });
        opened.await.map_err(|error: Option<StoreError>| {
            tracing::error!(?error, "the store of pending calls cannot be opened");
            let message = "The host cannot keep pending calls now.";
            ToolError::host(ToolErrorCode::Host, message, locale)
        })
    }

    /// Opens the store; an error without a reason is that of a thread that is gone.
    async fn open_store(&self) -> Result<Store, Option<StoreError>> {
        let root = self.state_root.clone();
        let (tell, told) = oneshot::channel();
        self.sandbox.spawn_own(async move {
            let open = move || match root {
                Some(root) => Store::open(&root, &pending::SCHEMA),
                None => Store::in_memory(&pending::SCHEMA),
            };
            // Whoever asked may have gone.
            let _heard = tell.send(tokio::task::spawn_blocking(open).await).is_ok();
        });
        match told.await {
            Ok(Ok(opened)) => opened.map_err(Some),
            Ok(Err(_)) | Err(_) => Err(None),
        }
    }

    pub(crate) fn say(&self, progress: &LoadProgress) {
        if let Some(say) = &self.on_progress {
            say(progress);
        }
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("state_root", &self.0.state_root)
            .finish_non_exhaustive()
    }
}

impl Host {
    /// Starts a builder.
    #[must_use]
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// Loads a bundle, whole or not at all: a YAML file, or a directory that holds `goondan.yaml`.
    ///
    /// Every component is compiled, or mapped from the sandbox's cache, and asked what it serves.
    ///
    /// # Errors
    /// [`LoadError`] carries every finding at once.
    pub async fn load(&self, path: impl AsRef<Path>) -> Result<LoadedBundle, LoadError> {
        load::load(&self.0, path.as_ref()).await
    }

    /// Opens a directory to be a guest's `/`. The path is followed once; from then on only the
    /// handle counts.
    ///
    /// # Errors
    /// [`WorkdirError`] where it cannot be opened, or is one that no tool may be given.
    ///
    /// Spec: tool-spec-v2 §2.5(1).
    pub fn workdir(&self, path: impl AsRef<Path>) -> Result<Workdir, WorkdirError> {
        self.0.sandbox.open_workdir(path.as_ref(), &self.0.rules)
    }

    /// Listens to the pending calls that end in this process from now on, those among them that were
    /// interrupted when another process died: it is looked for them now, and as calls are accepted.
    /// A component's own pending calls end when somebody polls.
    ///
    /// # Errors
    /// `E_HOST` where the store of pending calls cannot be opened.
    ///
    /// Spec: tool-spec-v2 §10.2.
    pub async fn completions(&self) -> Result<Completions, ToolError> {
        let pending = self.0.pending(self.0.policy.locale()).await?;
        let completions = pending.completions();
        let tidied = Arc::clone(pending);
        self.0
            .sandbox
            .spawn(async move { tidied.tidy(SystemTime::now()).await });
        Ok(completions)
    }

    /// What happens at run time: subscribe to it, or wait until it is in its files.
    #[must_use]
    pub fn events(&self) -> &EventBus {
        &self.0.events
    }

    /// The sandbox, to be shared with another host.
    #[must_use]
    pub fn sandbox(&self) -> &Sandbox {
        &self.0.sandbox
    }
}
