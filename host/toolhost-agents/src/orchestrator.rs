//! The handle of all agents of one host.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolhost_contract::{AgentEvent, ResourceName};

use toolhost_store::{Store, StoreError};

use super::delivery::{Asker, Envelope, ReplyMode};
use super::dispatch::{Dispatch, Phase};
use super::local::Local;
use super::schema::SCHEMA;
use super::setup::Start;
use super::{
    AgentSetup, AgentsClient, AgentsError, Delivery, InstanceId, OrchestratorConfig, Reach,
    adoption, lock, wire,
};

/// How long tasks may take to end after the grace is over: they were told to end at once.
const AFTER_GRACE: Duration = Duration::from_secs(1);

/// All agents of one host: who they are, which instances run, and what is on its way between them.
///
/// Cheap to clone. When the last clone is dropped, turns are given up and processes killed; events
/// stay in the store for the next start. One orchestrator uses a state root at a time in one process;
/// several processes may share one, each with agents of its own. An agent reaches the others through
/// its [`TurnPort`](super::TurnPort): one that held a clone of this would keep it for ever.
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
/// let asked = planner.request(Request::new("coder", serde_json::json!("hello"))).await?;
/// println!("{}", asked.response);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Orchestrator {
    dispatch: Arc<Dispatch>,
    _owner: Arc<Owner>,
}

/// Ends everything with the last handle.
#[derive(Debug)]
struct Owner(Arc<Dispatch>);

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.phase.send_replace(Phase::Draining(Instant::now()));
        self.0.tasks.close();
        self.0.pending.forget_all();
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
    /// The name is the orchestrator's own.
    #[error("no agent can be called '{0}'")]
    ReservedName(String),
    /// The program of an agent is not an absolute path.
    #[error("the program of agent '{name}' is no absolute path: {}", .program.display())]
    RelativeProgram {
        /// The agent.
        name: String,
        /// Its program.
        program: PathBuf,
    },
}

/// How much there is of what must not grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OrchestratorStats {
    /// Instances that run.
    pub instances: usize,
    /// Events that wait in mailboxes.
    pub queued: usize,
    /// Requests that are waited for.
    pub waiting: usize,
    /// Pairs of instances of which one waits for the other.
    pub waits: usize,
    /// Events in the store: they wait, or have their turn.
    pub stored_events: u32,
    /// Responses in the store: nobody has taken and acknowledged them yet.
    pub stored_responses: u32,
}

impl Orchestrator {
    /// Starts an orchestrator whose events are kept under a state root.
    ///
    /// # Errors
    /// [`OrchestratorError::Store`].
    pub async fn open(
        state_root: &Path,
        config: OrchestratorConfig,
    ) -> Result<Self, OrchestratorError> {
        let state_root = state_root.to_owned();
        let opened = tokio::task::spawn_blocking(move || Store::open(&state_root, &SCHEMA)).await;
        let opened = opened.map_err(|error| OrchestratorError::Store(error.into()))?;
        Ok(Self::new(opened.map_err(store)?, config))
    }

    /// Starts an orchestrator whose events are gone with it.
    ///
    /// # Errors
    /// [`OrchestratorError::Store`].
    pub async fn in_memory(config: OrchestratorConfig) -> Result<Self, OrchestratorError> {
        Ok(Self::new(Store::in_memory(&SCHEMA).map_err(store)?, config))
    }

    /// Starts an orchestrator on a store, in the runtime of the caller.
    pub(crate) fn new(store: Store, config: OrchestratorConfig) -> Self {
        let dispatch = Dispatch::new(store, config);
        let adopting = adoption::keep_adopting(Arc::clone(&dispatch));
        dispatch.tasks.spawn(adopting);
        Self {
            _owner: Arc::new(Owner(Arc::clone(&dispatch))),
            dispatch,
        }
    }

