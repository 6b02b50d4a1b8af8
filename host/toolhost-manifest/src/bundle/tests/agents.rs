//! The resource `kind: Agent`.

use super::*;

#[test]
fn an_agent_names_its_tools_in_any_form() {
    // tool-spec-v2 §2.1(2)
    let listed = |tools: &str| {
        let text = format!("{BASH}---\n{}", agent(&format!("{{tools: {tools}}}")));
        let bundle = parse(&text).unwrap();
        let names = bundle.agents()[0].spec.tools.iter();
        names.map(ToString::to_string).collect::<Vec<_>>()
    };
    for form in [
        "[Tool/bash]",
        "[{ref: Tool/bash}]",
        "[{kind: Tool, name: bash}]",
        "[{ref: {kind: Tool, name: bash}}]",
    ] {
        assert_eq!(listed(form), ["bash"], "{form}");
    }
    assert_eq!(listed("[]"), [""; 0]);
    let rest = "{modelConfig: {modelRef: Model/x}, prompts: {}, extensions: [], hooks: [], requiredTools: []}";
    check(&format!("{BASH}---\n{}", agent(rest)), &[]);
}

#[test]
fn an_agents_references_are_well_formed_and_declared() {
    let refused = |tools: &str, expected: &[&str]| {
        check(
            &format!("{BASH}---\n{}", agent(&format!("{{tools: {tools}}}"))),
            expected,
        );
    };
    let at = |column: usize, rest: &str| {
        format!("23:{column}: error[E_CONFIG_INVALID_REF] documents[1].spec.tools[0]{rest}")
    };
    refused("[bash]", &[&at(16, ": 'bash' has no kind")]);
    refused(
        "[5]",
        &[&at(16, ": expected a reference but got an integer")],
    );
    refused(
        "[Agent/bash]",
        &[&at(
            16,
            ": an Agent's tools are of kind Tool or McpServer, not 'Agent'",
        )],
    );
    refused(
        "[{ref: Model/m}]",
        &[&at(
            22,
            ".ref: an Agent's tools are of kind Tool or McpServer, not 'Model'",
        )],
    );
    refused(
        "[Tool/a__b]",
        &[&at(
            16,
            ": 'a__b' must not contain '__', which separates the tool from its export",
        )],
    );
    refused(
        "[{kind: Tool, nam: bash}]",
        &[
            "23:16: error[E_CONFIG_SCHEMA_INVALID] documents[1].spec.tools[0]: 'name' is missing",
            "23:29: error[E_CONFIG_SCHEMA_INVALID] documents[1].spec.tools[0].nam: unknown key 'nam'",
        ],
    );
    refused(
        "[Tool/bsh]",
        &[
            "23:16: error[E_CONFIG_REF_NOT_FOUND] documents[1].spec.tools[0]: \
           Tool/bsh is not declared in this bundle",
        ],
    );
    refused(
        "[Tool/bash, {ref: Tool/bash}]",
        &[
            "23:33: warning[E_CONFIG_DUPLICATE_NAME] documents[1].spec.tools[1].ref: \
           duplicate reference to Tool/bash",
        ],
    );
    refused(
        "5",
        &[
            "23:15: error[E_CONFIG_SCHEMA_INVALID] documents[1].spec.tools: \
                    expected a list but got an integer",
        ],
    );
}

#[test]
fn an_agent_names_its_mcp_servers_and_may_require_their_tools() {
    let server = mcp_server(
        "srv",
        "{transport: {http: {url: https://a.example/mcp}}, prefix: p}",
    );
    let with = |spec: &str| format!("{server}---\n{}", agent(spec));
    let bundle = parse(&with("{tools: [McpServer/srv], requiredTools: [p__any]}")).unwrap();
    assert_eq!(bundle.agents()[0].spec.mcp_servers[0].as_str(), "srv");
    for (spec, help) in [
        ("{tools: [McpServer/srv1]}", "Did you mean McpServer/srv?"),
        (
            "{requiredTools: [p__any]}",
            "Add \"McpServer/srv\" to spec.tools.",
        ),
        (
            "{tools: [McpServer/srv], requiredTools: [srv__any]}",
            "Add \"Tool/srv\" to spec.tools.",
        ),
    ] {
        let findings = parse(&with(spec)).unwrap_err();
        assert_eq!(findings[0].help, help, "{spec}");
    }
}

#[test]
fn a_required_tool_that_is_misspelt_is_reported_with_the_one_that_was_meant() {
    let tool = tool_spec("{entry: t.wasm, exports: [{name: count}, {name: sum}]}");
    for (required, help) in [
        ("t__cuont", "Did you mean 't__count'?"),
        ("tt__count", "Did you mean 't__count'?"),
        ("t__other", "Tool/t exports count, sum."),
        ("web__fetch", "Add \"Tool/web\" to spec.tools."),
    ] {
        let agent = agent(&format!("{{tools: [Tool/t], requiredTools: [{required}]}}"));
        let findings = parse(&format!("{tool}---\n{agent}")).unwrap_err();
        assert_eq!(findings[0].help, help, "{required}");
    }
}
