//! What a server serves.

use toolhost::approvals::Approvers;
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
    /// Loads bundles, and makes instances.
    pub host: Host,
    /// The bundle that is served: a turn or a call that begins after a reload gets the new load. Default: clients
    /// load bundles.
    pub bundle: Option<LiveBundle>,
    /// The agent that is served. Default: a request names the agent, or the bundle has only one.
    pub agent: Option<String>,
    /// The key of the instance that is served of each agent. Default: a request names its key, or it is `rpc`.
    pub instance: Option<String>,
    /// The workdir of every instance. Default: a request names a directory, or it is the workspace of the instance.
    pub workdir: Option<Workdir>,
    /// Default: [`RpcLimits::default`].
    pub limits: RpcLimits,
    /// Which tools clients see of an agent's. With [`ToolExposure::Search`], bundles that clients load get
    /// [`toolhost::catalog_tools`]; the operator's bundle must have them. Default: all.
    pub tools: ToolExposure,
    /// Who may decide about calls that wait, by tokens that no agent has. Default: nobody.
    pub approvers: Approvers,
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
            approvers: Approvers::default(),
        }
    }

    /// Serves one bundle; clients cannot load another. Default: clients load bundles.
    #[must_use]
    pub fn bundle(mut self, bundle: LoadedBundle) -> Self {
        self.bundle = Some(LiveBundle::new(bundle));
        self
    }
}
