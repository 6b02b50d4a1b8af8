//! What a server serves.

use toolhost::{Host, LiveBundle, LoadedBundle, Workdir, search::ToolExposure};

use crate::limits::RpcLimits;

/// What a server serves. What is set here, no request can change.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use toolhost::Host;
/// use toolhost_rpc::{RpcConfig, RpcServer};
///
/// let host = Host::builder().state_root("/var/lib/agent").build()?;
/// let bundle = host.load("/srv/tools").await?;
/// let server = RpcServer::new(RpcConfig::new(host).bundle(bundle));
/// let (reader, writer) = (tokio::io::stdin(), tokio::io::stdout());
/// server.serve(reader, writer).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct RpcConfig {
    pub(crate) host: Host,
    pub(crate) bundle: Option<LiveBundle>,
    pub(crate) agent: Option<String>,
    pub(crate) instance: Option<String>,
    pub(crate) workdir: Option<Workdir>,
    pub(crate) limits: RpcLimits,
    pub(crate) tools: ToolExposure,
}

impl RpcConfig {
    /// Lets clients load bundles on this host, and choose agents, instances and workdirs.
    pub fn new(host: Host) -> Self {
        Self {
            host,
            bundle: None,
            agent: None,
            instance: None,
            workdir: None,
            limits: RpcLimits::default(),
            tools: ToolExposure::default(),
        }
    }

    /// Serves one bundle; clients cannot load another. Default: clients load bundles.
    #[must_use]
    pub fn bundle(self, bundle: LoadedBundle) -> Self {
        self.live_bundle(LiveBundle::new(bundle))
    }

    /// Serves the current load of one bundle: a turn or a call that begins after a reload gets the new
    /// one. Default: as for [`bundle`](Self::bundle).
    #[must_use]
    pub fn live_bundle(mut self, bundle: LiveBundle) -> Self {
        self.bundle = Some(bundle);
        self
    }

    /// Serves one agent. Default: a request names the agent, or the bundle has only one.
    #[must_use]
    pub fn agent(mut self, name: impl Into<String>) -> Self {
        self.agent = Some(name.into());
        self
    }

    /// Serves one instance of each agent. Default: a request names its key, or it is `rpc`.
    #[must_use]
    pub fn instance(mut self, key: impl Into<String>) -> Self {
        self.instance = Some(key.into());
        self
    }

    /// Gives this workdir to every instance. Default: a request names a directory, or it is the workspace
    /// of the instance.
    #[must_use]
    pub fn workdir(mut self, workdir: Workdir) -> Self {
        self.workdir = Some(workdir);
        self
    }

    /// Sets which tools clients see of an agent's. With [`ToolExposure::Search`], bundles that clients load get
    /// [`toolhost::catalog_tools`]; the operator's bundle must have them. Default: all.
    #[must_use]
    pub fn tools(mut self, tools: ToolExposure) -> Self {
        self.tools = tools;
        self
    }

    /// Sets the limits. Default: [`RpcLimits::default`].
    #[must_use]
    pub fn limits(mut self, limits: RpcLimits) -> Self {
        self.limits = limits;
        self
    }
}
