//! `child::serve`, over a pipe in this process.

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};
use tokio::task::JoinHandle;

use super::*;

/// The orchestrator's end of the pipe.
struct Parent {
    to: DuplexStream,
    from: BufReader<DuplexStream>,
    served: JoinHandle<Result<(), child::ServeError>>,
}

impl Parent {
    fn of(agent: &AgentSetup) -> Self {
        let setup::Start::InProcess(start) = &agent.start else {
            panic!("not an agent in this process");
        };
        let agent = start(&InstanceId::new("a", "k"));
        let (to, reader) = duplex(1 << 16);
        let (writer, from) = duplex(1 << 16);
        Self {
            to,
            from: BufReader::new(from),
            served: tokio::spawn(child::serve(agent, reader, writer)),
        }
    }

    async fn send_line(&mut self, line: &str) {
        self.to.write_all(line.as_bytes()).await.unwrap();
        self.to.write_all(b"\n").await.unwrap();
    }

    async fn send_event(&mut self, payload: Value) {
        let message =
            json!({"type": "event", "from": "orchestrator", "to": "a", "payload": payload});
        self.send_line(&message.to_string()).await;
    }

    async fn next_message(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

fn event_json(id: &str, input: Value) -> Value {
    json!({
        "id": id, "type": "agent.request", "createdAt": "2026-11-21T05:00:00.000Z",
        "source": {"kind": "agent", "name": "b"}, "instanceKey": "k", "input": input,
        "metadata": {"deliveryAttempt": 2}, "traceId": "t",
    })
}

fn request_json(id: &str, correlation_id: &str, input: Value) -> Value {
    let mut event = event_json(id, input);
    event["replyTo"] = json!({"target": "b", "correlationId": correlation_id});
    event
}

#[tokio::test]
async fn a_request_is_answered_and_any_other_event_acknowledged() {
    let agent = script(|event, turn| async move {
        assert_eq!(turn.attempt(), 2);
        match event.input {
            Some(Value::String(why)) => Err(HandlerError {
                message: why,
                code: Some("ENO".to_owned()),
                ..HandlerError::default()
            }),
            other => Ok(json!(other)),
        }
    });
    let mut parent = Parent::of(&agent);
    parent
        .send_event(request_json("e-1", "c-1", json!(1)))
        .await;
    let answer = parent.next_message().await;
    assert_eq!((&answer["from"], &answer["to"]), (&json!("a"), &json!("b")));
    let event = &answer["payload"];
    assert_eq!(event["type"], json!("agent.response"));
    assert_eq!(event["metadata"], json!({"inReplyTo": "c-1"}));
    assert_eq!(
        (&event["input"], &event["traceId"]),
        (&json!(1), &json!("t"))
    );

    parent
        .send_event(request_json("e-2", "c-2", json!("no")))
        .await;
    let error = json!({"message": "no", "code": "ENO"});
    let expected = json!({"inReplyTo": "c-2", "error": error});
    assert_eq!(parent.next_message().await["payload"]["metadata"], expected);

    parent.send_event(event_json("e-3", json!(3))).await;
    let end = parent.next_message().await;
    assert_eq!(end["to"], json!("orchestrator"));
    assert_eq!(end["payload"]["type"], json!("turn.completed"));
    assert_eq!(end["payload"]["metadata"], json!({"eventId": "e-3"}));

    parent.send_event(event_json("e-4", json!("no"))).await;
    let end = parent.next_message().await;
    assert_eq!(end["payload"]["type"], json!("turn.failed"));
    assert_eq!(
        end["payload"]["metadata"],
        json!({"eventId": "e-4", "error": error})
    );
}

#[tokio::test]
async fn invalid_lines_are_ignored_and_the_end_of_the_stream_ends_the_process() {
    let mut parent = Parent::of(&echo());
    let long = "x".repeat(2 << 20);
    for line in [
        "",
        "garbage",
        "{}",
        r#"{"type":"reboot","from":"a","to":"b"}"#,
        &long,
    ] {
        parent.send_line(line).await;
    }
    parent
        .send_event(request_json("e-1", "c-1", json!(1)))
        .await;
    assert_eq!(parent.next_message().await["payload"]["input"], json!(1));
    drop(parent.to);
    parent.served.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_shutdown_is_acknowledged_after_the_running_turn() {
    let gate = Gate::new();
    let mut parent = Parent::of(&gate.agent());
    parent
        .send_event(request_json("e-1", "c-1", json!(1)))
        .await;
    parent
        .send_event(request_json("e-2", "c-2", json!(2)))
        .await;
    eventually("the turn runs", async || gate.begun() == 1).await;
    let shutdown = json!({"type": "shutdown", "from": "orchestrator", "to": "a", "payload": null});
    parent.send_line(&shutdown.to_string()).await;
    gate.release(2);
    assert_eq!(parent.next_message().await["payload"]["input"], json!(1));
    assert_eq!(parent.next_message().await["type"], json!("shutdown_ack"));
    parent.served.await.unwrap().unwrap();
    assert_eq!(gate.begun(), 1);
}

#[tokio::test]
async fn a_panic_ends_the_process() {
    let mut parent = Parent::of(&script(|_, _| async { panic!("on purpose") }));
    parent.send_event(event_json("e-1", json!(1))).await;
    let ended = parent.served.await.unwrap();
    assert!(matches!(ended, Err(child::ServeError::Panicked)));
}

// tool-spec-v2-earlier §9.1
#[tokio::test]
async fn a_delegate_is_answered_by_a_delegate_result() {
    let mut parent = Parent::of(&echo());
    let delegate = json!({
        "type": "delegate", "from": "b", "to": "a", "payload": {"x": 1}, "correlationId": "c-1",
    });
    parent.send_line(&delegate.to_string()).await;
    let expected = json!({
        "type": "delegate_result", "from": "a", "to": "b", "correlationId": "c-1",
        "payload": {"status": "ok", "output": {"x": 1}},
    });
    assert_eq!(parent.next_message().await, expected);
}

#[tokio::test]
async fn a_turn_sends_requests_and_messages_through_the_pipe() {
    let agent = script(|_, turn| async move {
        let agents = turn.agents();
        let mut first = request("c", json!("hello"));
        first.timeout = Duration::from_secs(7);
        first.metadata = json!({"mine": 1}).as_object().cloned();
        let asked = agents.request(first).await.map_err(to_handler_error)?;
        let mut second = request("c", Value::Null);
        second.mode = Mode::Async;
        let refused = agents.request(second).await.unwrap_err();
        let sent = agents.send(Message::new("c", json!(3))).await;
        let sent = sent.map_err(to_handler_error)?;
        Ok(json!([
            asked,
            refused.code().as_str(),
            refused.to_string(),
            sent
        ]))
    });
    let mut parent = Parent::of(&agent);
    parent
        .send_event(request_json("e-1", "c-1", Value::Null))
        .await;

    let first = parent.next_message().await;
    assert_eq!((&first["from"], &first["to"]), (&json!("a"), &json!("c")));
    let event = &first["payload"];
    assert_eq!(event["type"], json!("agent.request"));
    assert_eq!(
        (&event["input"], &event["traceId"]),
        (&json!("hello"), &json!("t"))
    );
    let metadata = json!({"mine": 1, "delivery": {"timeoutMs": 7000}});
    assert_eq!(event["metadata"], metadata);
    assert_eq!(event["replyTo"]["target"], json!("a"));
    let correlation_id = event["replyTo"]["correlationId"].clone();
    let event_id = event["id"].clone();
    let from_orchestrator = |event_type: &str, input: Value, metadata: Value| {
        json!({
            "id": "o", "type": event_type, "createdAt": "2026-11-21T05:00:00.000Z",
            "source": {"kind": "orchestrator", "name": "orchestrator"},
            "input": input, "metadata": metadata,
        })
    };
    // An answer to no request of this process is ignored.
    let stray = json!({"inReplyTo": "stray"});
    let stray = from_orchestrator("agent.response", json!("stray"), stray);
    parent.send_event(stray).await;
    let answer = json!({"inReplyTo": correlation_id});
    let answer = from_orchestrator("agent.response", json!({"n": 1}), answer);
    parent.send_event(answer).await;

    let second = parent.next_message().await["payload"].take();
    assert_eq!(second["metadata"], json!({"delivery": {"async": true}}));
    let error =
        json!({"code": "AGENT_NOT_FOUND", "message": "agent 'c' is not known", "host": true});
    let refused = json!({"eventId": second["id"], "error": error});
    let refused = from_orchestrator("event.refused", Value::Null, refused);
    parent.send_event(refused).await;

    let third = parent.next_message().await["payload"].take();
    assert_eq!(
        (&third["type"], &third["replyTo"]),
        (&json!("agent.send"), &Value::Null)
    );
    let accepted = json!({"eventId": third["id"]});
    let accepted = from_orchestrator("event.accepted", Value::Null, accepted);
    parent.send_event(accepted).await;

    let end = parent.next_message().await["payload"]["input"].take();
    let expected = json!([
        {"target": "c", "eventId": event_id, "correlationId": correlation_id, "accepted": true,
         "async": false, "response": {"n": 1}},
        "AGENT_NOT_FOUND",
        "agent 'c' is not known",
        {"target": "c", "eventId": third["id"], "accepted": true, "sent": true},
    ]);
    assert_eq!(end, expected);
}
