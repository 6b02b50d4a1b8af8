mod agents;
mod mcp_servers;
mod oauth_apps;
mod tools;

use toolhost_contract::ErrorMessageLimit;

use super::*;

/// The tool specification's own example, with a component as entry.
const BASH: &str = r#"apiVersion: goondan.ai/v1
kind: Tool
metadata:
  name: bash
  labels:
    tier: base
spec:
  entry: "./tools/bash.wasm"
  errorMessageLimit: 1200
  exports:
    - name: exec
      description: "셸 명령 실행"
      parameters:
        type: object
        properties:
          command: { type: string }
        required: [command]
    - name: script
"#;

fn parse(text: &str) -> Result<Bundle, Vec<Diagnostic>> {
    Bundle::parse(&YamlSource::new("b.yaml", text))
}

/// What is found, one line each, without the file's name.
fn found(text: &str) -> Vec<String> {
    let findings = match parse(text) {
        Ok(bundle) => bundle.diagnostics().to_vec(),
        Err(findings) => findings,
    };
    let shown = |finding: &Diagnostic| {
        let line = finding.to_string();
        line.strip_prefix("b.yaml:")
            .unwrap()
            .trim_start()
            .to_owned()
    };
    findings.iter().map(shown).collect()
}

/// A Tool `t` in one line of YAML for each of `metadata` and `spec`.
fn tool(metadata: &str, spec: &str) -> String {
    format!("apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {metadata}\nspec: {spec}\n")
}

fn tool_spec(spec: &str) -> String {
    tool("{name: t}", spec)
}

fn agent(spec: &str) -> String {
    format!("apiVersion: goondan.ai/v1\nkind: Agent\nmetadata: {{name: a}}\nspec: {spec}\n")
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(found(text), expected, "{text}");
}

#[test]
fn reads_the_specifications_own_example() {
    // tool-spec-v2 §4.1, §4.2
    let bundle = parse(BASH).unwrap();
    let [bash] = bundle.tools() else {
        panic!("one tool");
    };
    assert_eq!(bash.metadata.name.as_str(), "bash");
    assert_eq!(
        bash.metadata.labels.get("tier").map(String::as_str),
        Some("base")
    );
    assert_eq!(bash.spec.entry, "./tools/bash.wasm");
    assert_eq!(bash.spec.error_message_limit.units(), 1200);
    let [exec, script] = bash.spec.exports.as_slice() else {
        panic!("two exports");
    };
    assert_eq!(exec.name.as_str(), "exec");
    assert_eq!(exec.description.as_deref(), Some("셸 명령 실행"));
    let parameters = exec.parameters.as_ref().unwrap().to_value();
    assert_eq!(parameters["required"], serde_json::json!(["command"]));
    assert_eq!((&script.description, &script.parameters), (&None, &None));
    assert!(bundle.diagnostics().is_empty());
}

#[test]
fn knows_the_places_of_the_parts_of_a_tool() {
    let bundle = parse(BASH).unwrap();
    let places = bundle.places(&bundle.tools()[0].metadata.name).unwrap();
    let at = |place: &Place| {
        let position = place.position.unwrap();
        (position.line, position.column, place.document_path.clone())
    };
    assert_eq!(
        at(&places.name),
        (4, 9, "documents[0].metadata.name".to_owned())
    );
    assert_eq!(
        at(&places.entry),
        (8, 10, "documents[0].spec.entry".to_owned())
    );
    let exports: Vec<_> = places.exports.iter().map(at).collect();
    assert_eq!(
        exports[0],
        (11, 13, "documents[0].spec.exports[0].name".to_owned())
    );
    assert_eq!(
        exports[1],
        (18, 13, "documents[0].spec.exports[1].name".to_owned())
    );
    let span = places.exports[1].position.unwrap().span;
    assert_eq!(
        BASH.get(span.offset..span.offset + span.length),
        Some("script")
    );
}

#[test]
fn resource_names_are_unique_within_a_kind() {
    let spec = "{entry: t.wasm, exports: [{name: x}]}";
    let twice = format!("{}---\n{}", tool_spec(spec), tool_spec(spec));
    check(
        &twice,
        &[
            "8:18: error[E_CONFIG_DUPLICATE_NAME] documents[1].metadata.name: \
           duplicate Tool/t: the first is in line 3",
        ],
    );
    let first = &parse(&twice).unwrap_err()[0].related[0];
    assert_eq!(first.message, "declared here first");
    assert_eq!(first.place.position.unwrap().line, 3);
    let same_name = agent("{tools: []}").replace("name: a", "name: t");
    check(&format!("{}---\n{same_name}", tool_spec(spec)), &[]);
}

