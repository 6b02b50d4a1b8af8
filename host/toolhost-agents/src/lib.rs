//! Agents that talk to each other: every word is an [`AgentEvent`], and every event goes through one
//! [`Orchestrator`].
//!
//! ```text
//!  AgentsClient::request ─▶ stored ─▶ mailbox of (agent, instance key) ─▶ one turn ─▶ the answer
//! ```
//!
//! An event is stored before it is accepted and removed after its turn: at least once, ids tell the
//! second delivery from the first. Turns of one instance come one after the other, those of different
//! instances at the same time. An instance that is missing is started, one that crashed is started
//! again, and one that is idle is ended. An agent runs in this process ([`AgentRuntime`]) or in one of
//! its own per instance ([`ProcessSetup`], [`child::serve`]).
//!
//! What is closed:
//! - an agent cannot speak for another: its events carry its own name, and it is asked by nobody but
//!   the orchestrator;
//! - an agent speaks to instances of its own key: no conversation reaches another's ([`Reach`]);
//! - only the instance that was asked can answer, and only while its turn lasts;
//! - instances cannot wait for each other in a circle, nor in a chain of more than 64;
//! - mailboxes, lines, nesting, instances and attempts are limited;
//! - a process gets the environment it is given and nothing of the host's.
//!
//! Spec: tool-spec-v2 §2.6, §11.

mod adoption;
mod asking;
mod backoff;
pub mod child;
mod client;
mod config;
mod delivery;
mod dispatch;
mod error;
mod instance;
mod instance_id;
mod ledger;
mod lines;
mod local;
mod mailbox;
mod orchestrator;
mod pending;
mod process;
mod request;
mod runtime;
mod schema;
mod settle;
mod setup;
mod tasks;
mod turn;
mod waits;
mod wire;
mod worker;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use async_trait::async_trait;
pub use client::AgentsClient;
pub use config::{OrchestratorConfig, Reach};
pub use error::{AgentsError, Loss, Undelivered};
pub use instance_id::InstanceId;
pub use orchestrator::{Orchestrator, OrchestratorError, OrchestratorStats};
pub use request::{
    AgentInfo, Delivery, InstanceInfo, InstanceState, Message, Mode, Request, Requested, Sent,
    Spawned,
};
pub use runtime::{AgentRuntime, TurnPort};
pub use setup::{AgentSetup, ProcessSetup};
pub use toolhost_contract::{AgentEvent, EventSource, HandlerError, IpcBody, IpcMessage, ReplyTo};

/// Locks a mutex; what a panic left behind is whole, because every change here is one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
