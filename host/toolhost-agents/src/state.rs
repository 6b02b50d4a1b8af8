//! The state that all parts of an orchestrator share, and how events enter it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::UNIX_EPOCH;

use tokio::sync::{Notify, oneshot, watch};
use toolhost_contract::Timestamp;
use toolhost_runtime::lock;
use toolhost_store::Store;

use super::delivery::{Envelope, ReplyMode};
use super::event_store::EventStore;
use super::mailbox::{Mailbox, MailboxSlot, Obligation, QueuedEvent};
use super::phase::Phase;
use super::reply_waiters::{Reply, ReplyWaiters};
use super::tasks::Tasks;
use super::wait_graph::WaitGraph;
use super::{
    AgentSetup, AgentsError, Delivery, InstanceId, OrchestratorConfig, Spawned, Undelivered,
};

/// Longest chain of requests that can be configured: the graph is searched recursively.
const CHAIN_DEPTH_CEILING: usize = 1000;

pub(super) type Instances = HashMap<InstanceId, Arc<Mailbox>>;

pub(super) type StartInstance = fn(Arc<OrchestratorState>, Arc<AgentSetup>, Arc<Mailbox>);

#[derive(Debug)]
pub(super) struct OrchestratorState {
    pub(super) config: OrchestratorConfig,
    pub(super) event_store: EventStore,
    pub(super) agents: Mutex<BTreeMap<String, Arc<AgentSetup>>>,
    pub(super) instances: Mutex<Instances>,
    pub(super) reply_waiters: ReplyWaiters<Reply>,
    pub(super) wait_graph: WaitGraph,
    pub(super) tasks: Tasks,
    pub(super) phase: watch::Sender<Phase>,
    /// Locked while an agent is registered.
    pub(super) registering: tokio::sync::Mutex<()>,
    /// Notified each time an instance has ended.
    pub(super) instance_ended: Notify,
    start_instance: StartInstance,
}

impl OrchestratorState {
    pub(super) fn new(
        store: Store,
        mut config: OrchestratorConfig,
        start_instance: StartInstance,
    ) -> Arc<Self> {
        config.chain_depth_max = config.chain_depth_max.min(CHAIN_DEPTH_CEILING);
        Arc::new(Self {
            event_store: EventStore::new(store, &config),
            config,
            agents: Mutex::default(),
            instances: Mutex::default(),
            reply_waiters: ReplyWaiters::default(),
            wait_graph: WaitGraph::default(),
            tasks: Tasks::new(),
            phase: watch::Sender::new(Phase::Open),
            registering: tokio::sync::Mutex::default(),
            instance_ended: Notify::new(),
            start_instance,
        })
    }

    /// The current time as events contain it.
    pub(super) fn now(&self) -> String {
        Timestamp((self.config.clock)()).to_string()
    }

    /// The current time in Unix milliseconds.
    pub(super) fn now_ms(&self) -> i64 {
        let since = (self.config.clock)().duration_since(UNIX_EPOCH);
        i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
    }

    pub(super) fn agent(&self, name: &str) -> Result<Arc<AgentSetup>, AgentsError> {
        let setup = lock(&self.agents).get(name).cloned();
        setup.ok_or_else(|| AgentsError::NotFound(name.to_owned()))
    }

    /// Stores an event and puts it into its mailbox; starts the instance if it is missing.
    ///
    /// Once storing has begun it is completed, even if this future is dropped.
    pub(super) async fn accept(
        self: &Arc<Self>,
        mut envelope: Envelope,
    ) -> Result<Delivery, AgentsError> {
        let target = envelope.to.agent().to_owned();
        let failed = |reason| AgentsError::undelivered(&target, reason);
        // Checked before an instance is started.
        self.agent(&target)?;
        let json = envelope.seal().map_err(failed)?;
        let bytes = json.len();
        let slot = self.reserve(&envelope.to, bytes)?;
        let obligation = match envelope.asker.as_ref().map(|asker| asker.mode) {
            Some(ReplyMode::Wait) => Obligation::WhileAwaited,
            Some(ReplyMode::Async | ReplyMode::Delegate) | None => Obligation::Required,
        };
        let (reply, replied) = oneshot::channel();
        let this = Arc::clone(self);
        self.tasks.spawn(async move {
            let (to, event_id) = (envelope.to.clone(), envelope.event.id.clone());
            let inserted = this.event_store.insert(envelope, json).await;
            let accepted = inserted.map(|row| {
                let Some(seq) = row else {
                    return Delivery::Duplicate;
                };
                slot.put(QueuedEvent {
                    seq,
                    event_id: event_id.clone(),
                    obligation,
                    bytes,
                });
                // A requester that stopped waiting while the event was stored could not withdraw it.
                if obligation == Obligation::WhileAwaited
                    && !this.reply_waiters.is_expected(&event_id)
                {
                    this.withdraw(&to, &event_id);
                }
                Delivery::Accepted
            });
            // The caller may have been dropped.
            let _ = reply.send(accepted);
        });
        let accepted = replied.await.unwrap_or(Err(Undelivered::Stopped));
        accepted.map_err(failed)
    }

