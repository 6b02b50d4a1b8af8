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
fn the_error_message_limit_is_1000_by_default() {
    // tool-spec-v2 §2.4(3), §4.3
    let limit = |spec: &str| {
        parse(&tool_spec(spec)).unwrap().tools()[0]
            .spec
            .error_message_limit
    };
    assert_eq!(
        limit("{entry: t.wasm, exports: [{name: x}]}"),
        ErrorMessageLimit::DEFAULT
    );
    let huge = "{entry: t.wasm, errorMessageLimit: 1000000000, exports: [{name: x}]}";
    assert_eq!(limit(huge).units(), 1_000_000_000);
}

#[test]
fn the_error_message_limit_is_a_positive_integer() {
    let refused = |limit: &str, column: usize, message: &str| {
        let text = tool_spec(&format!(
            "{{entry: t.wasm, exports: [{{name: x}}], errorMessageLimit: {limit}}}"
        ));
        let path = "error[E_CONFIG_SCHEMA_INVALID] documents[0].spec.errorMessageLimit:";
        check(&text, &[&format!("4:{column}: {path} {message}")]);
    };
    for out_of_range in ["0", "-1", "4294967296"] {
        refused(
            out_of_range,
            64,
            "'errorMessageLimit' must be between 1 and 4294967295",
        );
    }
    let kind = |found: &str| format!("expected a positive integer, such as 1000, but got {found}");
    refused("1.5", 64, &kind("a decimal number"));
    refused("1e9", 64, &kind("a decimal number"));
    refused("\"10\"", 64, &kind("a string"));
    refused("true", 64, &kind("a boolean"));
    refused("~", 64, &kind("nothing"));
}

#[test]
fn entry_and_exports_are_required() {
    // tool-spec-v2 §2.7(1), §2.7(3), §4.3, §15
    let schema = "error[E_CONFIG_SCHEMA_INVALID] documents[0].spec";
    check(
        &tool_spec("{}"),
        &[
            &format!("4:7: {schema}: 'entry' is missing"),
            &format!("4:7: {schema}: 'exports' is missing"),
        ],
    );
    check(
        &tool_spec("{entry: '', exports: []}"),
        &[
            &format!("4:15: {schema}.entry: 'entry' is empty"),
            &format!("4:28: {schema}.exports: 'exports' is empty: a Tool has at least one"),
        ],
    );
    check(
        &tool_spec("{entry: 5, exports: {name: x}}"),
        &[
            &format!("4:15: {schema}.entry: expected a string but got an integer"),
            &format!("4:27: {schema}.exports: expected a list but got a mapping"),
        ],
    );
    check(
        "apiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {name: t}\n",
        &["1:1: error[E_CONFIG_SCHEMA_INVALID] documents[0]: 'spec' is missing"],
    );
}

#[test]
fn an_entry_lies_beneath_the_bundle() {
    let refused = |entry: &str, message: &str| {
        let text = tool_spec(&format!("{{entry: {entry}, exports: [{{name: x}}]}}"));
        check(
            &text,
            &[&format!(
                "4:15: error[E_CONFIG_ENTRY_NOT_FOUND] documents[0].spec.entry: {message}"
            )],
        );
    };
    let up = |shown: &str| {
        format!("entry '{shown}' contains '..': it must lie beneath the bundle's directory")
    };
    refused("../t.wasm", &up("../t.wasm"));
    refused("a/../../t.wasm", &up("a/../../t.wasm"));
    refused("..", &up(".."));
    refused(
        "/etc/passwd",
        "entry '/etc/passwd' is absolute: it must be relative to the bundle's directory",
    );
    refused("\"a\\0b\"", "entry 'a\\u{0}b' contains a NUL character");
    for good in ["t.wasm", "./a/b..c/t.wasm", "한글/도구.wasm"] {
        check(
            &tool_spec(&format!("{{entry: {good}, exports: [{{name: x}}]}}")),
            &[],
        );
    }
}

