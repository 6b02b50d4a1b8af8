//! The server over HTTP: it listens before the bundle is loaded.

use std::net::SocketAddr;

use anyhow::Context;
use toolhost::{Host, Sandbox};
use toolhost_mcp::{BearerToken, HttpConfig, HttpError, HttpServer, McpServer, StartingServer};

use super::{oauth, tokens};
use crate::args::ServeArgs;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::stop_request::StopRequest;
use crate::terminal::{stderr, text};

/// Listens, and answers that the server starts once it is awaited with what loads the bundle.
pub(super) async fn listen(
    args: &ServeArgs,
    address: SocketAddr,
) -> Result<StartingServer, Failure> {
    let config = config(args, address)?;
    let listening = StartingServer::listen(address, config).await;
    listening.map_err(failure)
}

/// Returns what a server that starts is doing.
pub(super) fn progress(sandbox: &Sandbox) -> impl Fn() -> String + Send + Sync + 'static {
    let sandbox = sandbox.clone();
    move || {
        let prepared = sandbox.prepared_count();
        let ready = prepared.compiled + prepared.cached + prepared.reused;
        let components = text::counted(ready, "component");
        format!("{components} of the bundle can be called")
    }
}

/// Serves until the command is to stop.
pub(super) async fn serve(
    starting: StartingServer,
    server: &McpServer,
    tokens: Option<tokens::Watch>,
    host: &Host,
    settings: &Settings,
    stop: &StopRequest,
) -> Result<(), Failure> {
    let http = HttpServer::start(starting, server).map_err(failure)?;
    settings.note(&format!("listening on http://{}/mcp", http.address()));
    let valid = http.tokens();
    let serving = async {
        match tokens {
            Some(watch) => tokio::select! {
                () = http.run() => (),
                () = watch.follow(&valid, host, settings) => (),
            },
            None => http.run().await,
        }
    };
    let mut serving = std::pin::pin!(serving);
    tokio::select! {
        () = &mut serving => return Ok(()),
        () = stop.received() => server.drain(),
    }
    serving.await;
    Ok(())
}

fn config(args: &ServeArgs, address: SocketAddr) -> Result<HttpConfig, Failure> {
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
        let only = args.workdir.as_ref().map(|_| &*args.instance);
        config.tokens = tokens::read(path, only)?;
    } else if config.oauth.is_none() && !address.ip().is_loopback() {
        let token = BearerToken::generate().context("a token cannot be generated")?;
        // Also with --quiet: nobody could use the server.
        stderr::write(&format!("the token of clients is {}", token.as_str()));
        config.tokens.push(token);
    }
    Ok(config)
}

fn failure(error: HttpError) -> Failure {
    match error {
        HttpError::Bind { .. } => Failure::from(error).hint("Name another address with --http."),
        HttpError::OAuth(_) => Failure::from(error)
            .hint("Correct --oauth-issuer, --oauth-resource, --oauth-keys or --oauth-scope."),
        HttpError::Unprotected { .. } => {
            Failure::from(error).hint("Pass --tokens FILE, or name a loopback address with --http.")
        }
    }
}
