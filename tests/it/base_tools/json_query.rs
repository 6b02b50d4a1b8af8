//! `json-query__query`: jq on texts and files.

use std::fs;

use serde_json::json;

use super::{base, fails, output};

/// Queries with what jq 1.7.1 answers.
const CASES: &str = include_str!("../../fixtures/base/jq.txt");

#[derive(Default)]
struct Case {
    query: &'static str,
    json: Option<&'static str>,
    /// Why the tool differs.
    differs: Option<&'static str>,
    results: String,
    count: usize,
    error: Option<&'static str>,
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for line in CASES.lines() {
        let Some((kind, rest)) = line.split_at_checked(2) else {
            continue;
        };
        if kind == "> " {
            cases.push(Case {
                query: rest,
                ..Case::default()
            });
            continue;
        }
        let Some(case) = cases.last_mut() else {
            continue;
        };
        match kind {
            "< " => case.json = Some(rest),
            "~ " => case.differs = Some(rest),
            "= " => {
                case.results.push_str(rest);
                case.results.push('\n');
                case.count += 1;
            }
            "! " => case.error = Some(rest),
            _ => {}
        }
    }
    cases
}

#[tokio::test]
async fn queries_have_the_same_results_as_in_jq() {
    let test_host = base("").await;
    let (mut compared, mut wrong) = (0, Vec::new());
    for case in cases() {
        let json = case.json.unwrap_or("null");
        let args =
            json!({"query": case.query, "json": json, "outputFormat": "json", "compact": true});
        let result = test_host.call("json-query__query", args).await;
        let (expected, came) = match (case.error, result.tool_error()) {
            (None, None) => (
                case.results,
                output(&result)["text"].as_str().unwrap().to_owned(),
            ),
            (Some(message), error) => (
                format!("query: {message}, after {} results", case.count),
                error.map_or_else(|| format!("{result:?}"), |error| error.message.clone()),
            ),
            (None, Some(error)) => (case.results, error.message.clone()),
        };
        match case.differs {
            None if came != expected => wrong.push(format!(
                "{} on {json}: expected {expected}, but got {came}",
                case.query
            )),
            Some(reason) if came == expected => {
                wrong.push(format!("{}: no longer differs: {reason}", case.query));
            }
            None => compared += 1,
            Some(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(compared >= 550, "{compared}");
}

#[tokio::test]
async fn documents_of_other_formats_are_queried_and_written() {
    let test_host = base("").await;
    let yaml = "# people\nbase: &b {role: dev, on: yes}\nkim:\n  <<: *b\n  age: 0x1F\n  notes: |\n    one\n    two\n  tags: [a, 'b: c', ~]\n";
    let toml = "title = \"x\"\n[owner]\nborn = 1979-05-27\nports = [8000, 0x10, 1_000]\n[[item]]\nn = 1.50\n[[item]]\nn = 2\n";
    for (document, formats, query, text) in [
        (
            yaml,
            ["yaml", "json"],
            ".kim",
            r#"{"role":"dev","on":"yes","age":31,"notes":"one\ntwo\n","tags":["a","b: c",null]}"#,
        ),
        ("a: 1\n---\na: 2\n", ["yaml", "json"], ".a", "1\n2"),
        (
            r#"{"a":[1,{"b":"yes","c":[]}],"d":"x: y","e":"12","f":null}"#,
            ["json", "yaml"],
            ".",
            "a:\n  - 1\n  - b: \"yes\"\n    c: []\nd: \"x: y\"\ne: \"12\"\nf: null",
        ),
        (
            toml,
            ["toml", "json"],
            ".",
            r#"{"title":"x","owner":{"born":"1979-05-27","ports":[8000,16,1000]},"item":[{"n":1.50},{"n":2}]}"#,
        ),
        (
            r#"{"a":"x","b":{"c":[1,2]},"d":[{"e":true}]}"#,
            ["json", "toml"],
            ".",
            "a = \"x\"\n\n[b]\nc = [1, 2]\n\n[[d]]\ne = true",
        ),
        (
            "name,note\r\nnut,\"a, \"\"b\"\"\"\r\nbolt,\r\n",
            ["csv", "json"],
            ".[]",
            "{\"name\":\"nut\",\"note\":\"a, \\\"b\\\"\"}\n{\"name\":\"bolt\",\"note\":\"\"}",
        ),
        ("a\tb\n1\tx\\ty\n", ["tsv", "csv"], ".", "a,b\n1,x\ty"),
        (
            r#"[{"a":1,"b":"x,y"},{"b":null,"c":true}]"#,
            ["json", "csv"],
            ".",
            "a,b,c\n1,\"x,y\",\n,,true",
        ),
        ("one\ntwo\n", ["text", "text"], "ascii_upcase", "ONE\nTWO"),
    ] {
        let [input, output_format] = formats;
        let args = json!({"query": query, "json": document, "inputFormat": input, "outputFormat": output_format, "compact": true});
        let result = test_host.call("json-query__query", args).await;
        assert_eq!(output(&result)["text"], format!("{text}\n"), "{document}");
    }
}

#[tokio::test]
async fn what_a_format_cannot_say_is_an_error() {
    let test_host = base("").await;
    let input =
        |format: &str, json: &str| json!({"query": ".", "json": json, "inputFormat": format});
    let output_of =
        |format: &str, json: &str| json!({"query": ".", "json": json, "outputFormat": format});
    for (args, code, says) in [
        (input("yaml", "a: !Ref x"), "INVALID_JSON", "tag `!Ref`"),
        (
            input("yaml", "? [1]\n: 2\n"),
            "INVALID_JSON",
            "key is a collection",
        ),
        (
            input("yaml", "a: 1\na: 2\n"),
            "INVALID_JSON",
            "`a` is there twice at line 2",
        ),
        (input("yaml", "a: [1\nb: 2"), "INVALID_JSON", "line"),
        (
            input("csv", "a,b\n1\n"),
            "INVALID_JSON",
            "row 2 has 1 cells",
        ),
        (input("csv", "a,a\n1,2\n"), "INVALID_JSON", "two columns"),
        (input("csv", "a\n\"1\n"), "INVALID_JSON", "not closed"),
        (
            input("toml", "a = 1\na = 2\n"),
            "INVALID_JSON",
            "`a` is there twice at line 2",
        ),
        (
            input("toml", "a = nope\n"),
            "INVALID_JSON",
            "`nope` is no value at line 1",
        ),
        (
            output_of("csv", r#"{"a":[1]}"#),
            "INVALID_OUTPUT_FORMAT",
            "tojson",
        ),
        (
            output_of("csv", "1"),
            "INVALID_OUTPUT_FORMAT",
            "a row is an object",
        ),
        (
            output_of("toml", r#"{"a":null}"#),
            "INVALID_OUTPUT_FORMAT",
            "`a` is null",
        ),
        (
            output_of("toml", "[1]"),
            "INVALID_OUTPUT_FORMAT",
            "TOML is an object",
        ),
    ] {
        let result = test_host.call("json-query__query", args.clone()).await;
        fails(&result, code, says);
    }
}

#[tokio::test]
async fn arguments_are_variables_and_options_shape_the_inputs() {
    let test_host = base("").await;
    for (args, results) in [
        (
            json!({"query": "$n + .[0], $ARGS.named.n", "json": "[1]", "args": {"n": 2}}),
            json!([3, 2]),
        ),
        (
            json!({"query": "length", "json": "1 2 3", "slurp": true}),
            json!([3]),
        ),
        (
            json!({"query": "[inputs]", "json": "1 2", "nullInput": true}),
            json!([[1, 2]]),
        ),
        (json!({"query": "1 + 1", "nullInput": true}), json!([2])),
        (
            json!({"query": ".", "json": "a\nb", "inputFormat": "text", "slurp": true}),
            json!(["a\nb"]),
        ),
        (
            json!({"query": "tojson", "json": "\u{feff}[100000000000000000000000001]"}),
            json!(["[100000000000000000000000001]"]),
        ),
    ] {
        let result = test_host.call("json-query__query", args.clone()).await;
        assert_eq!(output(&result)["results"], results, "{args}");
    }
    let args = json!({"query": "debug | ., (\"x\" | stderr)", "json": "1"});
    let result = test_host.call("json-query__query", args).await;
    assert_eq!(output(&result)["messages"], "[\"DEBUG:\",1]\nx");
    let args = json!({"query": ".", "json": "{\"b\":1,\"a\":[2]}", "sortKeys": true, "outputFormat": "json"});
    let result = test_host.call("json-query__query", args).await;
    assert_eq!(
        output(&result)["text"],
        "{\n  \"a\": [\n    2\n  ],\n  \"b\": 1\n}\n"
    );
}

#[tokio::test]
async fn json_lines_are_queried_line_by_line() {
    let test_host = base("").await;
    fs::write(
        test_host.work.path("log.jsonl"),
        "{\"n\":1}\n{\"n\":2}\n\n{\"n\":3}\n",
    )
    .unwrap();
    let args = json!({"query": "select(.n != 2) | .n", "path": "log.jsonl"});
    let result = test_host.call("json-query__query", args).await;
    assert_eq!(output(&result)["results"], json!([1, 3]));
}

#[tokio::test]
async fn results_are_bounded() {
    let test_host = base("").await;
    for (query, bounds, count) in [
        ("range(1000000)", json!({}), 1_000),
        ("range(1000000)", json!({"maxResults": 5}), 5),
        ("repeat(1)", json!({"maxResults": 7}), 7),
        ("range(100) | \"x\" * 100", json!({"maxBytes": 1_000}), 9),
    ] {
        let mut args = bounds;
        args["query"] = json!(query);
        args["json"] = json!("null");
        let result = test_host.call("json-query__query", args).await;
        assert_eq!(output(&result)["count"], count, "{query}");
        assert_eq!(output(&result)["truncated"], true);
    }
}

#[tokio::test]
async fn errors_in_a_query_or_a_document_name_the_position() {
    let test_host = base("").await;
    fs::write(
        test_host.work.path("bad.json"),
        "{\n  \"a\": [1, 2,,3]\n}\n",
    )
    .unwrap();
    let query = |query: &str, json: &str| json!({"query": query, "json": json});
    for (args, code, says) in [
        (query(".a | | .b", "{}"), "INVALID_QUERY", "line 1 column 6"),
        (
            query(".a\n| foo(1)", "{}"),
            "INVALID_QUERY",
            "line 2 column 3",
        ),
        (query("foo", "{}"), "INVALID_QUERY", "foo/0 is not defined"),
        (
            query("[1, 2", "{}"),
            "INVALID_QUERY",
            "at the end: expected `]`",
        ),
        (query("$x", "{}"), "INVALID_QUERY", "$x is not defined"),
        (query("break $x", "{}"), "INVALID_QUERY", "no label `$x`"),
        (
            query("test(\"\\\\X\")", "\"a\""),
            "QUERY_FAILED",
            "not supported",
        ),
        (
            query("import \"m\" as m; .", "{}"),
            "INVALID_QUERY",
            "modules",
        ),
        (query(".a", "[1]"), "QUERY_FAILED", "Cannot index array"),
        (
            query("error(\"own words\")", "1"),
            "QUERY_FAILED",
            "own words",
        ),
        (query(".", "{\"a\": }"), "INVALID_JSON", "line 1, column 7"),
        (
            query(".", &"[".repeat(100_000)),
            "TOO_DEEP",
            "more than 256 deep",
        ),
        (
            json!({"query": ".", "path": "bad.json"}),
            "INVALID_JSON",
            "line 2, column 14",
        ),
        (
            json!({"query": ".", "path": "no.json"}),
            "NOT_FOUND",
            "no.json",
        ),
        (
            json!({"query": ".", "path": "../x.json"}),
            "E_TOOL_DENIED",
            "../x.json",
        ),
        (json!({"query": "."}), "INVALID_INPUT", "`path` or `json`"),
        (
            json!({"query": ".", "json": "1", "path": "x"}),
            "INVALID_INPUT",
            "`path` or `json`",
        ),
    ] {
        let result = test_host.call("json-query__query", args.clone()).await;
        fails(&result, code, says);
    }
}

#[tokio::test]
async fn hostile_queries_reach_a_limit_and_the_next_query_works() {
    let test_host = base("tools: {json-query: {limits: {deadlineMs: 2000}}}").await;
    for (query, codes) in [
        ("def f: f; f", &["E_TOOL_TIMEOUT"][..]),
        ("def f: 1 + f; f", &["QUERY_FAILED"]),
        ("last(repeat(1))", &["E_TOOL_TIMEOUT"]),
        (
            "[range(1000000000)]",
            &["E_TOOL_OUT_OF_MEMORY", "E_TOOL_TIMEOUT"],
        ),
        ("\"x\" * 1000000000", &["QUERY_FAILED"]),
        (
            "reduce range(100) as $i (\"x\"; . + .)",
            &["E_TOOL_OUT_OF_MEMORY", "E_TOOL_TRAP"],
        ),
        (".[1000000000000] = 1", &["QUERY_FAILED"]),
        ("reduce range(100) as $i (null; [.])", &["TOO_DEEP"]),
    ] {
        let args = json!({"query": query, "json": "null"});
        let result = test_host.call("json-query__query", args).await;
        let code = toolhost_tests::test_host::code(&result);
        assert!(codes.contains(&code.as_str()), "{query}: {result:?}");
        let next = json!({"query": ". + 1", "json": "1"});
        let next = test_host.call("json-query__query", next).await;
        assert_eq!(output(&next)["results"], json!([2]), "after {query}");
    }
}
