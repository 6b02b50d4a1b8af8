//! `toolhost serve`: serves an agent's tools over MCP.

mod client_config;
mod endpoint;
mod oauth;
mod tokens;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use tokio::io::{stdin, stdout};
use tokio::task::JoinSet;
use toolhost::LiveBundle;
use toolhost_mcp::{
    BearerToken, HttpConfig, HttpError, HttpServer, McpConfig, McpServer, ServedAgent,
};

use super::{agent, caller, changesets, grant_callbacks, mcp_servers};
use crate::args::ServeArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::host_context::{HostContext, StateRoot};
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::stop_request::StopRequest;
use crate::terminal::stderr;
use crate::watch::Watch;

pub(crate) async fn serve(
    args: &ServeArgs,
    settings: &Settings,
    stop: &StopRequest,
) -> Result<Exit, Failure> {
    if let Some(client) = args.print_config {
        client_config::print(args, client, settings)?;
        return Ok(Exit::Done);
    }
    let state_root = match args.workdir {
        Some(_) => StateRoot::Optional,
        None => StateRoot::Needed,
    };
    // Before the bundle and the policy are read, so that no change is missed.
    let watch = args
        .watch
        .then(|| Watch::new(&args.bundle, args.policy.as_deref()));
    let mut policy = PolicyFile::read(args.policy.as_deref()).await?;
    policy.secret_files.extend(args.tokens.clone());
    let context = HostContext::open_with(settings, policy, state_root)?;
    // Before the bundle, which may take long to load.
    let workdir = args.workdir.as_deref();
    let workdir = workdir.map(|dir| caller::workdir(&context.host, dir));
    let workdir = workdir.transpose()?;
    let bundle = context.load_with_notes(&args.bundle, settings).await?;
    let agent = agent(&bundle, args.agent.as_deref(), settings)?;
    let live = LiveBundle::new(bundle);
    // Dropping them ends the watch and the MCP servers.
    let mut tasks = JoinSet::new();
    mcp_servers::follow(&live, settings, &mut tasks).await?;
    changesets::follow(&live, settings, &mut tasks)?;
    grant_callbacks::serve(&live, settings, &mut tasks).await;
    let mut served = ServedAgent::new(live.clone()).agent(agent.name());
    if let Some(workdir) = workdir {
        served = served.only_workdir(args.instance.as_str(), workdir);
    }
    let mut config = McpConfig::default();
    config.serve_workdir = args.serve_workdir;
    config.subject.clone_from(&args.subject);
    let server = McpServer::new(served, config);
    if let Some(watch) = watch {
        tasks.spawn(watch.reload(live, Arc::new(settings.clone())));
    }
    match args.http {
        Some(address) => over_http(args, address, &server, settings, stop).await?,
        None => over_stdio(args, &server, stop).await?,
    }
    Ok(Exit::Done)
}

async fn over_stdio(
    args: &ServeArgs,
    server: &McpServer,
    stop: &StopRequest,
) -> Result<(), Failure> {
    let serving = server.serve(stdin(), stdout(), args.instance.as_str());
    let mut serving = std::pin::pin!(serving);
    let served = tokio::select! {
        served = &mut serving => served,
        () = stop.received() => {
            server.drain();
            serving.await
        }
    };
    let hint = "The client must speak MCP, one JSON-RPC message per line.";
    served.map_err(|error| Failure::of(error).hint(hint))
}

async fn over_http(
    args: &ServeArgs,
    address: SocketAddr,
    server: &McpServer,
    settings: &Settings,
    stop: &StopRequest,
) -> Result<(), Failure> {
    let mut config = HttpConfig::default();
    config.default_instance.clone_from(&args.instance);
    config.serve_paths = args.workdir.is_none();
    config.allowed_hosts.extend(args.allow_host.iter().cloned());
    config.allowed_origins.clone_from(&args.allow_origin);
    config.oauth = oauth::config(args)?;
    if let Some((origin, host)) = config.oauth.as_ref().and_then(oauth::origin_and_host) {
        config.allowed_origins.push(origin);
        config.allowed_hosts.push(host);
    }
    if let Some(path) = &args.tokens {
        config.tokens = tokens::read(path)?;
        if args.workdir.is_some() {
            tokens::check_only_instance(&config.tokens, &args.instance, path)?;
        }
    } else if config.oauth.is_none() && !address.ip().is_loopback() {
        let token = BearerToken::generate().context("a token cannot be generated")?;
        // Also with --quiet: nobody could use the server.
        stderr::write(&format!("the token of clients is {}", token.as_str()));
        config.tokens.push(token);
    }
    let http = HttpServer::bind(server, address, config).await;
    let http = http.map_err(|error| match error {
        HttpError::Bind { .. } => Failure::of(error).hint("Name another address with --http."),
        HttpError::OAuth(_) => Failure::of(error)
            .hint("Correct --oauth-issuer, --oauth-resource, --oauth-keys or --oauth-scope."),
        // The library's enum may grow.
        HttpError::Unprotected { .. } | _ => {
            Failure::of(error).hint("Pass --tokens FILE, or name a loopback address with --http.")
        }
    })?;
    settings.note(&format!("listening on http://{}/mcp", http.address()));
    let serving = http.run();
    let mut serving = std::pin::pin!(serving);
    tokio::select! {
        () = &mut serving => return Ok(()),
        () = stop.received() => server.drain(),
    }
    serving.await;
    Ok(())
}
