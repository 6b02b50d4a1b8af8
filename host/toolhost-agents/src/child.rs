//! The other side: an agent in a process of its own, which the orchestrator started.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # fn start(agent: Arc<dyn toolhost_agents::AgentRuntime>) -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = tokio::runtime::Runtime::new()?;
//! let serve = toolhost_agents::child::serve(agent, tokio::io::stdin(), tokio::io::stdout());
//! let served = runtime.block_on(serve);
//! // A thread of tokio's waits for more input: it would hold up the end.
//! runtime.shutdown_background();
//! # Ok(served?)
//! # }
//! ```
#![doc = include_str!("child/protocol.md")]

mod remote;
mod seat;
mod uplink;

use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use toolhost_contract::{IPC_LINE_BYTES_MAX, IpcBody, IpcMessage};

use super::AgentRuntime;
use super::lines::{Line, Lines, shown};
use super::wire;

use self::seat::{Seat, Told};
use self::uplink::Uplink;

/// Bytes of a line that are shown in a log.
const SHOWN_BYTES: usize = 256;

/// Why an agent's process cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A turn panicked: the process is to end, and is started again.
    #[error("a turn panicked")]
    Panicked,
}

/// Takes the turns of one instance, one after the other, until the orchestrator says `shutdown` or
/// closes the stream.
///
/// An event with `replyTo` is answered by a response, any other by `turn.completed` or `turn.failed`.
/// A `shutdown` is acknowledged after the turn that runs; what waits behind it stays with the
/// orchestrator. At the end of `reader` a turn that runs is given up.
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
    let uplink = Arc::new(Uplink::start(writer, &mut writing));
    let served = listen(agent, reader, &uplink).await;
    uplink.close().await;
    writing.join_all().await;
    served
}

async fn listen<R: AsyncRead + Unpin>(
    agent: Arc<dyn AgentRuntime>,
    reader: R,
    uplink: &Arc<Uplink>,
) -> Result<(), ServeError> {
    let mut lines = Lines::new(reader, IPC_LINE_BYTES_MAX);
    let mut seat = Seat::new(agent, Arc::clone(uplink));
    let mut told_to_end: Option<IpcMessage> = None;
    loop {
        if let Some(shutdown) = told_to_end.as_ref().filter(|_| seat.is_free()) {
            let ack = IpcMessage {
                from: shutdown.to.clone(),
                to: wire::ORCHESTRATOR.to_owned(),
                body: IpcBody::ShutdownAck(Value::Null),
            };
            // Who does not listen any more need not be told.
            let _ = uplink.tell(&ack).await;
            return Ok(());
        }
        tokio::select! {
            line = lines.next() => {
                let Some(line) = line else { return Ok(()) };
                let Some(message) = parse(line) else { continue };
                match message.body {
                    IpcBody::Event(event) if uplink.answered(&event) => {}
                    IpcBody::Event(event) if wire::is_reserved(&event.event_type) => {
                        tracing::debug!(target: "toolhost::agent", id = event.id, "came too late");
                    }
                    IpcBody::Event(event) => {
                        seat.take(Told::event(message.from, message.to, *event));
                    }
                    IpcBody::Delegate(delegation) => {
                        seat.take(Told::delegate(message.from, message.to, delegation));
                    }
                    IpcBody::Shutdown(_) => {
                        seat.forget_waiting();
                        told_to_end = Some(message);
                    }
                    IpcBody::ShutdownAck(_) | IpcBody::DelegateResult(_) => {}
                }
            }
            ended = seat.ended() => ended?,
        }
    }
}

fn parse(line: Line) -> Option<IpcMessage> {
    let (why, line) = match line {
        Line::TooLong(line) => ("it is too long".to_owned(), line),
        Line::Whole(line) => match IpcMessage::parse(&line) {
            Ok(message) => return Some(message),
            Err(error) => (error.to_string(), line),
        },
    };
    let line = shown(&line, SHOWN_BYTES);
    tracing::warn!(target: "toolhost::agent", why, line, "a line was ignored");
    None
}
