//! Runs an agent in a process of its own, which the orchestrator started.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # fn start(agent: Arc<dyn toolhost_agents::AgentRuntime>) -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = tokio::runtime::Runtime::new()?;
//! let serve = toolhost_agents::child::serve(agent, tokio::io::stdin(), tokio::io::stdout());
//! let served = runtime.block_on(serve);
//! // Does not wait for tokio's thread that reads standard input.
//! runtime.shutdown_background();
//! # Ok(served?)
//! # }
//! ```
#![doc = include_str!("child/protocol.md")]

mod ipc_port;
mod turn_runner;

use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use toolhost_contract::{IPC_LINE_BYTES_MAX, IpcBody, IpcMessage};
use toolhost_runtime::lines::Lines;

use super::ids::new_id;
use super::ipc_lines::{self, LineWriter};
use super::{AgentRuntime, wire};

use self::ipc_port::{IpcClient, now};
use self::turn_runner::{Protocol, TurnEvent, TurnRunner};

pub use self::turn_runner::ServeError;

const EXCERPT_BYTES: usize = 256;

/// Takes the turns of one instance, one after the other, until the orchestrator sends `shutdown` or
/// closes the stream.
///
/// An event with `replyTo` is answered by a response, any other by `turn.completed` or `turn.failed`.
/// `shutdown` is acknowledged after the running turn; the orchestrator keeps the events that wait. At the
/// end of `reader` the running turn is aborted.
///
/// Reads the system's clock, for `createdAt` of its events.
///
/// # Errors
/// [`ServeError`] where a turn panicked: the process should end.
pub async fn serve<R, W>(
    agent: Arc<dyn AgentRuntime>,
    reader: R,
    writer: W,
) -> Result<(), ServeError>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let mut writing = JoinSet::new();
    let client = Arc::new(IpcClient::new(LineWriter::start(writer, &mut writing)));
    let served = receive(agent, reader, &client).await;
    client.close().await;
    writing.join_all().await;
    served
}

async fn receive<R: AsyncRead + Unpin>(
    agent: Arc<dyn AgentRuntime>,
    reader: R,
    client: &Arc<IpcClient>,
) -> Result<(), ServeError> {
    let mut lines = Lines::new(reader, IPC_LINE_BYTES_MAX);
    let mut runner = TurnRunner::new(agent, Arc::clone(client));
    let mut shutdown: Option<IpcMessage> = None;
    loop {
        if let Some(shutdown) = shutdown.as_ref().filter(|_| runner.is_idle()) {
            let ack = IpcBody::ShutdownAck(Value::Null);
            let ack = wire::message(&shutdown.to, wire::ORCHESTRATOR, ack);
            // The orchestrator may have closed the stream.
            let _ = client.out.send(&ack).await;
            return Ok(());
        }
        tokio::select! {
            line = lines.next() => {
                let Some(line) = line else { return Ok(()) };
                let message = match ipc_lines::parse(&line) {
                    Ok(message) => message,
                    Err(why) => {
                        let line = line.excerpt(EXCERPT_BYTES);
                        tracing::warn!(target: "toolhost::agent", why, line, "a line was ignored");
                        continue;
                    }
                };
                match message.body {
                    IpcBody::Event(event) if client.answered(&event) => {}
                    IpcBody::Event(event) if wire::is_reserved(&event.event_type) => {
                        tracing::debug!(target: "toolhost::agent", id = event.id, "a late answer");
                    }
                    IpcBody::Event(event) => runner.take(TurnEvent {
                        from: message.from,
                        to: message.to,
                        event: *event,
                        protocol: Protocol::Event,
                    }),
                    IpcBody::Delegate(delegation) => {
                        let id = new_id().unwrap_or_default();
                        runner.take(TurnEvent {
                            event: delegation.into_event(&message.from, id, now()),
                            from: message.from,
                            to: message.to,
                            protocol: Protocol::Delegate,
                        });
                    }
                    IpcBody::Shutdown(_) => {
                        runner.clear_waiting();
                        shutdown = Some(message);
                    }
                    IpcBody::ShutdownAck(_) | IpcBody::DelegateResult(_) => {}
                }
            }
            ended = runner.turn_ended() => ended?,
        }
    }
}
