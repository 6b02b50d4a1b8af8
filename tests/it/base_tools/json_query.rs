//! `json-query__query`: jq on texts and files.

use std::fs;

use serde_json::json;

use super::{base, fails, output};

const ORDERS: &str = r#"{"orders": [
    {"id": 1, "item": "nut", "price": 1.5, "tags": ["a", "b"]},
    {"id": 2, "item": "bolt", "price": 20, "tags": []},
    {"id": 3, "item": "über", "price": 7.25, "tags": ["b"]}
]}"#;

#[tokio::test]
async fn queries_have_the_same_results_as_in_jq() {
    let test_host = base("").await;
    fs::write(test_host.work.path("orders.json"), ORDERS).unwrap();
    for (query, results) in [
        (".orders | length", json!([3])),
        (
            ".orders[] | select(.price > 5) | .item",
            json!(["bolt", "über"]),
        ),
        ("[.orders[].price] | add", json!([28.75])),
        (
            ".orders | map({(.item): .price}) | add",
            json!([{"nut": 1.5, "bolt": 20, "über": 7.25}]),
        ),
        (
            ".orders | group_by(.tags | length) | map(length)",
            json!([[1, 1, 1]]),
        ),
        (
            ".orders[0] | keys",
            json!([["id", "item", "price", "tags"]]),
        ),
        ("[.orders[].tags[]] | unique", json!([["a", "b"]])),
        (".orders | sort_by(-.price) | .[0].id", json!([2])),
        (
            ".orders[] | \"\\(.id)-\\(.item)\"",
            json!(["1-nut", "2-bolt", "3-über"]),
        ),
        (
            "[.orders[] | .item | test(\"^[nb]\")]",
            json!([[true, true, false]]),
        ),
        ("[paths(type == \"number\")] | length", json!([6])),
        (".missing", json!([null])),
        ("empty", json!([])),
        ("reduce .orders[] as $o (0; . + $o.id)", json!([6])),
        (".orders | to_entries | map(.key)", json!([[0, 1, 2]])),
        (
            "[limit(2; .orders[].id)], first(.orders[].id), ([1,2] | @csv)",
            json!([[1, 2], 1, "1,2"]),
        ),
        ("9007199254740993", json!([9_007_199_254_740_993_u64])),
        ("try error(\"x\") catch .", json!(["x"])),
        (
            "[1, null, \"a\\\"b\", true] | @csv",
            json!(["1,,\"a\"\"b\",true"]),
        ),
        ("[1, \"a\\tb\"] | @tsv", json!(["1\ta\\tb"])),
        ("1700000000 | todate", json!(["2023-11-14T22:13:20Z"])),
    ] {
        let args = json!({"query": query, "path": "orders.json"});
        let result = test_host.call("json-query__query", args).await;
        assert_eq!(output(&result)["results"], results, "{query}");
        let count = results.as_array().map(Vec::len);
        assert_eq!(output(&result)["count"].as_u64(), count.map(|it| it as u64));
        let args = json!({"query": query, "json": ORDERS});
        let inline = test_host.call("json-query__query", args).await;
        assert_eq!(output(&inline)["results"], results, "{query}");
    }
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
        (query("foo", "{}"), "INVALID_QUERY", "no filter `foo/0`"),
        (query("[1, 2", "{}"), "INVALID_QUERY", "closing bracket"),
        (query("$x", "{}"), "INVALID_QUERY", "`$x`"),
        (query("", "{}"), "INVALID_QUERY", "at the end"),
        (
            query("import \"m\" as m; .", "{}"),
            "INVALID_QUERY",
            "line 1",
        ),
        (query(".a", "[1]"), "QUERY_FAILED", "index"),
        (
            query("error(\"own words\")", "1"),
            "QUERY_FAILED",
            "own words",
        ),
        (query(".", "{\"a\": }"), "INVALID_JSON", "line 1 column 7"),
        (
            query(".", &"[".repeat(100_000)),
            "TOO_DEEP",
            "more than 127 deep",
        ),
        (
            json!({"query": ".", "path": "bad.json"}),
            "INVALID_JSON",
            "line 2 column 14",
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
        (
            "def f: 1 + f; f",
            &["E_TOOL_TRAP", "E_TOOL_OUT_OF_MEMORY", "E_TOOL_TIMEOUT"],
        ),
        ("last(repeat(1))", &["E_TOOL_TIMEOUT"]),
        (
            "[range(1000000000)]",
            &["E_TOOL_OUT_OF_MEMORY", "E_TOOL_TIMEOUT"],
        ),
        (
            "\"x\" * 1000000000",
            &["E_TOOL_OUT_OF_MEMORY", "E_TOOL_TRAP"],
        ),
        (
            "reduce range(100) as $i (\"x\"; . + .)",
            &["E_TOOL_OUT_OF_MEMORY", "E_TOOL_TRAP"],
        ),
        (
            ".[1000000000000] = 1",
            &["E_TOOL_OUT_OF_MEMORY", "E_TOOL_TRAP", "QUERY_FAILED"],
        ),
        (
            "reduce range(100) as $i (null; [.])",
            &["E_TOOL_INVALID_OUTPUT"],
        ),
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
