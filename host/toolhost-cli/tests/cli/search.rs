//! `toolhost search`: the tools that fit a query.

use serde_json::json;

use crate::terminal::{Ran, Terminal, examples};

fn search(words: &[&str]) -> Ran {
    let terminal = Terminal::new();
    Ran::of(terminal.toolhost(["search"]).arg(examples()).args(words))
}

#[test]
fn the_tools_that_fit_are_printed_the_best_first() {
    let ran = search(&["read what is in a file", "--limit", "2"]).exits(0);
    assert_eq!(ran.stderr, "");
    let first = ran.stdout.lines().next().unwrap();
    assert_eq!(
        first, "file-system__read   Reads a text file of the workdir",
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.lines().count() <= 2);
    let json = search(&["text__upper", "--format", "json"]).exits(0).json();
    assert_eq!(json["searched"], 9);
    assert_eq!(json["hits"][0]["name"], "text__upper");
    assert_eq!(json["hits"][0]["parameters"]["required"], json!(["text"]));
    assert!(json["hits"][0]["score"].as_f64().unwrap() > 1000.0);
}

#[test]
fn a_query_without_an_answer_prints_what_was_searched_and_exits_with_1() {
    let ran = search(&["resize an image"]).exits(1);
    assert_eq!(ran.stdout, "");
    assert_eq!(
        ran.stderr,
        "note: no tool fits 'resize an image': the names, descriptions and parameters of the 9 tools of the agent \
         'coder' were searched\n"
    );
    let json = search(&["resize an image", "--format", "json"])
        .exits(1)
        .json();
    assert_eq!(json, json!({"searched": 9, "hits": []}));
}

#[test]
fn a_search_needs_a_query_and_a_bundle_that_loads() {
    let terminal = Terminal::new();
    terminal
        .run(["search", "base"])
        .fails(2, "the search has no query");
    terminal
        .run(["search", "nowhere", "read a file"])
        .fails(2, "nowhere");
    terminal
        .run(["search", "a", "b", "--limit", "0"])
        .fails(2, "--limit");
}