#[test]
fn keys_removed_in_v2_and_unknown_keys_are_findings() {
    // tool-spec-v2 §1.2, §2.7(1)
    let text = "apiVersion: agents.example.io/v1alpha1\n\
                kind: Tool\n\
                metadata: {name: t, lables: {}, labels: {a: 1}}\n\
                spec: {runtime: node, entry: t.wasm, auth: {}, extra: 1, exports: [{name: x, params: {}}]}\n\
                status: {}\n";
    check(
        text,
        &[
            "1:13: error[E_CONFIG_UNSUPPORTED_API_VERSION] documents[0].apiVersion: \
             apiVersion 'agents.example.io/v1alpha1' was removed in v2",
            "3:21: error[E_CONFIG_SCHEMA_INVALID] documents[0].metadata.lables: unknown key 'lables'",
            "3:45: error[E_CONFIG_SCHEMA_INVALID] documents[0].metadata.labels.a: \
             expected a string but got an integer",
            "4:8: error[E_CONFIG_SCHEMA_INVALID] documents[0].spec.runtime: 'spec.runtime' was removed in v2",
            "4:38: error[E_CONFIG_SCHEMA_INVALID] documents[0].spec.auth: 'spec.auth' was removed in v2",
            "4:48: error[E_CONFIG_SCHEMA_INVALID] documents[0].spec.extra: unknown key 'extra'",
            "4:78: error[E_CONFIG_SCHEMA_INVALID] documents[0].spec.exports[0].params: unknown key 'params'",
            "5:1: error[E_CONFIG_SCHEMA_INVALID] documents[0].status: unknown key 'status'",
        ],
    );
    let help: Vec<String> = parse(text)
        .unwrap_err()
        .into_iter()
        .map(|finding| finding.help)
        .collect();
    assert_eq!(help[1], "Did you mean 'labels'?");
    assert_eq!(
        help[6],
        "Known keys: name, description, parameters, outputSchema, commitWhen."
    );
    assert_eq!(help[7], "Known keys: apiVersion, kind, metadata, spec.");
}

#[test]
fn other_kinds_of_the_specification_are_ignored_and_unknown_ones_refused() {
    let other =
        |kind: &str| format!("apiVersion: goondan.ai/v1\nkind: {kind}\nmetadata: {{name: Any}}\n");
    for kind in [
        "Package",
        "Model",
        "Extension",
        "Swarm",
        "Connector",
        "Connection",
        "Trigger",
    ] {
        let text = format!("{BASH}---\n{}", other(kind));
        check(
            &text,
            &[&format!(
                "21:7: note[E_CONFIG_SCHEMA_INVALID] documents[1].kind: kind {kind} is ignored: \
             toolhost reads Tool, Agent, McpServer and OAuthApp"
            )],
        );
        assert_eq!(parse(&text).unwrap().tools().len(), 1);
    }
    let unknown = format!("{BASH}---\n{}", other("tool"));
    check(
        &unknown,
        &["21:7: error[E_CONFIG_SCHEMA_INVALID] documents[1].kind: unknown kind 'tool'"],
    );
    assert_eq!(parse(&unknown).unwrap_err()[0].help, "Did you mean Tool?");
}

#[test]
fn a_document_needs_an_api_version_and_a_kind() {
    let code = "error[E_CONFIG_SCHEMA_INVALID] documents[1]";
    let second =
        |document: &str, expected: &[&str]| check(&format!("{BASH}---\n{document}"), expected);
    second(
        "just text\n",
        &[&format!(
            "20:1: {code}: expected a mapping but got a string"
        )],
    );
    second(
        "- 1\n",
        &[&format!("20:1: {code}: expected a mapping but got a list")],
    );
    second(
        "kind: Tool\n",
        &[
            "20:1: error[E_CONFIG_UNSUPPORTED_API_VERSION] documents[1]: 'apiVersion' is missing",
            &format!("20:1: {code}: 'metadata' is missing"),
            &format!("20:1: {code}: 'spec' is missing"),
        ],
    );
    second(
        "apiVersion: goondan.ai/v2\nkind: [Tool]\n",
        &[
            "20:13: error[E_CONFIG_UNSUPPORTED_API_VERSION] documents[1].apiVersion: \
             unknown apiVersion 'goondan.ai/v2'",
            &format!("21:7: {code}.kind: expected a string but got a list"),
        ],
    );
}

