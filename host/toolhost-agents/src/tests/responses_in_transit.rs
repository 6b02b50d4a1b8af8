//! Responses that an agent's process took, but that its turn never got.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::task::Poll;

use super::transport::serve_in_memory;
use super::*;

/// Serves a script in a task, over streams in memory.
#[derive(Debug)]
struct InMemory<F>(F);

impl<F> WorkerTransport for InMemory<F>
where
    F: Fn(AgentEvent, TurnPort) -> Turned + Clone + Send + Sync + std::fmt::Debug + 'static,
{
    fn start(&self, _: &InstanceId) -> io::Result<WorkerStreams> {
        Ok(serve_in_memory(Scripted(self.0.clone())))
    }
}

/// Requests an answer that is stored.
async fn request_answer(agents: &AgentsClient) {
    let request = Request {
        mode: Mode::Async,
        ..Request::new("echo", json!("answer"))
    };
    agents.request(request).await.unwrap();
}

/// Takes the responses, and drops the future once its request is sent, as `open_step` that is dropped.
async fn take_and_drop(agents: &AgentsClient) {
    {
        let mut taking = pin!(agents.take_responses());
        std::future::poll_fn(|cx| {
            assert!(taking.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
        // Its line is written now, and the answer has not arrived.
        tokio::task::yield_now().await;
    }
    // The orchestrator answers in the order in which it reads the store.
    for _ in 0..20 {
        agents.list().await.unwrap();
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn taken(agents: &AgentsClient) -> Vec<Value> {
    let responses = agents.take_responses().await.unwrap();
    let answers = responses.into_iter().map(AgentEvent::into_answer);
    answers.map(Result::unwrap).collect()
}

fn turn(event: AgentEvent, turn: TurnPort) -> Turned {
    Box::pin(async move {
        let agents = turn.agents();
        Ok(match event.input.as_ref().and_then(Value::as_str) {
            Some("request") => {
                request_answer(agents).await;
                Value::Null
            }
            Some("drop") => {
                take_and_drop(agents).await;
                Value::Null
            }
            Some("drop, then take") => {
                take_and_drop(agents).await;
                let first = taken(agents).await;
                json!([first, taken(agents).await])
            }
            Some("drop, then acknowledge") => {
                take_and_drop(agents).await;
                agents.acknowledge_responses().await.unwrap();
                Value::Null
            }
            _ => json!(taken(agents).await),
        })
    })
}

async fn process() -> (Orchestrator, AgentsClient) {
    let process = InMemory(turn as fn(AgentEvent, TurnPort) -> Turned);
    let host = orchestrator([("p", AgentSetup::worker(process)), ("echo", echo())]).await;
    let client = user(&host);
    (host, client)
}

async fn turn_of(client: &AgentsClient, what: &str) -> Value {
    client
        .request(request("p", json!(what)))
        .await
        .unwrap()
        .response
}

async fn answer_is_stored(host: &Orchestrator) {
    eventually("the answer is stored", async || {
        host.stats().await.unwrap().stored_responses == 1
    })
    .await;
}

#[tokio::test]
async fn responses_of_a_dropped_take_come_with_the_next_take_of_the_turn() {
    let (host, client) = process().await;
    turn_of(&client, "request").await;
    answer_is_stored(&host).await;
    let again = turn_of(&client, "drop, then take").await;
    assert_eq!(again, json!([["answer"], []]), "once");
    settles(&host).await;
}

#[tokio::test]
async fn responses_of_a_dropped_take_come_in_the_next_turn() {
    for what in ["drop", "drop, then acknowledge"] {
        let (host, client) = process().await;
        turn_of(&client, "request").await;
        answer_is_stored(&host).await;
        turn_of(&client, what).await;
        assert_eq!(turn_of(&client, "take").await, json!(["answer"]), "{what}");
        settles(&host).await;
    }
}

#[tokio::test]
async fn responses_that_a_process_got_are_acknowledged_with_its_turn() {
    let (host, client) = process().await;
    turn_of(&client, "request").await;
    answer_is_stored(&host).await;
    assert_eq!(turn_of(&client, "take").await, json!(["answer"]));
    assert_eq!(turn_of(&client, "take").await, json!([]));
    settles(&host).await;
}
