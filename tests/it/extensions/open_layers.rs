//! Layers of turns and steps, which run while the turn or the step is open.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};
use toolhost::{
    Instance, ToolError,
    middleware::{Next, StepContext, TurnContext},
};
use toolhost_tests::test_host::{TestHost, tool_call};

use crate::execute::EXAMPLES;

async fn test_host() -> TestHost {
    TestHost::with_tools(&[("text", "text", EXAMPLES)], "").await
}

fn instance(test_host: &TestHost) -> Instance {
    let workdir = test_host.work.workdir.clone();
    test_host.agent.instance("instance", workdir)
}

/// Receives messages beside the rest of a pipeline, and answers each.
#[derive(Clone)]
struct Listener {
    messages: Arc<Mutex<mpsc::Receiver<Message>>>,
    answers: mpsc::Sender<String>,
}

#[derive(Debug)]
enum Message {
    Answer(&'static str),
    Panic,
    /// The layer answers, and ends with this answer.
    End(&'static str),
}

type Ends = (Listener, mpsc::Sender<Message>, mpsc::Receiver<String>);

fn listener() -> Ends {
    let (send, messages) = mpsc::channel(8);
    let (answers, answered) = mpsc::channel(8);
    let messages = Arc::new(Mutex::new(messages));
    (Listener { messages, answers }, send, answered)
}

impl Listener {
    async fn answer(&self, text: &str) {
        self.answers.send(text.to_owned()).await.unwrap();
    }

    async fn listen(
        self,
        rest: impl Future<Output = Result<Value, ToolError>>,
    ) -> Result<Value, ToolError> {
        let mut rest = pin!(rest);
        loop {
            let mut messages = self.messages.lock().await;
            tokio::select! {
                answer = &mut rest => return answer.map(|answer| json!({"closed": answer})),
                message = messages.recv() => match message.unwrap() {
                    Message::Answer(text) => self.answer(text).await,
                    Message::End(text) => {
                        self.answer(text).await;
                        return Ok(json!(text));
                    }
                    Message::Panic => {
                        self.answer("panics").await;
                        panic!("in the test")
                    }
                },
            }
        }
    }
}

/// Returns what the layer answers. It is bounded so that a layer that does not run fails the test.
async fn answered(answers: &mut mpsc::Receiver<String>) -> Option<String> {
    let answer = tokio::time::timeout(Duration::from_secs(20), answers.recv());
    answer.await.unwrap_or(None)
}

fn add_to_turns(test_host: &TestHost, listener: Listener) {
    let layer = move |context: TurnContext, next: Next<TurnContext>| {
        listener.clone().listen(next.run(context))
    };
    let extended = test_host
        .agent
        .extend("turns", |api| api.pipeline().turn(0, layer));
    extended.unwrap();
}

#[tokio::test]
async fn layers_run_while_their_turn_and_their_step_are_open() {
    let test_host = test_host().await;
    let (of_turn, turn_messages, mut turn_answers) = listener();
    let (of_step, step_messages, mut step_answers) = listener();
    add_to_turns(&test_host, of_turn);
    let layer = move |context: StepContext, next: Next<StepContext>| {
        of_step.clone().listen(next.run(context))
    };
    let extended = test_host
        .agent
        .extend("steps", |api| api.pipeline().step(0, layer));
    extended.unwrap();
    let turn = instance(&test_host).open_turn("turn-1").await.unwrap();
    let step = turn.open_step().await.unwrap();
    for text in ["one", "two"] {
        turn_messages.send(Message::Answer(text)).await.unwrap();
        assert_eq!(answered(&mut turn_answers).await.as_deref(), Some(text));
        step_messages.send(Message::Answer(text)).await.unwrap();
        assert_eq!(answered(&mut step_answers).await.as_deref(), Some(text));
    }
    let call = tool_call("text__upper", json!({"text": "x"}));
    let result = step.execute_without_message(call).await;
    assert_eq!(result.output(), Some(&json!({"text": "X"})));
    let closed = step.close("step").await.unwrap();
    assert_eq!(closed, json!({"closed": "step"}));
    let closed = turn.close("turn").await.unwrap();
    assert_eq!(closed, json!({"closed": "turn"}));
}

#[tokio::test]
async fn a_layer_that_ends_or_panics_while_its_turn_is_open_decides_the_answer() {
    let test_host = test_host().await;
    let (of_turn, messages, mut answers) = listener();
    add_to_turns(&test_host, of_turn);
    let turn = instance(&test_host).open_turn("turn-1").await.unwrap();
    messages.send(Message::End("its own")).await.unwrap();
    assert_eq!(answered(&mut answers).await.as_deref(), Some("its own"));
    let step = turn.open_step().await.unwrap();
    step.close(()).await.unwrap();
    assert_eq!(turn.close("ours").await.unwrap(), json!("its own"));

    let turn = instance(&test_host).open_turn("turn-2").await.unwrap();
    messages.send(Message::Panic).await.unwrap();
    assert_eq!(answered(&mut answers).await.as_deref(), Some("panics"));
    let failed = turn.close("ours").await.unwrap_err();
    assert_eq!(failed.code.to_string(), "E_MIDDLEWARE");
    assert!(failed.message.contains("panicked"), "{}", failed.message);
}

#[tokio::test]
async fn dropping_a_turn_drops_its_layers_at_once() {
    struct OnDrop(Arc<AtomicBool>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.store(true, SeqCst);
        }
    }
    let test_host = test_host().await;
    let dropped = Arc::<AtomicBool>::default();
    let flag = Arc::clone(&dropped);
    let layer = move |context: TurnContext, next: Next<TurnContext>| {
        let on_drop = OnDrop(Arc::clone(&flag));
        async move {
            let answer = next.run(context).await;
            drop(on_drop);
            answer
        }
    };
    let extended = test_host
        .agent
        .extend("turns", |api| api.pipeline().turn(0, layer));
    extended.unwrap();
    let turn = instance(&test_host).open_turn("turn-1").await.unwrap();
    // The task that runs the layer has nothing left to do.
    tokio::task::yield_now().await;
    assert!(!dropped.load(SeqCst));
    drop(turn);
    assert!(dropped.load(SeqCst));
}

#[test]
fn layers_of_an_open_turn_need_no_runtime() {
    futures_executor::block_on(async {
        let test_host = test_host().await;
        let (of_turn, messages, mut answers) = listener();
        add_to_turns(&test_host, of_turn);
        let turn = instance(&test_host).open_turn("turn-1").await.unwrap();
        messages.send(Message::Answer("one")).await.unwrap();
        let sandbox = test_host.host.sandbox();
        let answer = sandbox
            .threads()
            .within(Duration::from_secs(20), answers.recv());
        assert_eq!(answer.await.flatten().as_deref(), Some("one"));
        let closed = turn.close("turn").await.unwrap();
        assert_eq!(closed, json!({"closed": "turn"}));
    });
}