#[test]
fn finds_everything_at_once_in_the_order_of_the_file() {
    let text = format!(
        "{}---\n{}---\n{}",
        agent("{tools: [Tool/t, Tool/nope]}"),
        tool_spec("{entry: ../t.wasm, exports: [{name: a__b}], errorMessageLimit: 0}"),
        "a: 1\na: 2\n",
    );
    check(
        &text,
        &[
            "9:15: error[E_CONFIG_ENTRY_NOT_FOUND] documents[1].spec.entry: \
             entry '../t.wasm' contains '..': it must lie beneath the bundle's directory",
            "9:43: error[E_CONFIG_INVALID_NAME] documents[1].spec.exports[0].name: \
             'a__b' must not contain '__', which separates the tool from its export",
            "9:70: error[E_CONFIG_SCHEMA_INVALID] documents[1].spec.errorMessageLimit: \
             'errorMessageLimit' must be between 1 and 65536",
            "12:1: error[E_CONFIG_PARSE_ERROR] documents[2]: duplicate key 'a'",
        ],
    );
    // What cannot be read may have declared it: no error that may be false.
    let whole = text.replace("a: 1\na: 2\n", "");
    assert!(found(&whole)[0].contains("Tool/nope is not declared"));
    assert!(!found(&whole).iter().any(|line| line.contains("Tool/t is")));
}

#[test]
fn a_bundle_declares_at_least_one_tool() {
    let none = "error[E_CONFIG_SCHEMA_INVALID] the bundle declares no Tool";
    check("", &[none]);
    check("---\n# nothing\n---\n", &[none]);
    check(&agent("{}"), &[none]);
    check(
        "a: [",
        &["1:4: error[E_CONFIG_PARSE_ERROR] documents[0]: unclosed bracket '['"],
    );
}

#[test]
fn a_bundle_is_small() {
    let long = format!("# {}\n{BASH}", "x".repeat(manifests::FILE_MAX));
    check(
        &long,
        &["error[E_CONFIG_FILE_TOO_LARGE] the file is larger than 1048576 bytes"],
    );
    let tools = |count: usize| -> String {
        let spec = "{entry: t.wasm, exports: [{name: x}]}";
        let tool = |i: usize| tool(&format!("{{name: t{i}}}"), spec);
        (0..count).map(|i| format!("{}---\n", tool(i))).collect()
    };
    check(
        &tools(101),
        &["error[E_CONFIG_TOO_MANY_DOCUMENTS] the bundle holds more than 100 documents"],
    );
    assert_eq!(parse(&tools(100)).unwrap().tools().len(), 100);
}

#[test]
fn the_number_of_findings_is_limited() {
    let keys: String = (0..5_000).map(|i| format!("k{i}: 1, ")).collect();
    let text = tool_spec(&format!("{{{keys} entry: t.wasm, exports: [{{name: x}}]}}"));
    let findings = found(&text);
    assert_eq!(findings.len(), 1_001);
    assert_eq!(
        findings[0],
        "note[E_CONFIG_SCHEMA_INVALID] 4000 more findings are left out"
    );
}

#[test]
fn warnings_leave_out_no_error() {
    let twice = "Tool/bash, ".repeat(3_000);
    let late = agent(&format!("{{tools: [{twice} Tool/nope]}}"));
    let findings = parse(&format!("{BASH}---\n{late}")).unwrap_err();
    let errors: Vec<_> = findings
        .iter()
        .filter(|finding| finding.is_error())
        .collect();
    assert_eq!(errors.len(), 1);
    assert!(errors[0].message.contains("Tool/nope"));
}

#[test]
fn findings_contain_no_control_characters_of_the_file() {
    let text = tool(
        "{name: \"a\\e[2J\"}",
        "{entry: \"\\e]0;x\\a/../y\", exports: [{name: x}], \"k\\u202e\": 1}",
    );
    for line in found(&text) {
        assert!(!line.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{line:?}");
    }
}

#[test]
fn the_same_text_has_the_same_findings() {
    // As close to one as to the other.
    let tools: String = ["ab", "ac", "ae", "af"]
        .map(|name| {
            tool(
                &format!("{{name: {name}}}"),
                "{entry: t, exports: [{name: x}]}",
            ) + "---\n"
        })
        .concat();
    let text = format!("{tools}{}", agent("{tools: [Tool/ad]}"));
    for _ in 0..20 {
        let missing = &parse(&text).unwrap_err()[0];
        assert_eq!(missing.help, "Did you mean Tool/ab?");
    }
}

#[test]
fn a_tool_of_many_exports_is_not_listed_whole() {
    let exports: Vec<String> = (0..500).map(|n| format!("{{name: export-{n}}}")).collect();
    let tool = tool_spec(&format!("{{entry: t, exports: [{}]}}", exports.join(", ")));
    let agent = agent("{tools: [Tool/t], requiredTools: [t__nope]}");
    let missing = &parse(&format!("{tool}---\n{agent}")).unwrap_err()[0];
    assert!(missing.help.starts_with("Tool/t exports export-0, "));
    assert!(
        missing.help.ends_with(", export-19, …."),
        "{}",
        missing.help
    );
    assert!(missing.help.len() < 400, "{}", missing.help);
}

fn mcp_server(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: goondan.ai/v1\nkind: McpServer\nmetadata: {{name: {name}}}\nspec: {spec}\n"
    )
}
