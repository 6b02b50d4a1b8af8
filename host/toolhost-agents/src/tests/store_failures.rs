//! A store that fails for a while: what was accepted is handled once it works again.

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::*;

/// Counts the errors that the orchestrator logs on this thread.
#[derive(Clone, Default)]
struct Errors(Arc<AtomicUsize>);

impl Subscriber for Errors {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "toolhost::agents" && *metadata.level() == tracing::Level::ERROR
    }

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, SeqCst);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl Errors {
    /// Waits for this many more errors.
    async fn more(&self, count: usize) {
        let before = self.0.load(SeqCst);
        eventually("the store has failed often", async || {
            self.0.load(SeqCst) >= before + count
        })
        .await;
    }
}

/// Makes every change of a table fail, or no longer.
async fn set_failing(store: &Store, table: &str, fails: bool) {
    let sql = if fails {
        format!(
            "CREATE TRIGGER fails_u BEFORE UPDATE ON {table} BEGIN SELECT RAISE(ABORT, 'in the test'); END;
             CREATE TRIGGER fails_d BEFORE DELETE ON {table} BEGIN SELECT RAISE(ABORT, 'in the test'); END;"
        )
    } else {
        "DROP TRIGGER fails_u; DROP TRIGGER fails_d;".to_owned()
    };
    let done = store.write(move |db| db.execute_batch(&sql)).await;
    done.unwrap();
}

fn submit(input: Value) -> Request {
    Request {
        mode: Mode::Async,
        ..Request::new("a", input)
    }
}

// tool-spec-v2 §2.6(1): what was accepted is delivered.
#[tokio::test]
async fn events_and_answers_are_handled_once_after_the_store_has_failed_for_long() {
    let (store, gate, errors) = (store(), Gate::new(), Errors::default());
    let _logged = tracing::subscriber::set_default(errors.clone());
    let host = on_store(store.clone(), config(), [("a", gate.agent())]).await;
    let client = user(&host);
    for n in 1..=3 {
        client.request(submit(json!(n))).await.unwrap();
    }
    eventually("the first turn runs", async || gate.begun() == 1).await;
    // The first turn cannot be settled, and then the other events cannot be read.
    set_failing(&store, "agent_events", true).await;
    gate.release(3);
    errors.more(10).await;
    assert_eq!(gate.begun(), 1, "the next turn waits for the store");
    set_failing(&store, "agent_events", false).await;

    let mut answers = Vec::new();
    eventually("all answers arrive", async || {
        for response in client.take_responses().await.unwrap() {
            answers.push(response.into_answer().unwrap());
        }
        answers.len() >= 3
    })
    .await;
    assert_eq!(answers, [json!(1), json!(2), json!(3)]);
    assert_eq!(gate.begun(), 3, "each event has one turn");
    client.acknowledge_responses().await.unwrap();
    settles(&host).await;
}

#[tokio::test]
async fn an_event_that_cannot_be_read_for_long_is_delivered_once_it_can() {
    let (store, gate, errors) = (store(), Gate::new(), Errors::default());
    let _logged = tracing::subscriber::set_default(errors.clone());
    let host = on_store(store.clone(), config(), [("a", gate.agent())]).await;
    let client = user(&host);
    set_failing(&store, "agent_events", true).await;
    client.request(submit(json!("kept"))).await.unwrap();
    // A request that waits fails, and leaves nothing behind.
    let asked = client.request(within("a", Duration::from_millis(50))).await;
    asked.unwrap_err();
    errors.more(10).await;
    set_failing(&store, "agent_events", false).await;
    gate.release(1);
    let mut answers = Vec::new();
    eventually("the answer arrives", async || {
        answers.extend(client.take_responses().await.unwrap());
        !answers.is_empty()
    })
    .await;
    client.acknowledge_responses().await.unwrap();
    settles(&host).await;
    assert_eq!(gate.begun(), 1);
}