    /// Makes an agent known, and takes up the events that wait for it in the store: those of runs that
    /// died, not those of another process that lives.
    ///
    /// # Errors
    /// [`OrchestratorError`] where the name is taken, the program is no absolute path, or the store
    /// fails.
    pub async fn register(
        &self,
        name: &ResourceName,
        setup: AgentSetup,
    ) -> Result<(), OrchestratorError> {
        let name = name.as_str();
        if name == wire::ORCHESTRATOR {
            return Err(OrchestratorError::ReservedName(name.to_owned()));
        }
        match &setup.start {
            Start::Process(process) if !process.program.is_absolute() => {
                return Err(OrchestratorError::RelativeProgram {
                    name: name.to_owned(),
                    program: process.program.clone(),
                });
            }
            Start::Process(_) | Start::InProcess(_) => {}
        }
        let dispatch = &self.dispatch;
        let _registering = dispatch.registering.lock().await;
        if lock(&dispatch.agents).contains_key(name) {
            return Err(OrchestratorError::AlreadyRegistered(name.to_owned()));
        }
        // What an orchestrator of this same run left behind; what is accepted from now on is not it.
        let left = dispatch.ledger.claim(name, dispatch.ledger.own_run()).await;
        let left = left.map_err(store)?;
        lock(&dispatch.agents).insert(name.to_owned(), Arc::new(setup));
        dispatch.take_up(left);
        dispatch.adopt().await.map_err(store)
    }

    /// The other agents as the instance `instance_key` of `agent` sees them; its requests carry
    /// `trace_id`. The agent need not be registered: its turns may be taken elsewhere.
    ///
    /// Ends with the orchestrator, and does not keep it.
    #[must_use]
    pub fn client(
        &self,
        agent: &str,
        instance_key: &str,
        trace_id: Option<String>,
    ) -> AgentsClient {
        let from = InstanceId::new(agent, instance_key);
        let local = Local::new(&self.dispatch, from, Reach::Any, trace_id);
        AgentsClient::new(local)
    }

    /// Delivers an event of a user or a connector. Accepted when this returns; an event whose id was
    /// accepted before is not delivered again.
    ///
    /// Without an instance key it is for the instance [`InstanceId::DEFAULT_KEY`]. With `replyTo`, the
    /// response is kept for the instance of the same key of `replyTo.target`.
    ///
    /// # Errors
    /// [`AgentsError`]: the agent is not known, its mailbox is full, or the event cannot travel.
    pub async fn deliver(&self, target: &str, event: AgentEvent) -> Result<Delivery, AgentsError> {
        let key = event.instance_key.as_deref();
        let key = key.unwrap_or(InstanceId::DEFAULT_KEY).to_owned();
        let asker = event.reply_to.as_ref().map(|reply_to| Asker {
            instance: InstanceId::new(&reply_to.target, &key),
            mode: ReplyMode::Async,
        });
        let to = InstanceId::new(target, &key);
        self.dispatch.accept(Envelope { event, to, asker }).await
    }

    /// Counts what must not grow.
    ///
    /// # Errors
    /// [`OrchestratorError::Store`].
    pub async fn stats(&self) -> Result<OrchestratorStats, OrchestratorError> {
        let counts = self.dispatch.ledger.counts().await;
        let (stored_events, stored_responses) = counts.map_err(store)?;
        let instances = lock(&self.dispatch.instances);
        Ok(OrchestratorStats {
            instances: instances.len(),
            queued: instances.values().map(|mailbox| mailbox.load().0).sum(),
            waiting: self.dispatch.pending.len(),
            waits: self.dispatch.waits.len(),
            stored_events,
            stored_responses,
        })
    }

    /// Stops: nothing is accepted from now on, turns that run may end within the grace, processes are
    /// told to end and killed after it. What waits, and what did not end, stays in the store for the
    /// next start.
    pub async fn shutdown(&self, grace: Duration) {
        let until = Instant::now() + grace;
        self.dispatch.phase.send_replace(Phase::Draining(until));
        let until = until + AFTER_GRACE;
        loop {
            let gone = self.dispatch.gone.notified();
            if lock(&self.dispatch.instances).is_empty() {
                break;
            }
            if tokio::time::timeout_at(until, gone).await.is_err() {
                break;
            }
        }
        self.dispatch.tasks.end(until).await;
        self.dispatch.pending.forget_all();
    }
}

fn store(error: StoreError) -> OrchestratorError {
    OrchestratorError::Store(error.into())
}
