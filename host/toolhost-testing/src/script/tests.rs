use serde_json::json;

use super::reference::resolve;
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
    let known = json!({"a": {"output": {"n": 1, "list": ["x", {"y": true}]}}, "text": "hi"});
    let known = known.as_object().unwrap();
    let check = |text: &str, expected: Value| {
        assert_eq!(resolve(&json!(text), known), Ok(expected), "{text}");
    };
    check("${a.output.n}", json!(1));
    check("${a.output.list.1}", json!({"y": true}));
    check("n is ${a.output.n}, ${text}!", json!("n is 1, hi!"));
    check("${text}${text}", json!("hihi"));
    check("plain $ {text}", json!("plain $ {text}"));
    let fails = |text: &str| {
        resolve(&json!([{"k": text}]), known)
            .unwrap_err()
            .to_string()
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
