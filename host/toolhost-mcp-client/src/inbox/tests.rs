use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, DiscoverRequest,
    DiscoverRequestParams, JsonRpcMessage,
};
use serde_json::json;
use toolhost::ResourceName;

use super::*;
use crate::answer::CallSlot;
use crate::limits::McpLimits;

fn watch() -> Watch {
    let limits = McpLimits {
        message_values: 1_000,
        ..McpLimits::default()
    };
    Watch::new(ResourceName::parse("srv").unwrap(), &limits)
}

/// Sends a call, and returns where its result will be.
fn call(watch: &Watch, id: i64) -> CallSlot {
    let slot = CallSlot::default();
    let mut request = CallToolRequest::new(CallToolRequestParams::new("echo"));
    request.extensions.insert(slot.clone());
    let request = ClientRequest::CallToolRequest(request);
    watch.sending(&ClientJsonRpcMessage::request(
        request,
        RequestId::Number(id),
    ));
    slot
}

/// Reads a text. Returns the ids that it answers, and those that it answers with an error.
async fn read(watch: &Watch, text: &str) -> (Vec<i64>, Vec<i64>) {
    let incoming = Incoming::of(text.as_bytes()).await;
    let (mut answered, mut failed) = (Vec::new(), Vec::new());
    for message in watch.read(&incoming) {
        match message {
            JsonRpcMessage::Response(response) => answered.push(response.id),
            JsonRpcMessage::Error(error) => failed.push(error.id.unwrap()),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => {}
        }
    }
    let number = |id: RequestId| match id {
        RequestId::Number(number) => number,
        RequestId::String(text) => panic!("{text}"),
    };
    let numbers = |ids: Vec<RequestId>| ids.into_iter().map(number).collect();
    (numbers(answered), numbers(failed))
}

fn result(slot: &CallSlot) -> Result<Value, String> {
    slot.take().expect("a result").result
}

#[tokio::test]
async fn the_first_answer_to_a_request_is_its_result_and_no_other_is() {
    let watch = watch();
    let (one, two) = (call(&watch, 1), call(&watch, 2));
    assert_eq!(
        read(&watch, r#"{"id": 3, "result": {}}"#).await,
        (vec![], vec![])
    );
    assert_eq!(
        read(&watch, r#"{"id": "2", "result": {"n": 2}}"#).await,
        (vec![2], vec![])
    );
    assert_eq!(
        read(&watch, r#"{"id": 2, "result": {"n": 3}}"#).await,
        (vec![], vec![])
    );
    assert_eq!(result(&two), Ok(json!({"n": 2})));
    assert!(one.take().is_none());
    // A session that is initialized again sends a request again: its result has the same place.
    call(&watch, 1);
    assert_eq!(
        read(&watch, r#"{"id": 1, "result": {}}"#).await,
        (vec![1], vec![])
    );
    assert_eq!(result(&one), Ok(json!({})));
}

#[tokio::test]
async fn a_batch_answers_all_of_its_requests() {
    let watch = watch();
    let (one, two) = (call(&watch, 1), call(&watch, 2));
    let batch = r#"[{"id": 2, "result": [NaN]}, {"method": "x"}, {"id": 1, "result": {"a": "\ud83d"}}, {"id": 9}]"#;
    assert_eq!(read(&watch, batch).await, (vec![2, 1], vec![]));
    assert_eq!(result(&one), Ok(json!({"a": "\u{fffd}"})));
    let reason = result(&two).unwrap_err();
    assert!(reason.contains("NaN at /0"), "{reason}");
}

#[tokio::test]
async fn an_error_without_an_id_ends_a_request_that_waits_alone() {
    let watch = watch();
    let error = r#"{"id": null, "error": {"code": -32700, "message": "parse error"}}"#;
    assert_eq!(read(&watch, error).await, (vec![], vec![]));
    call(&watch, 1);
    assert_eq!(read(&watch, error).await, (vec![], vec![1]));
    call(&watch, 2);
    call(&watch, 3);
    assert_eq!(read(&watch, error).await, (vec![], vec![]));
}

#[tokio::test]
async fn a_result_of_too_many_values_is_none_and_an_answer_without_a_result_is_an_error() {
    let watch = watch();
    let many = call(&watch, 1);
    let text = format!(r#"{{"id": 1, "result": [{}0]}}"#, "0,".repeat(1_000));
    assert_eq!(read(&watch, &text).await, (vec![1], vec![]));
    let reason = result(&many).unwrap_err();
    assert_eq!(
        reason,
        "its answer has 1002 values, at most 1000 are allowed"
    );
    call(&watch, 2);
    assert_eq!(read(&watch, r#"{"id": 2}"#).await, (vec![], vec![2]));
}

#[tokio::test]
async fn a_nonsensical_answer_to_server_discover_is_an_error() {
    for nonsense in ["{}", "\"yes\"", "null", "[1]", "NaN"] {
        let watch = watch();
        let request = DiscoverRequest::new(DiscoverRequestParams {});
        let request = ClientRequest::DiscoverRequest(request);
        watch.sending(&ClientJsonRpcMessage::request(
            request,
            RequestId::Number(0),
        ));
        let text = format!(r#"{{"id": 0, "result": {nonsense}}}"#);
        assert_eq!(read(&watch, &text).await, (vec![], vec![0]), "{nonsense}");
        assert!(watch.has_answered.is_cancelled());
    }
}

#[tokio::test]
async fn messages_in_a_batch_count_as_others_do() {
    let watch = watch();
    let flood = format!("[{}1]", "{},".repeat(20_000));
    assert_eq!(read(&watch, &flood).await, (vec![], vec![]));
    assert!(watch.failed.is_cancelled());
    let requests =
        (0..40).map(|id| format!(r#"{{"jsonrpc": "2.0", "id": "r{id}", "method": "ping"}}"#));
    let requests = requests.collect::<Vec<_>>().join(",");
    let watch = super::tests::watch();
    read(&watch, &format!("[{requests}]")).await;
    let reason = watch.failure().unwrap();
    assert!(reason.contains("more than 32 requests"), "{reason}");
}
