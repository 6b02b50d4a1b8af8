//! `toolhost rpc`: serves programs in other languages over JSON-RPC.

use std::future::Future;
use std::sync::Arc;

use anyhow::anyhow;
use tokio::io::{stdin, stdout};
use tokio::task::JoinSet;
use toolhost::LiveBundle;
use toolhost::approvals::Approvers;
use toolhost_rpc::{ConnectionEnd, RpcConfig, RpcServer, SocketError, UnixSocket};

use super::agents::agent;
use super::watch::ServerPage;
use super::{caller, changesets, mcp_servers, token_file};
use crate::args::{Components, RpcArgs};
use crate::call_line;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::host_context::{HostContext, StateRoot};
use crate::policy_file::PolicyChoice;
use crate::settings::Settings;
use crate::stop_request::StopRequest;
use crate::terminal::Verbosity;
use crate::watch::Watch;

pub(crate) async fn rpc(
    args: &RpcArgs,
    settings: &Settings,
    stop: &StopRequest,
) -> Result<Exit, Failure> {
    // Dropping them ends the watch and the MCP servers.
    let mut tasks = JoinSet::new();
    let (config, _context) = config(args, settings, &mut tasks).await?;
    let server = RpcServer::new(config);
    let Some(path) = &args.socket else {
        let serving = server.serve(stdin(), stdout());
        return exit(drained_on(stop, &server, serving).await);
    };
    let socket = UnixSocket::bind(path).await.map_err(not_listening)?;
    settings.note(&format!("listening on {}", path.display()));
    drained_on(stop, &server, server.serve_socket(socket)).await;
    Ok(Exit::Done)
}

/// Returns the context with the configuration: it displays what is compiled.
async fn config(
    args: &RpcArgs,
    settings: &Settings,
    tasks: &mut JoinSet<()>,
) -> Result<(RpcConfig, HostContext), Failure> {
    let mut policy = PolicyChoice::new(args.policy.as_deref(), args.bundle.as_deref());
    if args.tools.runs_programs() {
        policy = policy.for_programs();
    }
    // Before the files are read, so that no change is missed.
    let watched = args.bundle.as_deref().filter(|_| args.watch);
    let watch = watched.map(|bundle| Watch::new(bundle, &policy, settings));
    let watch = watch.transpose()?;
    let mut policy = policy.read().await?;
    policy.secret_files.extend(args.operation.approvers.clone());
    let page = {
        let places = (args.policy.as_deref(), args.workdir.as_deref());
        ServerPage::open(&args.operation, places, settings).await?
    };
    let context = HostContext::open_served(settings, policy, StateRoot::Optional, &args.operation)?;
    if settings.verbosity >= Verbosity::Verbose {
        tasks.spawn(call_line::follow(context.host.events().clone()));
    }
    // Before the bundle, which may take long to load.
    let workdir = args.workdir.as_deref();
    let workdir = workdir.map(|dir| caller::workdir(&context.host, dir));
    let workdir = workdir.transpose()?;
    let bundle = match &args.bundle {
        Some(path) => Some(
            context
                .load_to_serve(path, Components::Built, settings, tasks)
                .await?,
        ),
        None => None,
    };
    let mut config = RpcConfig::new(context.host.clone());
    config.tools = args.tools.into();
    if let Some(file) = &args.operation.approvers {
        config.approvers = Approvers::new(token_file::read(file, "NAME")?);
    }
    config.instance.clone_from(&args.instance);
    config.workdir = workdir;
    if let Some(bundle) = bundle {
        args.tools.register(&bundle, Components::Built)?;
        if let Some(name) = &args.agent {
            config.agent = Some(agent(&bundle, Some(name), settings)?.name().to_owned());
        }
        let live = LiveBundle::new(bundle);
        mcp_servers::follow(&live, settings, tasks).await?;
        changesets::follow(&live, settings, tasks)?;
        if let Some(watch) = watch {
            tasks.spawn(watch.reload(live.clone(), Arc::new(settings.clone())));
        }
        config.bundle = Some(live);
    }
    if let Some(page) = page {
        page.serve(
            config.bundle.as_ref(),
            config.workdir.as_ref(),
            &context.host,
            settings,
            tasks,
        );
    }
    Ok((config, context))
}

/// Serves to the end. When the command is asked to stop, the server is drained.
async fn drained_on<T>(
    stop: &StopRequest,
    server: &RpcServer,
    serving: impl Future<Output = T>,
) -> T {
    let mut serving = std::pin::pin!(serving);
    tokio::select! {
        served = &mut serving => return served,
        () = stop.received() => server.drain(),
    }
    serving.await
}

fn exit(end: ConnectionEnd) -> Result<Exit, Failure> {
    match end {
        ConnectionEnd::Closed | ConnectionEnd::Drained => Ok(Exit::Done),
        ConnectionEnd::NotReading => Err(anyhow!(
            "the client does not read: stdout is closed, or answers wait for too long"
        )
        .into()),
        ConnectionEnd::LineTimeout | ConnectionEnd::Refused => {
            let error = Failure::from(anyhow!(
                "the client began a line on stdin and did not end it"
            ));
            Err(error.hint("Write each message and its line break at once."))
        }
    }
}

fn not_listening(error: SocketError) -> Failure {
    let hint = match &error {
        SocketError::InUse { .. } => "Name another path with --socket, or end the other server.",
        SocketError::NotOurs { .. } => "Name a path with --socket that does not exist.",
        SocketError::Locked { .. } => "Name a path in a directory of your own with --socket.",
        SocketError::Create { .. } => {
            "Name a path of at most 107 bytes in a directory that you can write with --socket."
        }
    };
    Failure::from(error).hint(hint)
}
