use serde_json::{Value, json};

use super::*;

fn parse(message: Value) -> Result<AssistantMessage, MessageError> {
    AssistantMessage::parse(message)
}

fn call(id: &str, name: &str, args: Value) -> ToolCall {
    let Value::Object(args) = args else {
        return ToolCall::new(id, name, JsonObject::new());
    };
    ToolCall::new(id, name, args)
}

#[test]
fn a_message_must_be_the_assistants() {
    // tool-spec-v2 §2.5(4)
    let content = json!([{"type": "tool-call", "toolCallId": "c1"}]);
    let role = |role: &str| Err(MessageError::Role(role.to_owned()));
    assert_eq!(
        parse(json!({"role": "user", "content": content})),
        role("user")
    );
    assert_eq!(parse(json!({"content": content})), role("none"));
    assert_eq!(parse(json!("c1")), Err(MessageError::NotAnObject));
}

#[test]
fn the_calls_of_each_provider_are_found() {
    let expected = [
        call("c1", "text__upper", json!({"text": "a"})),
        call("c2", "echo__say", json!({})),
    ];
    let ai_sdk = json!([
        {"type": "text", "text": "c9"},
        {"type": "tool-call", "toolCallId": "c1", "toolName": "text__upper", "input": {"text": "a"}},
        {"type": "tool-call", "toolCallId": "c2", "toolName": "echo__say", "args": {}},
        {"type": "tool-call", "toolCallId": "c3", "toolName": "web_search", "input": {}, "providerExecuted": true},
    ]);
    let anthropic = json!([
        {"type": "text", "text": "c9"},
        {"type": "tool_use", "id": "c1", "name": "text__upper", "input": {"text": "a"}},
        {"type": "server_tool_use", "id": "c3", "name": "web_search", "input": {}},
        {"type": "tool_use", "id": "c2", "name": "echo__say", "input": {}},
    ]);
    let openai = json!([
        {"id": "c1", "type": "function", "function": {"name": "text__upper", "arguments": "{\"text\": \"a\"}"}},
        {"id": "c2", "type": "function", "function": {"name": "echo__say", "arguments": ""}},
    ]);
    let messages = [
        json!({"role": "assistant", "content": ai_sdk}),
        json!({"id": "m1", "data": {"role": "assistant", "content": ai_sdk}}),
        json!({"role": "assistant", "content": anthropic}),
        json!({"role": "assistant", "content": null, "tool_calls": openai}),
    ];
    for message in messages {
        let message = parse(message).unwrap();
        assert_eq!(message.tool_calls(), expected);
        assert!(message.contains_call("c1") && message.contains_call("c2"));
        assert!(!message.contains_call("c3") && !message.contains_call("c9"));
        let absent = Err(MessageError::NoSuchCall("c3".to_owned()));
        assert_eq!(message.with_call("c3"), absent);
    }
    let answer = parse(json!({"role": "assistant", "content": "done"})).unwrap();
    assert_eq!(answer.tool_calls(), []);
}

#[test]
fn arguments_that_are_no_object_are_an_error_of_their_call_alone() {
    let openai = |id: &str, arguments: Value| json!({"id": id, "type": "function", "function": {"name": "a__b", "arguments": arguments}});
    let message = parse(json!({"role": "assistant", "tool_calls": [
        openai("cut", json!("{\"text\": \"a")),
        openai("list", json!("[1]")),
        openai("number", json!(1)),
        openai("object", json!({"x": 1})),
        openai("none", json!(null)),
    ]}));
    let message = message.unwrap();
    let errors: Vec<_> = message
        .tool_calls()
        .iter()
        .map(ToolCall::args_error)
        .collect();
    let cut = "their text is not valid JSON: EOF while parsing a string at line 1 column 11";
    let other = Some("they are not a JSON object");
    assert_eq!(errors, [Some(cut), other, other, None, None]);
    assert_eq!(message.tool_calls()[3].args["x"], 1);
}

/// Why the arguments of a call, written as text, are refused.
fn refused_text(arguments: &str) -> String {
    let call = json!({"id": "c", "type": "function", "function": {"name": "a__b", "arguments": arguments}});
    let message = parse(json!({"role": "assistant", "tool_calls": [call]})).unwrap();
    message.tool_calls()[0].args_error().unwrap().to_owned()
}

#[test]
fn text_arguments_that_would_change_in_silence_are_refused_with_their_place() {
    assert_eq!(
        refused_text(r#"{"items":[{"id":123456789012345678901234567890}]}"#),
        "their text has the integer 123456789012345678901234567890 at /items/0/id, which 64 bits cannot \
         hold: write it as a string"
    );
    assert_eq!(
        refused_text(r#"{"x":{"y":NaN}}"#),
        "their text has the number NaN at /x/y, which is not finite"
    );
}

#[test]
fn text_arguments_of_many_values_are_refused_before_they_are_parsed() {
    let text = format!("{{\"l\":[{}0]}}", "[],".repeat(600_000));
    assert_eq!(
        refused_text(&text),
        "their text has 1200003 values, at most 1000000 are allowed"
    );
}

#[test]
fn calls_that_no_result_could_name_are_refused() {
    let calls = |ids: [Value; 2]| {
        let part = |id: &Value| json!({"type": "tool_use", "id": id, "name": "a__b", "input": {}});
        let parts: Vec<Value> = ids.iter().map(part).collect();
        parse(json!({"role": "assistant", "content": parts}))
    };
    let twice = Err(MessageError::DuplicateId("c1".to_owned()));
    assert_eq!(calls([json!("c1"), json!("c1")]), twice);
    let without = Err(MessageError::CallWithoutId(2));
    assert_eq!(calls([json!("c1"), json!(null)]), without);
    assert!(calls([json!("c1"), json!("c2")]).is_ok());
}

#[test]
fn makes_a_message_with_one_call() {
    let call = call("c1", "a__b", json!({"x": 1}));
    let message = AssistantMessage::for_call(&call);
    assert_eq!(message.tool_calls(), [call]);
    let value = Value::Object(message.as_object().clone());
    assert_eq!(parse(value), Ok(message));
}
