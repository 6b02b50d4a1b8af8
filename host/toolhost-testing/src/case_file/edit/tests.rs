use serde_json::json;

use super::*;
use toolhost_manifest::YamlSource;

use crate::case_file::CaseFile;

/// Changes the first case of a text; the case is `head` and these lines of `expect`.
fn check(expect: &str, path: &[&str], value: Json, expected: Option<&str>) {
    let text = |expect: &str| format!("# above\n- name: a\n  tool: a__b   # which\n{expect}");
    let source = YamlSource::new("a.yaml", &text(expect));
    let file = CaseFile::parse(&source).unwrap();
    let change = Change {
        case: 0,
        path: path.iter().map(|key| (*key).to_owned()).collect(),
        value,
    };
    let edited = file.edited(&[change]).ok().map(|edited| edited.text);
    assert_eq!(edited, expected.map(text), "{expect}");
}

#[test]
fn only_the_value_is_replaced() {
    let output = ["expect", "output"];
    check(
        "  expect:\n    output: { a: 1 }   # why\n    status: ok\n- name: c\n  tool: d__e\n",
        &output,
        json!({"a": 2, "b": "x: #y"}),
        Some(
            "  expect:\n    output: { a: 2, b: \"x: #y\" }   # why\n    status: ok\n- name: c\n  tool: d__e\n",
        ),
    );
    check(
        "  expect:\n    output:\n      # inner\n      a: 1\n      b: [1,\n        2]\n\n    # of status\n    status: ok\n",
        &output,
        json!(7),
        Some("  expect:\n    output: 7\n\n    # of status\n    status: ok\n"),
    );
    check(
        "  expect: { output: {a: '}', b: \"\\\"]\"}, status: ok } # end\n",
        &output,
        json!({"a": "b"}),
        Some("  expect: { output: { a: \"b\" }, status: ok } # end\n"),
    );
    check(
        "  expect:\n    output:\n    - a\n    - b\n    status: ok\n",
        &output,
        json!(["c"]),
        Some("  expect:\n    output: [\"c\"]\n    status: ok\n"),
    );
    check(
        "  expect:\n    output: |\n      one\n\n      # no comment\n    status: ok\n",
        &output,
        json!("two\n"),
        Some("  expect:\n    output: \"two\\n\"\n    status: ok\n"),
    );
    check(
        "  expect:\n    output:\n    status: ok",
        &output,
        json!(1),
        Some("  expect:\n    output: 1\n    status: ok"),
    );
    check(
        "  expect:\n    output: 'it''s'",
        &output,
        json!(null),
        Some("  expect:\n    output: null"),
    );
    check(
        "  expect: {output: plain text, status: ok}",
        &output,
        json!([]),
        Some("  expect: {output: [], status: ok}"),
    );
}

#[test]
fn a_long_value_is_written_below_its_key() {
    let long = "x".repeat(50);
    check(
        "  expect: {output: {}}\n",
        &["expect"],
        json!({"error": {"code": long, "message": long}}),
        Some(&format!(
            "  expect:\n    error:\n      code: \"{long}\"\n      message: \"{long}\"\n"
        )),
    );
}

#[test]
fn keys_of_every_kind_are_found() {
    check(
        "  expect:\n    files:\n      \"a b.txt\": old\n      c.txt: \"old\"\n",
        &["expect", "files", "a b.txt"],
        json!("new\n"),
        Some("  expect:\n    files:\n      \"a b.txt\": \"new\\n\"\n      c.txt: \"old\"\n"),
    );
    check(
        "  expect:\n    files: {가.txt: 'ol''d'}\n",
        &["expect", "files", "가.txt"],
        json!(null),
        Some("  expect:\n    files: {가.txt: null}\n"),
    );
}

#[test]
fn a_value_that_cannot_be_replaced_alone_is_left() {
    check(
        "  args: &x {a: 1}\n  expect:\n    output: *x\n",
        &["expect", "output"],
        json!(1),
        None,
    );
    check(
        "  expect:\n    output: 1\n",
        &["expect", "nothing"],
        json!(1),
        None,
    );
    check(
        "  expect:\n    output: &x 1\n    outputAt: {/a: *x}\n",
        &["expect", "output"],
        json!(2),
        None,
    );
}

#[test]
fn a_case_without_expectations_gets_them_below_its_last_key() {
    let error = || json!({"error": {"code": "A"}});
    let expect = ["expect"];
    check(
        "  args: {a: 1} # what\n\n- name: c\n  tool: d__e\n",
        &expect,
        error(),
        Some(
            "  args: {a: 1} # what\n  expect: { error: { code: \"A\" } }\n\n- name: c\n  tool: d__e\n",
        ),
    );
    check(
        "  args:\n    a: |\n      one\n",
        &expect,
        error(),
        Some("  args:\n    a: |\n      one\n  expect: { error: { code: \"A\" } }\n"),
    );
    let source = YamlSource::new("a.yaml", "- {name: a, tool: a__b}   # short");
    let change = Change {
        case: 0,
        path: vec!["expect".to_owned()],
        value: error(),
    };
    let edited = CaseFile::parse(&source).unwrap().edited(&[change]).unwrap();
    assert_eq!(
        edited.text,
        "- {name: a, tool: a__b, expect: { error: { code: \"A\" } }}   # short"
    );
}
