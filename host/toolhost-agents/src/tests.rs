mod answers;
mod circles;
mod durability;
mod instances;
mod limits;
mod requests;
mod responses_in_transit;
mod serve;
mod shutdown;
mod store_failures;
mod transport;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolhost_contract::{HandlerError, ResourceName};
use toolhost_runtime::lock;

use toolhost_store::Store;
use toolhost_store::testing;

use super::schema::SCHEMA;
use super::*;

type Turned = std::pin::Pin<Box<dyn Future<Output = Result<Value, HandlerError>> + Send>>;

/// An agent whose turns are a closure of the test.
struct Scripted<F>(F);

#[async_trait]
impl<F> AgentRuntime for Scripted<F>
where
    F: Fn(AgentEvent, TurnPort) -> Turned + Send + Sync,
{
    async fn on_event(&self, event: AgentEvent, turn: &TurnPort) -> Result<Value, HandlerError> {
        (self.0)(event, turn.clone()).await
    }
}

fn script<F, T>(turn: F) -> AgentSetup
where
    F: Fn(AgentEvent, TurnPort) -> T + Clone + Send + Sync + 'static,
    T: Future<Output = Result<Value, HandlerError>> + Send + 'static,
{
    AgentSetup::in_process(move |_| {
        let turn = turn.clone();
        Arc::new(Scripted(move |event, port| -> Turned {
            Box::pin(turn(event, port))
        }))
    })
}

/// Answers with its input.
fn echo() -> AgentSetup {
    script(|event, _| async move { Ok(event.input.unwrap_or_default()) })
}

/// Sends its input to the agent `to`, and returns the answer.
fn ask(to: &str) -> AgentSetup {
    let to = to.to_owned();
    script(move |event, turn| {
        let request = Request::new(to.clone(), event.input.unwrap_or_default());
        async move {
            let answer = turn.agents().request(request).await;
            answer
                .map(|answer| answer.response)
                .map_err(to_handler_error)
        }
    })
}

/// Makes turns wait until a test releases them.
#[derive(Clone)]
struct Gate {
    open: Arc<Semaphore>,
    begun: Arc<AtomicUsize>,
}

impl Gate {
    fn new() -> Self {
        Self {
            open: Arc::new(Semaphore::new(0)),
            begun: Arc::default(),
        }
    }

    fn agent(&self) -> AgentSetup {
        let gate = self.clone();
        script(move |event, _| {
            let gate = gate.clone();
            async move {
                gate.begun.fetch_add(1, SeqCst);
                gate.open.acquire().await.unwrap().forget();
                Ok(event.input.unwrap_or_default())
            }
        })
    }

    fn release(&self, turns: usize) {
        self.open.add_permits(turns);
    }

    fn begun(&self) -> usize {
        self.begun.load(SeqCst)
    }
}

/// Converts a failure of a request to the error of the turn: its code and its message.
fn to_handler_error(error: AgentsError) -> HandlerError {
    HandlerError {
        message: error.to_string(),
        code: Some(error.code().as_str().to_owned()),
        ..HandlerError::default()
    }
}

fn config() -> OrchestratorConfig {
    OrchestratorConfig {
        backoff_first: Duration::from_millis(1),
        recovery_interval: Duration::from_millis(5),
        ..OrchestratorConfig::default()
    }
}

/// Makes a store of its own.
fn store() -> Store {
    match testing::memory() {
        Some(database) => Store::open(database, &SCHEMA).unwrap(),
        None => Store::in_memory(&SCHEMA).unwrap(),
    }
}

#[test]
fn all_of_it_is_so_in_postgresql() {
    // The third has a turn begin within 20 ms.
    let of_sqlite = [
        "store_failures::an_event",
        "store_failures::events",
        "requests::a_request_that_takes_too_long",
    ];
    testing::rerun("tests::", &of_sqlite);
}

/// Starts an orchestrator with these agents, on a store of its own.
async fn orchestrator<const N: usize>(agents: [(&str, AgentSetup); N]) -> Orchestrator {
    with_config(config(), agents).await
}

async fn with_config<const N: usize>(
    config: OrchestratorConfig,
    agents: [(&str, AgentSetup); N],
) -> Orchestrator {
    on_store(store(), config, agents).await
}

async fn on_store<const N: usize>(
    store: Store,
    config: OrchestratorConfig,
    agents: [(&str, AgentSetup); N],
) -> Orchestrator {
    let orchestrator = Orchestrator::new(store, config);
    for (name, setup) in agents {
        register(&orchestrator, name, setup).await;
    }
    orchestrator
}

async fn register(orchestrator: &Orchestrator, name: &str, setup: AgentSetup) {
    let name = ResourceName::parse(name).unwrap();
    orchestrator.register(&name, setup).await.unwrap();
}

fn user(orchestrator: &Orchestrator) -> AgentsClient {
    orchestrator.client("user", "k", None)
}

fn request(target: &str, input: Value) -> Request {
    Request::new(target, input)
}

fn within(target: &str, timeout: Duration) -> Request {
    Request {
        timeout,
        ..Request::new(target, Value::Null)
    }
}

fn event(id: &str, input: Value) -> AgentEvent {
    let source = EventSource::user("u");
    let mut event = AgentEvent::new(id, "user.said", "2026-11-21T05:00:00.000Z", source);
    event.input = Some(input);
    event
}

/// Waits until a condition holds; fails after ten seconds.
async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed().as_secs() < 10, "not within 10 s: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Waits until no request waits and no event is stored.
async fn settles(orchestrator: &Orchestrator) {
    eventually("no state is left", async || {
        let stats = orchestrator.stats().await.unwrap();
        let instances = stats.instances;
        let nothing = OrchestratorStats {
            instances,
            ..OrchestratorStats::default()
        };
        stats == nothing
    })
    .await;
}
