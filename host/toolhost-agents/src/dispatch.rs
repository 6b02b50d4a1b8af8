//! What all parts of an orchestrator share: who is known, who runs, who waits, and the way in.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::UNIX_EPOCH;

use tokio::sync::{Notify, oneshot, watch};
use tokio::time::Instant;

use toolhost_contract::Timestamp;
use toolhost_store::{Store, random_text};

use super::delivery::{Envelope, ReplyMode};
use super::ledger::{Inserted, Ledger, NewEvent};
use super::mailbox::{Capacity, Entry, Mailbox, NoPlace, Place, Standing};
use super::pending::Pending;
use super::tasks::Tasks;
use super::waits::Waits;
use super::{
    AgentSetup, AgentsError, Delivery, InstanceId, OrchestratorConfig, Spawned, Undelivered,
    instance, lock,
};

/// Longest chain of requests that can be allowed: it is walked on the stack.
const CHAIN_DEPTH_CEILING: usize = 1000;

/// Letters of an id: 130 random bits.
const ID_LETTERS: usize = 26;

/// Whether events are accepted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Phase {
    Open,
    /// No; turns that run may end until then.
    Draining(Instant),
}

/// The mailboxes of the instances that run.
pub(super) type Instances = HashMap<InstanceId, Arc<Mailbox>>;

/// The inside of an orchestrator.
#[derive(Debug)]
pub(super) struct Dispatch {
    pub(super) config: OrchestratorConfig,
    pub(super) ledger: Ledger,
    pub(super) agents: Mutex<BTreeMap<String, Arc<AgentSetup>>>,
    pub(super) instances: Mutex<Instances>,
    pub(super) pending: Pending,
    pub(super) waits: Waits,
    pub(super) tasks: Tasks,
    pub(super) phase: watch::Sender<Phase>,
    /// Held by the one who makes an agent known.
    pub(super) registering: tokio::sync::Mutex<()>,
    /// Told each time an instance is gone.
    pub(super) gone: Notify,
}

impl Dispatch {
    pub(super) fn new(store: Store, mut config: OrchestratorConfig) -> Arc<Self> {
        config.chain_depth_max = config.chain_depth_max.min(CHAIN_DEPTH_CEILING);
        Arc::new(Self {
            ledger: Ledger::new(store, config.handled_max),
            config,
            agents: Mutex::default(),
            instances: Mutex::default(),
            pending: Pending::default(),
            waits: Waits::default(),
            tasks: Tasks::new(),
            phase: watch::Sender::new(Phase::Open),
            registering: tokio::sync::Mutex::default(),
            gone: Notify::new(),
        })
    }

    /// What time it is, as events say it.
    pub(super) fn now(&self) -> String {
        Timestamp((self.config.clock)()).to_string()
    }

    /// The same, in Unix milliseconds.
    pub(super) fn now_ms(&self) -> i64 {
        let since = (self.config.clock)().duration_since(UNIX_EPOCH);
        i64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(i64::MAX)
    }

    /// Finds an agent by its name.
    pub(super) fn agent(&self, name: &str) -> Result<Arc<AgentSetup>, AgentsError> {
        let found = lock(&self.agents).get(name).cloned();
        found.ok_or_else(|| AgentsError::NotFound {
            target: name.to_owned(),
        })
    }

    /// Stores an event and puts it into its mailbox; starts the instance where it is missing.
    ///
    /// Once begun it is done whole, even where this future is dropped.
    pub(super) async fn accept(
        self: &Arc<Self>,
        mut envelope: Envelope,
    ) -> Result<Delivery, AgentsError> {
        let target = envelope.to.agent().to_owned();
        let failed = |reason| AgentsError::undelivered(&target, reason);
        // An event that cannot travel starts no instance.
        self.agent(&target)?;
        let json = envelope.seal().map_err(failed)?;
        let bytes = json.len();
        let place = self.place(&envelope.to, bytes)?;
        let standing = match envelope.asker.as_ref().map(|asker| asker.mode) {
            Some(ReplyMode::Wait) => Standing::WhileAwaited,
            Some(ReplyMode::Async | ReplyMode::Delegate) | None => Standing::Owed,
        };
        let event_id = envelope.event.id;
        let new = NewEvent {
            event_id: event_id.clone(),
            to: envelope.to,
            asker: envelope.asker,
            json,
            kept_max: (self.config.responses_max, self.config.responses_bytes),
        };
        let (tell, told) = oneshot::channel();
        let this = Arc::clone(self);
        self.tasks.spawn(async move {
            let to = new.to.clone();
            let stored = this
                .ledger
                .insert(new)
                .await
                .map(|inserted| match inserted {
                    Inserted::At(seq) => {
                        place.put(Entry {
                            seq,
                            event_id: event_id.clone(),
                            standing,
                            bytes,
                        });
                        // Whoever stopped waiting before it was there could not take it back.
                        if standing == Standing::WhileAwaited
                            && !this.pending.is_expected(&event_id)
                        {
                            this.withdraw(&to, &event_id);
                        }
                        Ok(Delivery::Accepted)
                    }
                    Inserted::Known => Ok(Delivery::Duplicate),
                    Inserted::TooManyKept => {
                        let responses_max = this.config.responses_max;
                        Err(Undelivered::TooManyResponses { responses_max })
                    }
                    Inserted::TooMuchKept => {
                        let responses_bytes = this.config.responses_bytes;
                        Err(Undelivered::ResponsesTooLarge { responses_bytes })
                    }
                });
            // Whoever asked may be gone.
            let _ = tell.send(stored);
        });
        match told.await {
            Ok(Ok(stored)) => stored.map_err(failed),
            Ok(Err(error)) => Err(failed(Undelivered::NotStored(error.into()))),
            Err(_) => Err(failed(Undelivered::Stopped)),
        }
    }

