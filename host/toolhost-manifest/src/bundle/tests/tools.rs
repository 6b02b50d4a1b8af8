//! The resource `kind: Tool`.

use super::*;

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
    let most = "{entry: t.wasm, errorMessageLimit: 65536, exports: [{name: x}]}";
    assert_eq!(limit(most).units(), 65_536);
}

#[test]
fn the_error_message_limit_is_a_positive_integer_up_to_the_limit_that_is_applied() {
    let refused = |limit: &str, column: usize, message: &str| {
        let text = tool_spec(&format!(
            "{{entry: t.wasm, exports: [{{name: x}}], errorMessageLimit: {limit}}}"
        ));
        let path = "error[E_CONFIG_SCHEMA_INVALID] documents[0].spec.errorMessageLimit:";
        check(&text, &[&format!("4:{column}: {path} {message}")]);
    };
    for out_of_range in ["0", "-1", "65537", "1000000000", "4294967296"] {
        refused(
            out_of_range,
            64,
            "'errorMessageLimit' must be between 1 and 65536",
        );
    }
    let kind = |kind_of_value: &str| {
        format!("expected a positive integer, such as 1000, but got {kind_of_value}")
    };
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
        &[&format!("4:7: {schema}: 'entry' is missing")],
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
fn an_entry_in_a_registry_has_a_digest() {
    let entry = |entry: &str| tool_spec(&format!("{{entry: \"{entry}\", exports: [{{name: x}}]}}"));
    let digest = format!("sha256:{}", "0".repeat(64));
    check(&entry(&format!("oci://ghcr.io/me/text:1.0@{digest}")), &[]);
    check(&entry(&format!("oci://ghcr.io/me/text@{digest}")), &[]);
    let refused = |text: &str, message: &str| {
        let message = format!(
            "4:15: error[E_CONFIG_ENTRY_NOT_FOUND] documents[0].spec.entry: entry '{text}' {message}"
        );
        check(&entry(text), &[&message]);
    };
    let unpinned = "has no digest, and what a tag names may change";
    refused("oci://ghcr.io/me/text:1.0", unpinned);
    refused("oci://ghcr.io/me/text", unpinned);
    refused(
        "oci://me/text:1.0",
        "is invalid: 'me/text:1.0' names no registry: write HOST/REPOSITORY[:TAG], such as ghcr.io/me/text:1.0",
    );
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
fn an_export_may_say_which_outputs_are_committed() {
    let spec = |when: &str| {
        tool_spec(&format!(
            "{{entry: t.wasm, exports: [{{name: x, commitWhen: {when}}}]}}"
        ))
    };
    let bundle = parse(&spec("{pointer: /exitCode, equals: 0}")).unwrap();
    let export = &bundle.tools()[0].spec.exports[0];
    let when = export.commit_when.as_ref().unwrap().to_string();
    assert_eq!(when, "`/exitCode` is 0");
    let code = "error[E_CONFIG_SCHEMA_INVALID] documents[0].spec.exports[0].commitWhen";
    for (when, finding) in [
        (
            "{pointer: exitCode, equals: 0}",
            ".pointer: 'pointer' must be a JSON pointer",
        ),
        (
            "{pointer: /a, equals: {}}",
            ".equals: 'equals' must be a boolean",
        ),
        (
            "{pointer: /a, equals: 0, unless: 1}",
            ".unless: unknown key 'unless'",
        ),
        ("always", ": "),
    ] {
        let findings = found(&spec(when));
        let expected = format!("{code}{finding}");
        assert!(
            findings.iter().any(|it| it.contains(&expected)),
            "{when}: {findings:?}"
        );
    }
}

#[test]
fn probable_mistakes_in_a_schema_are_warnings_at_their_place() {
    let text = tool_spec(
        "
  entry: t.wasm
  exports:
    - name: x
      parameters:
        type: object
        properties: {path: {type: string, minLenght: 1}}
        required: [pth]
        x-order: 1
      outputSchema:
        type: object
        properties: {n: {type: integer, minimum: 2, maximum: 1}}
        required: [n]",
    );
    let bundle = parse(&text).unwrap();
    let remarks: Vec<_> = bundle
        .diagnostics()
        .iter()
        .map(ToString::to_string)
        .collect();
    let code = "warning[E_CONFIG_SCHEMA_INVALID] documents[0].spec.exports[0]";
    assert_eq!(
        remarks,
        [
            format!(
                "b.yaml:10:43: {code}.parameters: parameters.properties.path.minLenght: an unknown keyword has no effect"
            ),
            format!(
                "b.yaml:11:20: {code}.parameters: parameters.required[0]: 'pth' is required, but is not among the properties"
            ),
        ]
    );
    let help: Vec<_> = bundle
        .diagnostics()
        .iter()
        .map(|it| it.help.as_str())
        .collect();
    assert_eq!(
        help[..2],
        ["Did you mean 'minLength'?", "Did you mean 'path'?"]
    );
}