#[test]
fn names_hold_no_double_underscore_and_make_one_tool_name_each() {
    // tool-spec-v2 §2.2(3), §4.3, §5.2(3), §6.2, §15
    let code = "error[E_CONFIG_INVALID_NAME] documents[0]";
    let resource = |name: &str, message: &str| {
        let text = tool(
            &format!("{{name: {name}}}"),
            "{entry: t.wasm, exports: [{name: x}]}",
        );
        check(&text, &[&format!("3:18: {code}.metadata.name: {message}")]);
    };
    let export = |name: &str, message: &str| {
        let text = tool_spec(&format!("{{entry: t.wasm, exports: [{{name: {name}}}]}}"));
        check(
            &text,
            &[&format!("4:40: {code}.spec.exports[0].name: {message}")],
        );
    };
    let separator = "must not contain '__', which separates the tool from its export";
    resource("a__b", &format!("'a__b' {separator}"));
    export("a__b", &format!("'a__b' {separator}"));
    resource("a_", "'a_' must not end with '_'");
    export("_a", "'_a' must start with a letter or a digit");
    resource(
        "Bash",
        "'Bash' contains 'B': only a-z, 0-9, '_' and '-' are allowed",
    );
    export("''", "a name must not be empty");
    let long = "n".repeat(62);
    let whole = format!(
        "the tool's name for the model is invalid: 't__{long}' is 65 characters long: at most 64 are allowed"
    );
    export(&long, &whole);
    check(
        &tool("{name: 5}", "{entry: t.wasm, exports: [{description: d}]}"),
        &[
            "3:18: error[E_CONFIG_SCHEMA_INVALID] documents[0].metadata.name: expected a string but got an integer",
            "4:33: error[E_CONFIG_SCHEMA_INVALID] documents[0].spec.exports[0]: 'name' is missing",
        ],
    );
}

#[test]
fn export_names_are_unique_within_a_tool() {
    // tool-spec-v2 §2.7(4), §4.3, §6.2
    let text = tool_spec("{entry: t.wasm, exports: [{name: x}, {name: y}, {name: x}]}");
    let code = "error[E_CONFIG_DUPLICATE_NAME]";
    check(
        &text,
        &[&format!(
            "4:62: {code} documents[0].spec.exports[2].name: duplicate export 'x'"
        )],
    );
    let findings = parse(&text).unwrap_err();
    assert_eq!(
        findings[0].related[0].place.document_path,
        "documents[0].spec.exports[0].name"
    );
}

