//! Keeps a server running: starts it again with growing delays.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;
use toolhost::lock::Words;

use crate::backoff::Backoff;
use crate::catalog::Catalog;
use crate::connection::ServerConnection;
use crate::error::McpFinding;
use crate::state::{ServerContext, ServerState};

/// A connection that lasted this long was no failed attempt.
const STABLE: Duration = Duration::from_secs(60);

/// What a server's handle reads.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) words: BTreeMap<String, Words>,
    pub(crate) findings: Vec<McpFinding>,
}

/// Starts the server until `closing` is cancelled.
pub(crate) async fn supervise(
    shared: Arc<ServerContext>,
    mut catalog: Catalog,
    report: Arc<Mutex<Report>>,
    closing: CancellationToken,
) {
    let server = shared.config.name.clone();
    let mut backoff = Backoff::new(&shared.config.limits);
    let on_update = |words: BTreeMap<String, Words>, findings: Vec<McpFinding>| {
        for finding in &findings {
            tracing::warn!(target: "toolhost::mcp", %server, "{finding}");
        }
        *report.lock().unwrap_or_else(PoisonError::into_inner) = Report { words, findings };
    };
    loop {
        let started = Instant::now();
        let opened = tokio::select! {
            opened = ServerConnection::open(&shared) => opened,
            () = closing.cancelled() => break,
        };
        let reason = match opened {
            Ok(mut connection) => {
                let tools = std::mem::take(&mut connection.tools);
                let findings = catalog.update(&shared, tools);
                on_update(catalog.words(), findings);
                shared
                    .state
                    .send_replace(ServerState::Ready(connection.ready()));
                tracing::info!(target: "toolhost::mcp", %server, tools = catalog.len(), "ready");
                let end = connection.run(&shared, &mut catalog, on_update, &closing);
                end.await.into()
            }
            Err(reason) => reason,
        };
        if closing.is_cancelled() {
            break;
        }
        if started.elapsed() > STABLE {
            backoff.reset();
        }
        let delay = backoff.next();
        tracing::warn!(target: "toolhost::mcp", %server, ?delay, "not available: {reason}");
        let down = |retry_at| ServerState::Down {
            reason: reason.clone(),
            retry_at,
        };
        shared
            .state
            .send_replace(down(Some(Instant::now() + delay)));
        let wait = async {
            tokio::time::sleep(delay).await;
            if backoff.is_exhausted() {
                shared.state.send_replace(down(None));
                shared.wanted.notified().await;
            }
        };
        tokio::select! {
            () = wait => {}
            () = closing.cancelled() => break,
        }
        shared.state.send_replace(ServerState::Connecting);
    }
    shared.state.send_replace(ServerState::Closed);
}
