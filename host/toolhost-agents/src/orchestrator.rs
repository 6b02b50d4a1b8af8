//! The handle of all agents of one host.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolhost_contract::{AgentEvent, ResourceName};
use toolhost_runtime::lock;
use toolhost_store::{Database, Store, StoreError};

use super::delivery::{Asker, Envelope, ReplyMode};
use super::local_port::LocalPort;
use super::phase::Phase;
use super::schema::SCHEMA;
use super::setup::Start;
use super::state::OrchestratorState;
use super::time::after;
use super::{
    AgentSetup, AgentsClient, AgentsError, Delivery, InstanceId, OrchestratorConfig, Reach,
    instance, recovery, wire,
};

/// How long tasks may take to end after the grace period.
const AFTER_GRACE: Duration = Duration::from_secs(1);

/// The agents of one host, their running instances, and the events between them.
///
/// Cheap to clone. When the last clone is dropped, turns are aborted and processes killed; events stay in
/// the store for the next start. A process opens one orchestrator per state root at a time; several
/// processes may share a state root, each with agents of its own. An agent uses its
/// [`TurnPort`](super::TurnPort) to reach others: a clone of the orchestrator in an agent would never be
/// dropped.
///
/// ```no_run
/// # async fn example(root: &std::path::Path, name: toolhost_contract::ResourceName)
/// # -> Result<(), Box<dyn std::error::Error>> {
/// use toolhost_agents::{AgentSetup, Orchestrator, OrchestratorConfig, ProcessSetup, Request};
///
/// let agents = Orchestrator::open(root, OrchestratorConfig::default()).await?;
/// let coder = ProcessSetup::new("/opt/agents/coder");
/// agents.register(&name, AgentSetup::process(coder).described("writes code")).await?;
///
/// let planner = agents.client("planner", "user-7", None);
/// let reply = planner.request(Request::new("coder", serde_json::json!("hello"))).await?;
/// println!("{}", reply.response);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Orchestrator {
    state: Arc<OrchestratorState>,
    _owner: Arc<Owner>,
}

/// Stops the orchestrator when the last handle is dropped.
#[derive(Debug)]
struct Owner(Arc<OrchestratorState>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.phase.send_replace(Phase::Draining(Instant::now()));
        self.0.tasks.close();
        self.0.reply_waiters.forget_all();
    }
}

/// Why an orchestrator cannot start, or an agent cannot be registered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OrchestratorError {
    /// The store cannot be opened or read.
    #[error("the store of the agents' events failed")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// An agent of this name is registered already.
    #[error("agent '{0}' is registered already")]
    AlreadyRegistered(String),
    /// The name is reserved for the orchestrator.
    #[error("the agent name '{0}' is reserved for the orchestrator")]
    ReservedName(String),
    /// The program of an agent is not an absolute path.
    #[error("the program of agent '{name}' is not an absolute path: {}", .program.display())]
    RelativeProgram {
        /// The agent.
        name: String,
        /// Its program.
        program: PathBuf,
    },
}

/// Counts of resources that must not grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OrchestratorStats {
    /// Instances that run.
    pub instances: usize,
    /// Events that wait in mailboxes.
    pub queued: usize,
    /// Requests that wait for their answer.
    pub waiting: usize,
    /// Pairs of instances one of which waits for the other.
    pub waits: usize,
    /// Events in the store, queued or in their turn.
    pub stored_events: u32,
    /// Responses in the store that were not acknowledged yet.
    pub stored_responses: u32,
}

impl Orchestrator {
    /// Starts an orchestrator that stores its events under a state root.
    ///
    /// # Errors
    /// [`OrchestratorError::Store`].
    pub async fn open(
        state_root: &Path,
        config: OrchestratorConfig,
    ) -> Result<Self, OrchestratorError> {
        Self::open_on(state_root.into(), config).await
    }

    /// Starts an orchestrator that stores its events in a database.
    ///
    /// # Errors
    /// [`OrchestratorError::Store`].
    pub async fn open_on(
        database: Database,
        config: OrchestratorConfig,
    ) -> Result<Self, OrchestratorError> {
        let result = tokio::task::spawn_blocking(move || Store::open(database, &SCHEMA)).await;
        let result = result.map_err(|error| OrchestratorError::Store(error.into()))?;
        Ok(Self::new(result.map_err(store)?, config))
    }

    /// Starts an orchestrator that keeps its events in memory.
    ///
    /// # Errors
    /// [`OrchestratorError::Store`].
    pub async fn in_memory(config: OrchestratorConfig) -> Result<Self, OrchestratorError> {
        Ok(Self::new(Store::in_memory(&SCHEMA).map_err(store)?, config))
    }

