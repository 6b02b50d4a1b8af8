use super::*;

fn of(result: Value) -> Result<Value, HandlerError> {
    output(&ResourceName::parse("srv").unwrap(), result)
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[test]
fn the_output_has_every_part_of_the_content_once() {
    let image = json!({"type": "image", "data": "aGk=", "mimeType": "image/png"});
    let link = json!({"type": "resource_link", "uri": "file:///a", "name": "a"});
    let new = json!({"type": "hologram", "of": [1]});
    for (result, expected) in [
        (json!({}), Value::Null),
        (
            json!({"content": [], "structuredContent": null}),
            Value::Null,
        ),
        (json!({"content": null}), Value::Null),
        (
            json!({"content": [text("{\"n\": 1}")]}),
            json!("{\"n\": 1}"),
        ),
        (
            json!({"content": [text("the answer")], "structuredContent": null}),
            json!("the answer"),
        ),
        (
            json!({"content": [], "structuredContent": {"n": 1}}),
            json!({"n": 1}),
        ),
        (
            json!({"content": [text("a"), text("b")]}),
            json!({"content": [text("a"), text("b")]}),
        ),
        (
            json!({"content": [image, link, new]}),
            json!({"content": [image, link, new]}),
        ),
        (
            json!({"content": [image], "structuredContent": {"n": 1}}),
            json!({"structuredContent": {"n": 1}, "content": [image]}),
        ),
    ] {
        assert_eq!(of(result.clone()).unwrap(), expected, "{result}");
    }
}

#[test]
fn a_text_beside_data_is_left_out_only_if_it_says_the_same() {
    let long = format!("[{}]", "1".repeat(30));
    for (texts, data, repeats) in [
        (&["{\"n\": 1}"][..], json!({"n": 1}), true),
        (
            &["{\n  \"b\": [1.0],\n  \"a\": \"x\"\n}"],
            json!({"a": "x", "b": [1]}),
            true,
        ),
        (&["3"], json!({"result": 3}), true),
        (&["sunny"], json!({"result": "sunny"}), true),
        (&["1", "two"], json!({"result": [1, "two"]}), true),
        (&["{\"n\": 1}", "{\"n\": 1}"], json!({"n": 1}), true),
        (&["sunny"], json!("sunny"), true),
        (
            &["the page that was asked for"],
            json!({"cached": false}),
            false,
        ),
        (&["{\"n\": 2}"], json!({"n": 1}), false),
        (&["{\"n\": 1}", "and a warning"], json!({"n": 1}), false),
        (&["1"], json!({"result": [1, 2]}), false),
        (&["3"], json!({"result": 3, "more": true}), false),
        (&[long.as_str()], json!([1e29]), false),
    ] {
        let blocks: Vec<Value> = texts.iter().map(|it| text(it)).collect();
        let output = of(json!({"content": blocks, "structuredContent": data})).unwrap();
        let both = json!({"structuredContent": data, "content": blocks});
        assert_eq!(output, if repeats { data } else { both }, "{texts:?}");
    }
}

#[test]
fn a_result_marked_as_an_error_is_an_error_with_its_text() {
    for (result, expected) in [
        (
            json!({"content": [text("no such city")], "isError": true}),
            "no such city",
        ),
        (
            json!({"content": [], "structuredContent": {"why": 1}, "isError": true}),
            "{\"why\":1}",
        ),
        (
            json!({"isError": true, "structuredContent": null}),
            "The tool of the MCP server 'srv' failed and gave no reason.",
        ),
    ] {
        let error = of(result).unwrap_err();
        assert_eq!(error.message, expected);
        assert_eq!(error.code.as_deref(), Some("MCP_TOOL_ERROR"));
    }
}

#[test]
fn what_is_no_result_of_a_tool_is_an_invalid_answer() {
    for (result, code) in [
        (json!([1]), "MCP_INVALID_ANSWER"),
        (json!({"content": {"not": "a list"}}), "MCP_INVALID_ANSWER"),
        (json!({"content": ["text"]}), "MCP_INVALID_ANSWER"),
        (json!({"resultType": "task"}), "MCP_INVALID_ANSWER"),
        (
            json!({"resultType": "input_required"}),
            "MCP_INPUT_REQUIRED",
        ),
    ] {
        let error = of(result.clone()).unwrap_err();
        assert_eq!(error.code.as_deref(), Some(code), "{result}");
    }
}
