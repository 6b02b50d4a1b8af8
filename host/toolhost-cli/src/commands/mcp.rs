//! `toolhost mcp`: authorizes this host at MCP servers, and removes the credentials.

use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;
use toolhost::{
    BoxFuture, LoadedBundle, Policy, ResourceName,
    http::HttpGrant,
    mcp::{McpOAuth, McpOAuthGrant, McpReach},
};
use toolhost_contract::suggest::did_you_mean;
use toolhost_mcp_client::{
    HttpServer, McpAuthorization, McpAuthorizationRequest, McpAuthorizer, McpLimits,
};

use super::callback::Callback;
use crate::args::{LoginArgs, McpAction, McpArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::grants;
use crate::host_context;
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::{stdout, text};

/// Path of the URL to which an authorization server sends the browser.
const PATH: &str = "/callback";

/// Prints the URL to open, and waits for the browser.
struct Browser {
    callback: Callback,
    settings: Settings,
}

impl Browser {
    async fn answer(&self, request: &McpAuthorizationRequest) -> Result<String, String> {
        self.settings.note(&format!(
            "McpServer/{} asks for authorization. Open this URL in a browser of this machine:",
            request.server
        ));
        stdout::write(&text::line(&request.url)).map_err(|error| error.to_string())?;
        let target = self.callback.receive(&request.url).await?;
        let query = target.split_once('?').map_or("", |(_, query)| query);
        Ok(format!("{}?{query}", self.callback.url()))
    }
}

impl McpAuthorizer for Browser {
    fn redirect_uri(&self) -> String {
        self.callback.url()
    }

    fn authorize(&self, request: McpAuthorizationRequest) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move { self.answer(&request).await })
    }
}

pub(crate) async fn mcp(args: &McpArgs, settings: &Settings) -> Result<Exit, Failure> {
    match &args.action {
        McpAction::Login(args) => login(args, settings).await,
        McpAction::Logout(args) => logout(&args.name, &args.policy, settings).await,
    }
}

/// Returns where the credentials for MCP servers are kept: in the user's state root, if it can be used.
/// Nobody is asked.
pub(super) fn authorization(bundle: &LoadedBundle, settings: &Settings) -> McpAuthorization {
    let (host, authorization) = (bundle.host(), McpAuthorization::new());
    if !host.policy().authorizes_at_any_mcp_server() {
        return authorization;
    }
    match grants::open(host.sandbox(), &Policy::default(), host.policy(), settings) {
        Ok(grants) => authorization.grants(grants),
        Err(_) => {
            settings
                .note("the credentials for MCP servers cannot be used: `toolhost doctor` says why");
            authorization
        }
    }
}

/// A server of the policy.
struct Server {
    name: ResourceName,
    url: String,
    grant: HttpGrant,
    oauth: Option<McpOAuth>,
    /// Names the database with the credentials.
    state: Policy,
}

impl Server {
    async fn find(name: &str, policy: &Path) -> Result<Self, Failure> {
        let file = PolicyFile::read(Some(policy)).await?;
        let unknown = || {
            let names: Vec<&str> = file.policy.mcp_server_names().collect();
            let error = anyhow!(
                "the policy {} has no MCP server '{}'",
                policy.display(),
                text::line(name)
            );
            let write = "Write `mcpServers: {NAME: {url: …, oauth: {}}}` in the policy.";
            let similar = did_you_mean(name, &names);
            Failure::from(error).hint(similar.unwrap_or_else(|| write.to_owned()))
        };
        let name = ResourceName::parse(name).map_err(|_| unknown())?;
        let granted = file.policy.mcp_grant(&name).ok_or_else(unknown)?;
        match granted.reach {
            McpReach::Endpoint { url, grant, oauth } => Ok(Self {
                name,
                url,
                grant,
                oauth,
                state: file.policy.clone(),
            }),
            McpReach::Process { .. } => {
                let error = anyhow!("the MCP server '{name}' of the policy is a process");
                Err(Failure::from(error).hint("Only servers with a URL use OAuth."))
            }
        }
    }
}

async fn login(args: &LoginArgs, settings: &Settings) -> Result<Exit, Failure> {
    let server = Server::find(&args.name, &args.policy).await?;
    let Some(oauth) = server.oauth else {
        let error = anyhow!("OAuth is off for the MCP server '{}'", server.name);
        return Err(Failure::from(error).hint("Write `oauth: {}` beside its `url` in the policy."));
    };
    if oauth.grant == McpOAuthGrant::ClientCredentials {
        let error = anyhow!("the MCP server '{}' needs no login", server.name);
        return Err(
            Failure::from(error).hint("Its `grant` is clientCredentials: the secret is enough.")
        );
    }
    let sandbox = host_context::sandbox(settings)?;
    let grants = grants::open(&sandbox, &Policy::default(), &server.state, settings)?;
    let mut limits = McpLimits::default();
    limits.authorization = Duration::from_secs(args.timeout.into());
    let callback = Browser {
        callback: Callback::listen(args.port, PATH).await?,
        settings: settings.clone(),
    };
    let authorization = McpAuthorization::new().authorizer(callback).grants(grants);
    let endpoint = HttpServer::new(&sandbox, &server.url, server.grant)?;
    let endpoint = endpoint.with_oauth(oauth, authorization);
    let result = endpoint.authorize(&server.name, &limits, &args.scope).await;
    result.map_err(|error| Failure::from(error).refused())?;
    let (name, url) = (server.name, text::line(&server.url));
    stdout::write(&format!("authorized for McpServer/{name} at {url}"))?;
    Ok(Exit::Done)
}

async fn logout(name: &str, policy: &Path, settings: &Settings) -> Result<Exit, Failure> {
    let server = Server::find(name, policy).await?;
    let sandbox = host_context::sandbox(settings)?;
    let grants = grants::open(&sandbox, &Policy::default(), &server.state, settings)?;
    let result = grants.server(&server.name, &server.url).remove().await;
    let was_there = result.map_err(|error| {
        Failure::from(anyhow::Error::new(error).context("the credentials cannot be removed"))
    })?;
    let name = server.name;
    stdout::write(&if was_there {
        format!("removed the credentials for McpServer/{name}")
    } else {
        format!("there are no credentials for McpServer/{name}")
    })?;
    Ok(Exit::Done)
}