    /// Starts an orchestrator on a store, in the runtime of the caller.
    pub(crate) fn new(store: Store, config: OrchestratorConfig) -> Self {
        let state = OrchestratorState::new(store, config, instance::start);
        let recovery = recovery::run_recovery(Arc::clone(&state));
        state.tasks.spawn(recovery);
        Self {
            _owner: Arc::new(Owner(Arc::clone(&state))),
            state,
        }
    }

    /// Registers an agent, and recovers its events in the store that no living process owns.
    ///
    /// # Errors
    /// [`OrchestratorError`] where the name is taken, the program is not an absolute path, or the
    /// store fails.
    pub async fn register(
        &self,
        name: &ResourceName,
        setup: AgentSetup,
    ) -> Result<(), OrchestratorError> {
        let name = name.as_str();
        if name == wire::ORCHESTRATOR {
            return Err(OrchestratorError::ReservedName(name.to_owned()));
        }
        if let Start::Worker(transport) = &setup.start
            && let Some(program) = transport.program()
            && program.is_relative()
        {
            return Err(OrchestratorError::RelativeProgram {
                name: name.to_owned(),
                program: program.to_owned(),
            });
        }
        let state = &self.state;
        let _registering = state.registering.lock().await;
        if lock(&state.agents).contains_key(name) {
            return Err(OrchestratorError::AlreadyRegistered(name.to_owned()));
        }
        // Before the agent is registered: events that are accepted later are in their mailboxes.
        let events = &state.event_store;
        let orphans = events.claim(name, &events.own_run()).await.map_err(store)?;
        lock(&state.agents).insert(name.to_owned(), Arc::new(setup));
        state.restore(orphans);
        state.recover().await.map_err(store)
    }

    /// Returns a client that acts as the instance `instance_key` of `agent`; its requests carry
    /// `trace_id`. The agent need not be registered: its turns may be taken elsewhere.
    ///
    /// The client does not keep the orchestrator running.
    pub fn client(
        &self,
        agent: &str,
        instance_key: &str,
        trace_id: Option<String>,
    ) -> AgentsClient {
        let from = InstanceId::new(agent, instance_key);
        let local = LocalPort::new(&self.state, from, Reach::Any, trace_id);
        AgentsClient::new(local)
    }

    /// Delivers an event of a user or a connector. It is stored when this returns; an event whose id was
    /// accepted before is not delivered again.
    ///
    /// Without an instance key the event goes to the instance [`InstanceId::DEFAULT_KEY`]. With `replyTo`,
    /// the response is stored for the instance of the same key of `replyTo.target`.
    ///
    /// # Errors
    /// [`AgentsError`]: the agent is not registered, its mailbox is full, or the event exceeds
    /// the IPC limits.
    pub async fn deliver(&self, target: &str, event: AgentEvent) -> Result<Delivery, AgentsError> {
        let key = event.instance_key.as_deref();
        let key = key.unwrap_or(InstanceId::DEFAULT_KEY).to_owned();
        let asker = event.reply_to.as_ref().map(|reply_to| Asker {
            instance: InstanceId::new(&reply_to.target, &key),
            mode: ReplyMode::Async,
        });
        let to = InstanceId::new(target, &key);
        self.state.accept(Envelope { event, to, asker }).await
    }

    /// Counts the resources that must not grow.
    ///
    /// # Errors
    /// [`OrchestratorError::Store`].
    pub async fn stats(&self) -> Result<OrchestratorStats, OrchestratorError> {
        let counts = self.state.event_store.counts().await;
        let (stored_events, stored_responses) = counts.map_err(store)?;
        let instances = lock(&self.state.instances);
        Ok(OrchestratorStats {
            instances: instances.len(),
            queued: instances.values().map(|mailbox| mailbox.load().0).sum(),
            waiting: self.state.reply_waiters.len(),
            waits: self.state.wait_graph.len(),
            stored_events,
            stored_responses,
        })
    }

    /// Stops: no event is accepted any more, running turns may end within the grace period, and processes
    /// get `shutdown` and are killed after it. Events that wait, or whose turn did not end, stay in the
    /// store for the next start.
    pub async fn shutdown(&self, grace: Duration) {
        let until = after(Instant::now(), grace);
        self.state.phase.send_replace(Phase::Draining(until));
        let until = after(until, AFTER_GRACE);
        loop {
            let gone = self.state.instance_ended.notified();
            if lock(&self.state.instances).is_empty() {
                break;
            }
            if tokio::time::timeout_at(until, gone).await.is_err() {
                break;
            }
        }
        self.state.tasks.end(until).await;
        self.state.reply_waiters.forget_all();
    }
}

fn store(error: StoreError) -> OrchestratorError {
    OrchestratorError::Store(error.into())
}
