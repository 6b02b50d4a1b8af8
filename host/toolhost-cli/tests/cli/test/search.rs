//! Cases that search the tools of an agent.

use super::{cases, json};
use crate::terminal::Terminal;

#[test]
fn cases_say_which_tool_a_query_finds_and_that_it_finds_none() {
    let report = json(
        "\
- {name: finds it, search: text to upper case, finds: text__upper, within: 1}
- {name: finds it by name, search: text__fail, finds: text__fail, within: 1}
- {name: has none, search: resize an image, finds: nothing}
- {name: of the agent, search: say, finds: echo__say, context: {agentName: default}}
",
        0,
    );
    assert_eq!(report["passed"], 4);
    assert_eq!(report["cases"][2]["tool"], "nothing");
}

#[test]
fn a_search_that_finds_other_tools_fails_the_case() {
    let report = json(
        "\
- {name: another, search: upper, finds: echo__say, within: 3}
- {name: found, search: upper, finds: nothing}
",
        1,
    );
    let problem = |case: usize| report["cases"][case]["problems"][0].clone();
    assert_eq!(problem(0)["expected"], "echo__say among the first 3");
    assert_eq!(problem(0)["got"], "text__upper");
    assert_eq!(problem(1)["expected"], "nothing");
}

#[test]
fn a_search_case_has_its_own_keys() {
    let terminal = Terminal::new();
    for (case, problem) in [
        (
            "- {name: a, search: b, finds: text__upper, args: {}}",
            "unknown key 'args'",
        ),
        ("- {name: a, search: b}", "'finds' is missing"),
        (
            "- {name: a, search: '', finds: nothing}",
            "must not be empty",
        ),
        (
            "- {name: a, search: b, finds: text__upper, within: 51}",
            "'within' must be 1 to 50",
        ),
        (
            "- {name: a, search: b, finds: no__tool}",
            "no agent of the bundle has the tool 'no__tool'",
        ),
        (
            "- {name: a, tool: text__upper, within: 3}",
            "unknown key 'within'",
        ),
    ] {
        cases(&terminal, case).fails(2, problem);
    }
}
