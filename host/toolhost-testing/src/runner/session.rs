//! What the cases of a run share: the loaded bundle, hosts, and a temporary directory.

use std::any::Any;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use tempfile::TempDir;
use toolhost::{Agent, Host, HostError, LoadedBundle, Policy};
use toolhost_manifest::bundle::LoadError;

use super::stub_server::StubServer;
use crate::planned_case::{PlannedCase, TestCase};

/// Why a case cannot be set up, or its turn cannot be opened.
pub(super) type SetupError = Box<dyn std::error::Error + Send + Sync>;

/// Builds a host with a policy.
type MakeHost = Arc<dyn Fn(Policy) -> Result<Host, HostError> + Send + Sync>;

/// What adds tools to a loaded bundle, such as those of its MCP servers. They stay until the answer is
/// dropped.
type Attach = Arc<dyn Fn(LoadedBundle) -> Attaching + Send + Sync>;

type Attaching = Pin<Box<dyn Future<Output = Result<Attached, SetupError>> + Send>>;

type Attached = Box<dyn Any + Send + Sync>;

/// Why a [`Runner`] cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A temporary directory cannot be created.
    #[error("cannot create a temporary directory")]
    Dir(#[source] io::Error),
    /// The stub server cannot start.
    #[error("cannot start the HTTP stub server on loopback")]
    Server(#[source] io::Error),
    /// The host cannot be built.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The bundle does not load.
    #[error(transparent)]
    Load(#[from] LoadError),
}

/// What one case runs with.
#[derive(Debug)]
pub(super) struct CaseEnv {
    /// The host, under the policy of the case.
    pub(super) host: Host,
    /// The agent that calls.
    pub(super) agent: Agent,
    /// The server that answers the case's HTTP requests.
    pub(super) server: Option<StubServer>,
    /// Keeps the tools that were attached to the bundle of the case.
    _attached: Option<Attached>,
}

/// Runs the cases of one bundle, each in a fresh workdir and for an agent instance of its own. The
/// temporary directory of the runs is removed when the last clone is dropped.
#[derive(Clone)]
pub struct Runner {
    /// The bundle, loaded under the policy of the run.
    pub(super) bundle: LoadedBundle,
    /// The bundle's path, as the user named it.
    pub(super) path: PathBuf,
    host: Host,
    policy: Option<Policy>,
    make_host: MakeHost,
    attach: Option<Attach>,
    /// Keeps the tools that were attached to the bundle.
    _attached: Option<Arc<Attached>>,
    dir: Arc<TempDir>,
    /// Refuses the requests of cases without a server of their own.
    _server: Arc<StubServer>,
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Runner");
        fields.field("path", &self.path).field("dir", &self.dir);
        fields.finish_non_exhaustive()
    }
}

impl Runner {
    /// Loads the bundle at `bundle` under `policy`, the policy of the run.
    ///
    /// `make_host` builds a host with the given policy. It is called once for the run, and once for each
    /// case that has a policy of its own or may send HTTP requests; the hosts should share one sandbox.
    ///
    /// # Errors
    /// [`OpenError`] if the bundle does not load, or a directory for the cases cannot be created.
    pub async fn open(
        bundle: &Path,
        policy: Option<Policy>,
        make_host: impl Fn(Policy) -> Result<Host, HostError> + Send + Sync + 'static,
    ) -> Result<Self, OpenError> {
        let dir = tempfile::Builder::new().prefix("toolhost-test-").tempdir();
        let dir = dir.map_err(OpenError::Dir)?;
        let server = StubServer::start(Vec::new()).await;
        let server = server.map_err(OpenError::Server)?;
        let run_policy = policy.clone().unwrap_or_default();
        let host = make_host(run_policy.answered_by(server.address()))?;
        Ok(Self {
            bundle: host.load(bundle).await?,
            path: bundle.to_owned(),
            host,
            policy,
            make_host: Arc::new(make_host),
            attach: None,
            _attached: None,
            dir: Arc::new(dir),
            _server: Arc::new(server),
        })
    }

    /// Adds tools that are not the bundle's own, such as those of its MCP servers, with `attach`. It is
    /// called for the bundle of the run, and for that of each case that has a host of its own; the tools
    /// stay until its answer is dropped. No cases are generated for tools of MCP servers.
    ///
    /// # Errors
    /// The error of `attach`.
    pub async fn attach<T: Send + Sync + 'static, F>(
        mut self,
        attach: impl Fn(LoadedBundle) -> F + Send + Sync + 'static,
    ) -> Result<Self, Box<dyn std::error::Error + Send + Sync>>
    where
        F: Future<Output = Result<T, Box<dyn std::error::Error + Send + Sync>>> + Send + 'static,
    {
        let attach: Attach = Arc::new(move |bundle| {
            let attaching = attach(bundle);
            Box::pin(async move {
                let attached: Attached = Box::new(attaching.await?);
                Ok(attached)
            })
        });
        self._attached = Some(Arc::new(attach(self.bundle.clone()).await?));
        self.attach = Some(attach);
        Ok(self)
    }

    /// The bundle, loaded under the policy of the run.
    pub fn bundle(&self) -> &LoadedBundle {
        &self.bundle
    }

    /// The directory that cases run in.
    pub(super) fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Sets up the environment of a case. A case whose policy may allow HTTP requests has a host and a stub
    /// server of its own.
    pub(super) async fn case_env(&self, planned: &PlannedCase) -> Result<CaseEnv, SetupError> {
        let shared = CaseEnv {
            host: self.host.clone(),
            agent: planned.agent.clone(),
            server: None,
            _attached: None,
        };
        let TestCase::Written { case, .. } = &planned.case else {
            return Ok(shared);
        };
        // The policy of a case may lower limits of the operator's policy, but raise none.
        let policy = match (&case.policy, self.policy.clone()) {
            (Some(case_policy), operators) => {
                case_policy.clone().within(&operators.unwrap_or_default())
            }
            (None, Some(operators)) => operators,
            (None, None) => return Ok(shared),
        };
        let server = StubServer::start(case.http.clone()).await;
        let server = server.map_err(OpenError::Server)?;
        let host = (self.make_host)(policy.answered_by(server.address()))?;
        // The lock was compared when the run began, under the policy of the run.
        let host = host.ignoring_lock();
        let bundle = host.load(&self.path).await?;
        let attached = match &self.attach {
            Some(attach) => Some(attach(bundle.clone()).await?),
            None => None,
        };
        Ok(CaseEnv {
            host,
            agent: bundle.agent(planned.agent.name())?,
            server: Some(server),
            _attached: attached,
        })
    }
}