#[test]
fn a_tool_of_one_export_is_named_like_any_other() {
    // tool-spec-v2 §2.2(1), §2.2(4), §5.2(4)
    let bundle = parse(&tool_spec("{entry: t.wasm, exports: [{name: x}]}")).unwrap();
    let tool = &bundle.tools()[0];
    let export = tool.spec.exports[0].name.clone();
    let name = toolhost_contract::ToolName::new(tool.metadata.name.clone(), export).unwrap();
    assert_eq!(name.as_str(), "t__x");
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
fn parameters_are_valid_json_schema_of_an_object() {
    // tool-spec-v2 §6.1, §15
    let code = "error[E_CONFIG_SCHEMA_INVALID] documents[0].spec.exports[0].parameters:";
    let refused = |parameters: &str, column: usize, message: &str| {
        let text = tool_spec(&format!(
            "{{entry: t.wasm, exports: [{{name: x, parameters: {parameters}}}]}}"
        ));
        check(&text, &[&format!("4:{column}: {code} {message}")]);
    };
    refused("[1]", 55, "the schema must be an object");
    refused(
        "{}",
        55,
        "the top-level 'type' of the schema must be 'object'",
    );
    refused(
        "{type: string}",
        62,
        "the top-level 'type' of the schema must be 'object'",
    );
    refused(
        "{type: object, properties: {a: {type: 7}}}",
        93,
        "parameters.properties.a.type: fits none of the allowed forms (must be one of \"array\", \
         \"boolean\", \"integer\", \"null\", \"number\", \"object\", \"string\" but is 7 / expected \
         array but got integer)",
    );
    refused(
        "{type: object, properties: {a: {$ref: 'file:///etc/passwd'}}}",
        55,
        "$ref 'file:///etc/passwd' leaves the schema: only references within it (#/…) are followed",
    );
    refused(
        "{type: object, properties: {a: {pattern: '(?=a)'}}}",
        96,
        "'(?=a)' at parameters.properties.a.pattern is not a pattern that can be matched in linear time",
    );
}

#[test]
fn an_output_schema_is_valid_json_schema_of_an_object() {
    let spec = |schema: &str| {
        tool_spec(&format!(
            "{{entry: t.wasm, exports: [{{name: x, outputSchema: {schema}}}]}}"
        ))
    };
    let code = "error[E_CONFIG_SCHEMA_INVALID] documents[0].spec.exports[0].outputSchema:";
    for (schema, column, message) in [
        (
            "{type: array}",
            64,
            "the top-level 'type' of the schema must be 'object'",
        ),
        (
            "{type: object, properties: {a: {pattern: '(?=a)'}}}",
            98,
            "'(?=a)' at outputSchema.properties.a.pattern is not a pattern that can be matched in linear time",
        ),
        (
            "{type: object, properties: {a: {$ref: '#/$defs/a'}}}",
            57,
            "$ref '#/$defs/a' is an unresolved reference: the schema has nothing at that place",
        ),
    ] {
        check(&spec(schema), &[&format!("4:{column}: {code} {message}")]);
    }
    let bundle = parse(&spec("{type: object, required: [a]}")).unwrap();
    let export = &bundle.tools()[0].spec.exports[0];
    let schema = export.output_schema.as_ref().unwrap();
    assert_eq!(schema.to_value()["required"], serde_json::json!(["a"]));
    assert_eq!(export.parameters, None);
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
        "Known keys: name, description, parameters, outputSchema."
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
        "OAuthApp",
        "Trigger",
    ] {
        let text = format!("{BASH}---\n{}", other(kind));
        check(
            &text,
            &[&format!(
                "21:7: note[E_CONFIG_SCHEMA_INVALID] documents[1].kind: kind {kind} is ignored: \
             toolhost reads Tool, Agent and McpServer"
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
             'errorMessageLimit' must be between 1 and 4294967295",
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
    let long = format!("# {}\n{BASH}", "x".repeat(resources::FILE_MAX));
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
        &["error[E_CONFIG_TOO_MANY_DOCUMENTS] the file holds more than 100 documents"],
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

#[test]
fn an_mcp_server_has_a_command_or_a_url() {
    use toolhost_contract::McpTransportSpec;

    let stdio = "{transport: {stdio: {command: [npx, a, '-y'], env: {B: '2', A: '1'}}}, tools: [read], prefix: my-files}";
    let http = "{transport: {http: {url: https://a.example/mcp}}}";
    let text = format!(
        "{}---\n{}",
        mcp_server("files", stdio),
        mcp_server("search", http)
    );
    let bundle = parse(&text).unwrap();
    let [(files, place), (search, _)] = bundle.mcp_servers() else {
        panic!("{bundle:?}");
    };
    assert_eq!(place.position.unwrap().line, 3);
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        files.spec.transport,
        McpTransportSpec::Stdio {
            command: ["npx", "a", "-y"].map(str::to_owned).to_vec(),
            env: vec![pair("A", "1"), pair("B", "2")],
        }
    );
    assert_eq!(files.spec.tools.as_deref(), Some(&["read".to_owned()][..]));
    assert_eq!(files.spec.prefix.as_str(), "my-files");
    let url = "https://a.example/mcp".to_owned();
    assert_eq!(search.spec.transport, McpTransportSpec::Http { url });
    assert_eq!(
        (search.spec.tools.clone(), search.spec.prefix.as_str()),
        (None, "search")
    );
}

#[test]
fn an_mcp_server_that_is_not_complete_is_refused_with_its_place() {
    let at = |path: &str| format!("error[E_CONFIG_SCHEMA_INVALID] documents[0].spec{path}");
    for (spec, path, message) in [
        ("{}", "", "'transport' is missing"),
        (
            "{transport: {}}",
            ".transport",
            "a transport is either 'stdio' or 'http'",
        ),
        (
            "{transport: {stdio: {command: [a]}, http: {url: x}}}",
            ".transport",
            "a transport is either 'stdio' or 'http'",
        ),
        (
            "{transport: {stdio: {}}}",
            ".transport.stdio",
            "'command' is missing",
        ),
        (
            "{transport: {stdio: {command: []}}}",
            ".transport.stdio.command",
            "'command' is empty: its first item is the program",
        ),
        (
            "{transport: {stdio: {command: ['']}}}",
            ".transport.stdio.command",
            "the program is empty",
        ),
        (
            "{transport: {stdio: {command: [a, 1]}}}",
            ".transport.stdio.command[1]",
            "expected a string but got an integer",
        ),
        (
            "{transport: {stdio: {command: [a], env: {'A=B': x}}}}",
            ".transport.stdio.env.A=B",
            "'A=B' cannot be the name of an environment variable",
        ),
        (
            "{transport: {stdio: {command: [a], env: {A: {secret: abcd}}}}}",
            ".transport.stdio.env.A",
            "expected a string but got a mapping",
        ),
        (
            "{transport: {http: {}}}",
            ".transport.http",
            "'url' is missing",
        ),
        (
            "{transport: {http: {url: 'https://a.example/'}}, tool: [a]}",
            ".tool",
            "unknown key 'tool'",
        ),
    ] {
        let lines = found(&mcp_server("srv", spec));
        let expected = format!("{}: {message}", at(path));
        assert_eq!(lines.len(), 1, "{spec}: {lines:?}");
        assert!(lines[0].ends_with(&expected), "{spec}: {lines:?}");
    }
}

#[test]
fn the_tools_of_two_resources_cannot_have_the_same_prefix() {
    let http = "{transport: {http: {url: https://a.example/mcp}}, prefix: t}";
    let text = format!(
        "{}---\n{}",
        tool_spec("{entry: a.wasm, exports: [{name: x}]}"),
        mcp_server("srv", http)
    );
    check(
        &text,
        &[
            "8:18: error[E_CONFIG_DUPLICATE_NAME] documents[1].metadata.name: the tools of McpServer/srv begin with 't__', as others do",
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