    /// Starts an instance, unless it runs.
    pub(super) async fn spawn(self: &Arc<Self>, id: &InstanceId) -> Result<Spawned, AgentsError> {
        let spawned = |spawned| Spawned {
            target: id.agent().to_owned(),
            instance_key: id.key().to_owned(),
            spawned,
        };
        let failed = |reason| AgentsError::undelivered(id.agent(), reason);
        let start = {
            let agent = self.agent(id.agent())?;
            let checked = id.check();
            checked.map_err(|error| failed(Undelivered::Malformed(error.into())))?;
            self.check_open(id)?;
            let mut instances = lock(&self.instances);
            if instances.contains_key(id) {
                return Ok(spawned(false));
            }
            self.check_capacity(id, &instances)?;
            let mailbox = self.open(agent, id, &mut instances);
            let (reply, start) = oneshot::channel();
            mailbox.start(reply);
            start
        };
        match start.await {
            Ok(Ok(())) => Ok(spawned(true)),
            Ok(Err(loss)) => Err(failed(Undelivered::Lost {
                instance: id.clone(),
                attempts: 1,
                loss,
            })),
            Err(_) => Err(failed(Undelivered::Stopped)),
        }
    }

    /// Reserves a slot in the mailbox of an instance, which is started if it is missing.
    fn reserve(
        self: &Arc<Self>,
        id: &InstanceId,
        bytes: usize,
    ) -> Result<MailboxSlot, AgentsError> {
        let agent = self.agent(id.agent())?;
        self.check_open(id)?;
        let failed = |reason| AgentsError::undelivered(id.agent(), reason);
        let mut instances = lock(&self.instances);
        if let Some(mailbox) = instances.get(id)
            && let Some(slot) = mailbox.reserve(bytes).map_err(failed)?
        {
            return Ok(slot);
        }
        // The instance is missing, or ending: another one replaces it.
        self.check_capacity(id, &instances)?;
        let slot = self.open(agent, id, &mut instances).reserve(bytes);
        slot.map_err(failed)?
            .ok_or_else(|| failed(Undelivered::Stopped))
    }

    fn check_open(&self, id: &InstanceId) -> Result<(), AgentsError> {
        match *self.phase.borrow() {
            Phase::Open => Ok(()),
            Phase::Draining(_) => Err(AgentsError::undelivered(id.agent(), Undelivered::Stopped)),
        }
    }

    fn check_capacity(&self, id: &InstanceId, instances: &Instances) -> Result<(), AgentsError> {
        let instances_max = self.config.instances_max;
        if instances.len() >= instances_max && !instances.contains_key(id) {
            let limit = format!("{instances_max} instances of agents run already");
            let reason = Undelivered::LimitReached(limit);
            return Err(AgentsError::undelivered(id.agent(), reason));
        }
        Ok(())
    }

    pub(super) fn open(
        self: &Arc<Self>,
        agent: Arc<AgentSetup>,
        id: &InstanceId,
        instances: &mut Instances,
    ) -> Arc<Mailbox> {
        let mailbox = Mailbox::new(id.clone(), &self.config);
        instances.insert(id.clone(), Arc::clone(&mailbox));
        (self.start_instance)(Arc::clone(self), agent, Arc::clone(&mailbox));
        mailbox
    }

    /// Removes an instance that has ended.
    pub(super) fn forget(&self, mailbox: &Arc<Mailbox>) {
        let mut instances = lock(&self.instances);
        let current = instances.get(&mailbox.id);
        // Another instance may have replaced it.
        if current.is_some_and(|current| Arc::ptr_eq(current, mailbox)) {
            instances.remove(&mailbox.id);
        }
        drop(instances);
        self.instance_ended.notify_waiters();
    }
}
