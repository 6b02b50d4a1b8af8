//! `toolhost serve`: serves an agent's tools over MCP.

mod client_config;
mod endpoint;
mod http;
mod oauth;
mod tokens;

use std::sync::Arc;

use anyhow::anyhow;
use tokio::io::{stdin, stdout};
use tokio::task::JoinSet;
use toolhost::{LiveBundle, LoadedBundle, Workdir};
use toolhost_mcp::{McpConfig, McpServer, ServedAgent};

use super::agents::agent;
use super::watch::ServerPage;
use super::{caller, changesets, grant_callbacks, mcp_servers, token_file};
use crate::args::{Components, ServeArgs};
use crate::call_line;
use crate::exit::Exit;
use crate::failure::{Failure, Hint};
use crate::host_context::{HostContext, StateRoot};
use crate::policy_file::PolicyChoice;
use crate::settings::Settings;
use crate::stop_request::StopRequest;
use crate::terminal::Verbosity;
use crate::watch::Watch;

pub(crate) async fn serve(
    args: &ServeArgs,
    components: Components,
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
    let mut policy = PolicyChoice::new(args.policy.as_deref(), Some(&args.bundle))
        .or_transactional(args.workdir.as_deref(), settings);
    policy.allow_http.clone_from(&args.allow_http);
    if args.tools.runs_programs() {
        policy = policy.for_programs();
    }
    let watch = args
        .watch
        .then(|| Watch::new(&args.bundle, &policy, settings))
        .transpose()?;
    let mut policy = policy.read().await?;
    policy.secret_files.extend(args.tokens.clone());
    policy.secret_files.extend(args.operation.approvers.clone());
    let page = {
        let places = (args.policy.as_deref(), args.workdir.as_deref());
        ServerPage::open(&args.operation, places, settings).await?
    };
    if let (None, Some(_)) = (&page, &args.operation.approvers) {
        let error = anyhow!("--approvers names who may open the page, and there is none");
        return Err(Failure::from(error).hint("Pass --watch-page, too."));
    }
    if let (Some(tokens), Some(approvers)) = (&args.tokens, &args.operation.approvers) {
        token_file::check_apart(tokens, approvers)?;
    }
    let context = HostContext::open_served(settings, policy, state_root, &args.operation)?;
    // Before the bundle, which may take long to load.
    let workdir = args.workdir.as_deref();
    let workdir = workdir.map(|dir| caller::workdir(&context.host, dir));
    let workdir = workdir.transpose()?;
    // Before the bundle, too: clients and probes learn that the server starts.
    let tokens = tokens::Watch::of(args);
    let mut starting = match args.http {
        Some(address) => Some(http::listen(args, address).await?),
        None => None,
    };
    // Dropping them ends the watch and the MCP servers.
    let mut tasks = JoinSet::new();
    if settings.verbosity >= Verbosity::Verbose {
        tasks.spawn(call_line::follow(context.host.events().clone()));
    }
    let beside = Beside {
        workdir,
        watch,
        page,
    };
    let progress = http::progress(context.host.sandbox());
    let loading = async {
        let bundle = context.load_to_serve(&args.bundle, components, settings, &mut tasks);
        let bundle = bundle.await?;
        start(bundle, components, args, settings, beside, &mut tasks).await
    };
    let loading = async {
        match &mut starting {
            Some(starting) => starting.answer_during(loading, progress).await,
            None => loading.await,
        }
    };
    let server = tokio::select! {
        loaded = loading => loaded?,
        // No call runs yet.
        () = stop.received() => return Ok(Exit::Done),
    };
    match starting {
        Some(starting) => {
            http::serve(starting, &server, tokens, &context.host, settings, stop).await?;
        }
        None => over_stdio(args, &server, stop).await?,
    }
    Ok(Exit::Done)
}

/// What a server has beside its bundle.
struct Beside {
    workdir: Option<Workdir>,
    watch: Option<Watch>,
    page: Option<ServerPage>,
}

/// Starts what follows the changes of a bundle in `tasks`.
async fn start(
    bundle: LoadedBundle,
    components: Components,
    args: &ServeArgs,
    settings: &Settings,
    beside: Beside,
    tasks: &mut JoinSet<()>,
) -> Result<McpServer, Failure> {
    let agent = agent(&bundle, args.agent.as_deref(), settings)?;
    args.tools.register(&bundle, components)?;
    let live = LiveBundle::new(bundle);
    mcp_servers::follow(&live, settings, tasks).await?;
    changesets::follow(&live, settings, tasks)?;
    grant_callbacks::serve(&live, settings, tasks).await;
    let served_page = beside.page.as_ref().map(|page| page.address.clone());
    if let Some(page) = beside.page {
        page.serve(
            Some(&live),
            beside.workdir.as_ref(),
            &live.current().host(),
            settings,
            tasks,
        );
    }
    let mut served = ServedAgent::new(live.clone()).agent(agent.name());
    if let Some(workdir) = beside.workdir {
        served = served.only_workdir(args.instance.as_str(), workdir);
    }
    let mut config = McpConfig::default();
    config.serve_workdir = args.serve_workdir;
    config.tools = args.tools.into();
    config.subject.clone_from(&args.subject);
    let page = live.current().host().policy().approvals().page.clone();
    config.approvals_url = page.or(served_page);
    let server = McpServer::new(served, config);
    if let Some(watch) = beside.watch {
        tasks.spawn(watch.reload(live, Arc::new(settings.clone())));
    }
    Ok(server)
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
    served.hint(hint)
}
