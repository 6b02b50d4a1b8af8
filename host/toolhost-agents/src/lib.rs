//! Agents that exchange events through one [`Orchestrator`].
//!
//! ```text
//!  AgentsClient::request ─▶ stored ─▶ mailbox of (agent, instance key) ─▶ one turn ─▶ the answer
//! ```
//!
//! An event is stored before it is accepted and removed after its turn. It is delivered at least once;
//! its id identifies a repeated delivery. Turns of one instance run one after the other, turns of
//! different instances at the same time. The orchestrator starts a missing instance, restarts one that
//! crashed, and ends an idle one. An agent runs in this process ([`AgentRuntime`]), in one process per
//! instance ([`ProcessSetup`], [`child::serve`]), or wherever a [`WorkerTransport`] starts it.
//!
//! What is closed:
//! - an agent cannot send events in another's name, and only the orchestrator delivers events to it;
//! - an agent reaches only instances of its own key, so that it cannot read other conversations
//!   ([`Reach`]);
//! - only the instance that received a request can answer it, and only during its turn;
//! - instances cannot wait for each other in a circle, nor in a chain of more than 64;
//! - mailboxes, lines, nesting, instances and attempts are limited;
//! - a process gets the environment of its [`ProcessSetup`] and nothing of the host's.
//!
//! Spec: tool-spec-v2 §2.6, §11.

pub mod child;
mod client;
mod config;
mod delivery;
mod error;
mod event_store;
mod ids;
mod instance;
mod instance_id;
mod ipc_lines;
mod local_port;
mod mailbox;
mod orchestrator;
mod phase;
mod process;
mod recovery;
mod remote_worker;
mod reply_waiters;
mod request;
mod retry;
mod runtime;
mod schema;
mod settle;
mod setup;
mod state;
mod tasks;
mod time;
mod transport;
mod wait_graph;
mod waiting;
mod wire;
mod worker;

pub use async_trait::async_trait;
pub use client::AgentsClient;
pub use config::{OrchestratorConfig, Reach};
pub use error::{AgentsError, Loss, Undelivered};
pub use instance_id::InstanceId;
pub use orchestrator::{Orchestrator, OrchestratorError, OrchestratorStats};
pub use process::ProcessSetup;
pub use request::{Delivery, InstanceInfo, InstanceState};
pub use runtime::{AgentRuntime, TurnPort};
pub use setup::AgentSetup;
pub use toolhost_contract::agents::{AgentInfo, Message, Mode, Request, Requested, Sent, Spawned};
pub use toolhost_contract::{AgentEvent, EventSource, HandlerError, IpcBody, IpcMessage, ReplyTo};
pub use transport::{WorkerProcess, WorkerStreams, WorkerTransport};

#[cfg(test)]
mod tests;
