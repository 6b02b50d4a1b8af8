use serde_json::json;

use super::reference::{ReferenceError, References};
use super::*;

const SCRIPT: &str = "
bundle: ./goondan.yaml
start: {agent: a, input: {n: 1}}
agents:
  a:
    steps:
      - one: {tool: t__x, args: {n: '${input.n}'}}
        two: {tool: t__y, background: true}
      - three: {poll: '${two.handle}', expect: E_TOOL_TIMEOUT}
    answer: '${three.error.code}'
";

#[test]
fn a_script_lists_the_calls_of_its_agents() {
    let script = Script::parse(SCRIPT, "s.yaml").unwrap();
    let agent = &script.agents["a"];
    let names: Vec<&String> = agent.steps[0].keys().collect();
    assert_eq!(names, ["one", "two"], "in the order written");
    assert!(agent.steps[0]["two"].background);
    assert_eq!(
        agent.steps[1]["three"].poll.as_deref(),
        Some("${two.handle}")
    );
}

#[test]
fn an_error_in_a_script_is_reported_with_its_place() {
    let check = |from: &str, to: &str, expected: &str| {
        let error = Script::parse(&SCRIPT.replace(from, to), "s.yaml").unwrap_err();
        let message = error.to_string();
        assert!(
            message.starts_with("the script s.yaml cannot be used: "),
            "{message}"
        );
        assert!(message.contains(expected), "{message}");
    };
    check(
        "agent: a,",
        "agent: b,",
        "start.agent 'b' is not among its agents",
    );
    check(
        "agent: a, input: {n: 1}}\nagents:\n  a:",
        "agent: writre}\nagents:\n  writer:",
        "start.agent 'writre' is not among its agents; did you mean 'writer'?",
    );
    check(
        "tool: t__y, ",
        "",
        "agents.a.steps[0].two: give one of tool, poll and cancel",
    );
    check("poll: '", "tool: t__z, poll: '", "exclude each other");
    check("answer:", "anser:", "anser");
    check("bundle: ./goondan.yaml", "", "bundle");
}

#[test]
fn a_reference_is_replaced_by_an_earlier_result() {
    let values = json!({"a": {"output": {"n": 1, "list": ["x", {"y": true}]}}, "text": "hi"});
    let values = values.as_object().unwrap();
    let check = |text: &str, expected: Value| {
        let resolved = References::new(values).resolve(&json!(text));
        assert_eq!(resolved, Ok(expected), "{text}");
    };
    check("${a.output.n}", json!(1));
    check("${a.output.list.1}", json!({"y": true}));
    check("n is ${a.output.n}, ${text}!", json!("n is 1, hi!"));
    check("${text}${text}", json!("hihi"));
    check("plain $ {text}", json!("plain $ {text}"));
    let fails = |text: &str| {
        let resolved = References::new(values).resolve(&json!([{"k": text}]));
        resolved.unwrap_err().to_string()
    };
    assert_eq!(
        fails("${b.output}"),
        "'${b.output}' cannot be resolved: there is no 'b', only a, text"
    );
    assert_eq!(
        fails("${a.output.m}"),
        "'${a.output.m}' cannot be resolved: there is no 'm', only n, list"
    );
    assert!(fails("${a.output").contains("no closing brace"));
}

/// A script of about 0.85 MB whose arguments refer to a large input again and again.
fn repeated_references() -> Script {
    let references = vec!["${input.text}"; 50_000];
    let text = "x".repeat(80_000);
    let script = json!({
        "bundle": "goondan.yaml", "start": {"agent": "a", "input": {"text": text}},
        "agents": {"a": {"steps": [{"one": {"tool": "t__x", "args": {"all": references}}}]}},
    });
    let script = script.to_string();
    assert!(script.len() > 850_000 && script.len() < SCRIPT_MAX);
    Script::parse(&script, "s.yaml").unwrap()
}

#[test]
fn references_are_replaced_up_to_a_limit_of_the_step() {
    let script = repeated_references();
    let values = json!({"input": script.start.input});
    let values = values.as_object().unwrap();
    let call = &script.agents["a"].steps[0]["one"];
    // Replaced, they are 4 GB.
    let resolved = References::new(values).resolve_object(&call.args);
    assert_eq!(
        resolved,
        Err(ReferenceError::TooLarge {
            reference: "input.text".to_owned()
        })
    );
    // Within one text as well, and many values are large without texts.
    let in_a_text = json!("${input.text} ".repeat(50_000));
    assert!(References::new(values).resolve(&in_a_text).is_err());
    let values = json!({"list": vec![0; 1_000]});
    let values = values.as_object().unwrap();
    let lists = json!(vec!["${list}"; 10_000]);
    assert!(References::new(values).resolve(&lists).is_err());
    // Calls of one step share the limit, those of the next have their own.
    let half = json!(vec!["${list}"; 200]);
    let mut step = References::new(values);
    assert!(step.resolve(&half).is_ok());
    assert!(step.resolve(&half).is_err());
    assert!(References::new(values).resolve(&half).is_ok());
}

#[test]
fn a_step_makes_a_limited_number_of_calls() {
    let script = |calls: usize| {
        let calls = (0..calls).map(|n| (format!("c{n}"), json!({"tool": "t__x"})));
        let step: serde_json::Map<String, Value> = calls.collect();
        let script = json!({
            "bundle": "b", "start": {"agent": "a"}, "agents": {"a": {"steps": [step]}},
        });
        Script::parse(&script.to_string(), "s.yaml")
    };
    assert!(script(CALLS_MAX).is_ok());
    let refused = script(CALLS_MAX + 1).unwrap_err().to_string();
    assert!(
        refused.contains("agents.a.steps[0] makes 257 calls at the same time"),
        "{refused}"
    );
}
