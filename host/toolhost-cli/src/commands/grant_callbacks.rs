//! Serves the redirect URLs of OAuthApps at 127.0.0.1 beside a server of tools, so that the links that its
//! clients get can be completed.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use toolhost::{LiveBundle, LoadedBundle};

use super::callback::{CONNECTIONS_MAX, REQUEST_TIME, path_and_query, read_head, write_page};
use crate::settings::Settings;
use crate::terminal::text;

/// The beginning of a redirect URL at this machine.
const LOOPBACK: &str = "http://127.0.0.1:";

/// Listens on the ports of the redirect URLs, until the tasks are dropped. A port that another program has is
/// noted.
pub(super) async fn serve(live: &LiveBundle, settings: &Settings, tasks: &mut JoinSet<()>) {
    let bundle = live.current();
    if bundle.host().oauth().is_none() {
        return;
    }
    let redirects = bundle
        .oauth_apps()
        .filter_map(|app| app.redirect.as_deref());
    let ports: BTreeSet<u16> = redirects.filter_map(|url| Some(split(url)?.0)).collect();
    for port in ports {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Ok(listener) => {
                tasks.spawn(accept(listener, port, live.clone()));
            }
            Err(error) => settings.note(&format!(
                "users cannot grant access to OAuthApps here, but with `toolhost auth login`: cannot listen on 127.0.0.1:{port}: {error}"
            )),
        }
    }
}

/// Returns the port and the path of a redirect URL at this machine.
fn split(url: &str) -> Option<(u16, &str)> {
    let rest = url.strip_prefix(LOOPBACK)?;
    let (port, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    Some((port.parse().ok()?, path))
}

async fn accept(listener: TcpListener, port: u16, live: LiveBundle) {
    let mut answers: JoinSet<()> = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = answers.join_next() => {}
            accepted = listener.accept(), if answers.len() < CONNECTIONS_MAX => {
                let Ok((stream, _)) = accepted else { return };
                let bundle = live.current();
                answers.spawn(async move { answer(stream, port, &bundle).await });
            }
        }
    }
}

async fn answer(mut stream: TcpStream, port: u16, bundle: &LoadedBundle) {
    let Ok(Some(head)) = timeout(REQUEST_TIME, read_head(&mut stream)).await else {
        return;
    };
    let target = path_and_query(&head);
    let mut redirects = bundle
        .oauth_apps()
        .filter_map(|app| app.redirect.as_deref());
    let mut is_served = |path| redirects.any(|url| split(url) == Some((port, path)));
    let Some((_, query)) = target.filter(|(path, _)| is_served(path)) else {
        let words = "This is not the redirect URL of an OAuthApp.";
        return write_page(&mut stream, "404 Not Found", words).await;
    };
    match bundle.oauth_callback(query).await {
        Ok(granted) => {
            let words = format!(
                "Access to {} is granted. Close this page, and repeat what you asked for.",
                granted.app
            );
            write_page(&mut stream, "200 OK", &words).await;
        }
        Err(error) => {
            tracing::warn!(%error, "an authorization was not completed");
            let words = format!(
                "Access was not granted: {}.",
                text::line(&error.to_string())
            );
            write_page(&mut stream, "400 Bad Request", &words).await;
        }
    }
}