    /// Starts an instance, unless it runs.
    pub(super) async fn spawn(self: &Arc<Self>, id: &InstanceId) -> Result<Spawned, AgentsError> {
        let spawned = |spawned| Spawned {
            target: id.agent().to_owned(),
            instance_key: id.key().to_owned(),
            spawned,
        };
        let failed = |reason| AgentsError::undelivered(id.agent(), reason);
        let started = {
            let agent = self.agent(id.agent())?;
            id.check().map_err(failed)?;
            self.accepts(id)?;
            let mut instances = lock(&self.instances);
            if instances.contains_key(id) {
                return Ok(spawned(false));
            }
            self.has_room(id, &instances)?;
            let mailbox = self.open(agent, id, &mut instances);
            let (tell, started) = oneshot::channel();
            mailbox.start(tell);
            started
        };
        match started.await {
            Ok(Ok(())) => Ok(spawned(true)),
            Ok(Err(loss)) => Err(failed(Undelivered::Lost {
                instance: id.clone(),
                attempts: 1,
                loss,
            })),
            Err(_) => Err(failed(Undelivered::Stopped)),
        }
    }

    /// Reserves a place in the mailbox of an instance, which is started where it is missing.
    fn place(self: &Arc<Self>, id: &InstanceId, bytes: usize) -> Result<Place, AgentsError> {
        let agent = self.agent(id.agent())?;
        self.accepts(id)?;
        let failed = |no_place| {
            let instance = id.clone();
            let reason = match no_place {
                NoPlace::Full => Undelivered::MailboxFull {
                    instance,
                    capacity: self.config.mailbox_capacity,
                },
                NoPlace::TooHeavy => Undelivered::MailboxTooLarge {
                    instance,
                    bytes_max: self.config.mailbox_bytes,
                },
                NoPlace::Closed => Undelivered::Stopped,
            };
            AgentsError::undelivered(id.agent(), reason)
        };
        let mut instances = lock(&self.instances);
        match instances.get(id).map(|mailbox| mailbox.reserve(bytes)) {
            Some(Ok(place)) => return Ok(place),
            // The instance is ending; another one takes its place.
            Some(Err(NoPlace::Closed)) | None => {}
            Some(Err(no_place @ (NoPlace::Full | NoPlace::TooHeavy))) => {
                return Err(failed(no_place));
            }
        }
        self.has_room(id, &instances)?;
        let mailbox = self.open(agent, id, &mut instances);
        mailbox.reserve(bytes).map_err(failed)
    }

    fn accepts(&self, id: &InstanceId) -> Result<(), AgentsError> {
        match *self.phase.borrow() {
            Phase::Open => Ok(()),
            Phase::Draining(_) => Err(AgentsError::undelivered(id.agent(), Undelivered::Stopped)),
        }
    }

    fn has_room(&self, id: &InstanceId, instances: &Instances) -> Result<(), AgentsError> {
        let instances_max = self.config.instances_max;
        if instances.len() >= instances_max && !instances.contains_key(id) {
            let reason = Undelivered::TooManyInstances { instances_max };
            return Err(AgentsError::undelivered(id.agent(), reason));
        }
        Ok(())
    }

    /// Starts an instance.
    pub(super) fn open(
        self: &Arc<Self>,
        agent: Arc<AgentSetup>,
        id: &InstanceId,
        instances: &mut Instances,
    ) -> Arc<Mailbox> {
        let mailbox = Mailbox::new(Capacity {
            events: self.config.mailbox_capacity,
            bytes: self.config.mailbox_bytes,
        });
        instances.insert(id.clone(), Arc::clone(&mailbox));
        let run = instance::run(Arc::clone(self), agent, id.clone(), Arc::clone(&mailbox));
        self.tasks.spawn(run);
        mailbox
    }

    /// Forgets an instance that has ended.
    pub(super) fn forget(&self, id: &InstanceId, mailbox: &Arc<Mailbox>) {
        let mut instances = lock(&self.instances);
        // Another one may have taken its place.
        if instances.get(id).is_some_and(|m| Arc::ptr_eq(m, mailbox)) {
            instances.remove(id);
        }
        drop(instances);
        self.gone.notify_waiters();
    }
}

/// Makes an id that nobody guesses.
pub(super) fn new_id() -> Result<String, Undelivered> {
    random_text::<ID_LETTERS>().map_err(|error| Undelivered::NotStored(error.into()))
}
