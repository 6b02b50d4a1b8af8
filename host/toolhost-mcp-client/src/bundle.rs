//! Starts the servers of a bundle.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;
use toolhost::{
    Agent, LoadedBundle, Sandbox,
    lock::LockedServer,
    mcp::{GrantedMcpServer, McpReach},
};

use crate::config::{McpServerConfig, McpTransport, StdioServer};
use crate::error::McpError;
use crate::http_server::HttpServer;
use crate::oauth::McpAuthorization;
use crate::server::{McpServer, McpStatus, ServerStop};

/// The folder of the state root in which it is remembered how servers are started.
const STARTUPS: &str = "mcp-startups";

/// The servers of a bundle. Dropping it ends them and removes their tools. They also end when the bundle is
/// [unloaded](LoadedBundle::unload).
#[derive(Debug, Default)]
pub struct McpServers {
    servers: Vec<McpServer>,
    /// What each was started for.
    granted: Vec<GrantedMcpServer>,
    authorization: McpAuthorization,
    /// Stops the servers when the bundle is unloaded.
    at_unload: Option<AbortOnDropHandle<()>>,
}

impl McpServers {
    /// Starts the servers that the policy grants, all at once, and gives their tools to the agents that name
    /// them. Servers that are not granted are findings of the load, and are not started. Returns when the
    /// first attempt with each has ended.
    ///
    /// # Errors
    /// [`McpError`] as [`McpServer::start`], or where the URL of a server cannot be used.
    pub async fn start(bundle: &LoadedBundle) -> Result<Self, McpError> {
        Self::start_with(bundle, McpAuthorization::default()).await
    }

    /// Starts the servers. Those whose policy has `oauth` are authorized so; their credentials are kept among
    /// the grants of the bundle's host, if it has any and `authorization` names no others.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_with(
        bundle: &LoadedBundle,
        mut authorization: McpAuthorization,
    ) -> Result<Self, McpError> {
        if authorization.grants.is_none() {
            authorization.grants = bundle.host().oauth().cloned();
        }
        let mut servers = Self {
            authorization,
            ..Self::default()
        };
        servers.update(bundle).await?;
        Ok(servers)
    }

    /// Makes the servers those of a bundle that was [loaded again](LoadedBundle::reload): servers whose
    /// resource, grant and agents are the same go on, others are closed, and new ones are started.
    ///
    /// # Errors
    /// As [`Self::start`]. The servers that go on and those that could be started remain.
    pub async fn update(&mut self, bundle: &LoadedBundle) -> Result<(), McpError> {
        let servers = bundle.mcp_servers();
        let earlier = self.granted.drain(..).zip(self.servers.drain(..));
        let (mut running, closed): (Vec<_>, Vec<_>) =
            earlier.partition(|(granted, _)| servers.contains(granted));
        // Before another one of the same name is started.
        join_all(closed.into_iter().map(|(_, server)| server.close())).await;
        let host = bundle.host();
        let start = async |granted: &GrantedMcpServer| {
            let mut config = config(host.sandbox(), granted, &self.authorization)?;
            config.state_dir = host.state_root().map(|root| root.join(STARTUPS));
            let agents = granted.agents.iter();
            let agents = agents.filter_map(|name| bundle.agent(name).ok());
            let server = McpServer::start(config, agents.collect::<Vec<Agent>>()).await?;
            Ok((granted.clone(), server))
        };
        let is_new =
            |granted: &&GrantedMcpServer| running.iter().all(|(server, _)| server != *granted);
        let started = join_all(servers.iter().filter(is_new).map(start)).await;
        let mut failed = Ok(());
        for started in started {
            match started {
                Ok(started) => running.push(started),
                Err(error) => failed = Err(error),
            }
        }
        let position = |it: &GrantedMcpServer| servers.iter().position(|server| server == it);
        running.sort_by_key(|(granted, _)| position(granted));
        (self.granted, self.servers) = running.into_iter().unzip();
        self.stop_at_unload(bundle);
        failed
    }

    fn stop_at_unload(&mut self, bundle: &LoadedBundle) {
        self.at_unload = None;
        let Some(runtime) = Handle::try_current()
            .ok()
            .filter(|_| !self.servers.is_empty())
        else {
            return;
        };
        let servers: Vec<_> = self.servers.iter().map(McpServer::stopper).collect();
        let unloaded = bundle.unloaded();
        let stop = async move {
            unloaded.cancelled().await;
            servers.iter().for_each(ServerStop::stop);
        };
        self.at_unload = Some(AbortOnDropHandle::new(runtime.spawn(stop)));
    }

    /// The servers, in the order declared.
    pub fn servers(&self) -> &[McpServer] {
        &self.servers
    }

    /// The descriptions and schemas of the tools of the servers that are available, by server name; for a lock.
    pub fn locked(&self) -> BTreeMap<String, LockedServer> {
        let ready = self.servers.iter();
        let ready = ready.filter(|server| matches!(server.status(), McpStatus::Ready { .. }));
        let locked = |server: &McpServer| {
            let locked = LockedServer {
                words: server.words(),
                ..LockedServer::default()
            };
            (server.config().name.to_string(), locked)
        };
        ready.map(locked).collect()
    }

    /// A line for each server that is not available, and for each tool that is left out.
    pub fn warnings(&self) -> Vec<String> {
        let of_server = |server: &McpServer| {
            let name = server.config().name.clone();
            let unavailable = match server.status() {
                McpStatus::Unavailable { reason } => {
                    Some(format!("McpServer/{name} is not available: {reason}"))
                }
                McpStatus::Unauthorized { reason } => {
                    let next = format!(
                        "`toolhost mcp login {name}` authorizes this host, if the policy has `oauth` for the server"
                    );
                    Some(format!(
                        "McpServer/{name} is not available: {reason}; {next}"
                    ))
                }
                McpStatus::Starting | McpStatus::Ready { .. } => None,
            };
            let left_out = server.findings().into_iter();
            let left_out = left_out.map(move |finding| format!("McpServer/{name}: {finding}"));
            unavailable.into_iter().chain(left_out)
        };
        self.servers.iter().flat_map(of_server).collect()
    }

    /// Closes all servers at once: see [`McpServer::close`].
    pub async fn close(self) {
        join_all(self.servers.into_iter().map(McpServer::close)).await;
    }
}

fn config(
    sandbox: &Sandbox,
    granted: &GrantedMcpServer,
    authorization: &McpAuthorization,
) -> Result<McpServerConfig, McpError> {
    let name = granted.resource.metadata.name.clone();
    let transport = match &granted.grant.reach {
        McpReach::Process { command, env, dir } => {
            let mut words = command.iter().cloned();
            McpTransport::Stdio(StdioServer {
                program: words.next().unwrap_or_default(),
                args: words.collect(),
                env: env.clone(),
                dir: dir.clone(),
            })
        }
        McpReach::Endpoint { url, grant, oauth } => {
            let server = HttpServer::new(sandbox, url, grant.clone());
            let server = server.map_err(|source| McpError::Url {
                server: name.clone(),
                source,
            })?;
            McpTransport::Http(match oauth {
                Some(oauth) => server.with_oauth(oauth.clone(), authorization.clone()),
                None => server,
            })
        }
    };
    let spec = &granted.resource.spec;
    Ok(McpServerConfig {
        prefix: spec.prefix.clone(),
        tools: spec.tools.clone(),
        lock: granted.lock.clone(),
        ..McpServerConfig::new(name, transport)
    })
}
