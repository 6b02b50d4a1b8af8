//! `toolhost docs`: a page about the tools of a bundle.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::terminal::{Ran, Terminal, examples};

/// The tool `echo` with words of its own.
fn manifest(description: &str, property: &str) -> String {
    let tool = json!({
        "apiVersion": "goondan.ai/v1",
        "kind": "Tool",
        "metadata": {"name": "echo"},
        "spec": {"entry": "./echo.wasm", "exports": [{
            "name": "say",
            "description": description,
            "parameters": {"type": "object", "properties": {
                property: {"type": "string", "description": description, "enum": [description]},
            }},
        }]},
    });
    tool.to_string()
}

fn bundle_of(terminal: &Terminal, description: &str, property: &str) -> PathBuf {
    let bundle = terminal.bundle("bundle", &[("echo", &["say"])]);
    terminal.write("bundle/goondan.yaml", manifest(description, property));
    bundle
}

fn docs(terminal: &Terminal, bundle: &Path, more: &[&str]) -> Ran {
    Ran::of(terminal.toolhost(["docs"]).arg(bundle).args(more))
}

fn page_of(terminal: &Terminal, bundle: &Path, more: &[&str]) -> String {
    let more = [more, &["--output", "-"]].concat();
    docs(terminal, bundle, &more).exits(0).stdout
}

#[test]
fn a_page_has_each_tool_with_its_arguments_access_digest_and_an_example() {
    let terminal = Terminal::new();
    let ran = docs(&terminal, &examples(), &[]).exits(0);
    assert_eq!(ran.stdout, "tools.html: 9 tools\n");
    let page = fs::read_to_string(terminal.path("here/tools.html")).unwrap();
    let check = Ran::of(terminal.toolhost(["check", "--json"]).arg(examples()));
    let check = check.exits(0).json();
    for tool in check["tools"].as_array().unwrap() {
        assert!(page.contains(tool["sha256"].as_str().unwrap()), "{tool}");
    }
    for text in [
        "id=\"file-system__read\"",
        "<p class=\"words\">Reads a text file of the workdir</p>",
        "<code>path</code> <small>required</small>",
        "<li>Reads and changes files of the workdir.</li><li>No network.</li>",
        "toolhost call guest-examples text__upper --args '{&quot;text&quot;:",
        "wasi:filesystem/types@0.2",
        "<code>deadlineMs</code>",
    ] {
        assert!(page.contains(text), "{text}\n{page}");
    }
}

#[test]
fn a_page_has_the_grants_and_the_changed_limits_of_the_policy() {
    let terminal = Terminal::new();
    let bundle = terminal.bundle("bundle", &[("fetch", &["run"])]);
    let policy = "tools: {fetch: {http: {allow: ['GET https://api.example.com/v1/*']}, \
                  env: {TOKEN: s3cret}, limits: {httpRequests: 7}}}";
    terminal.write("policy.yaml", policy);
    let policy = terminal.path("policy.yaml");
    let page = page_of(&terminal, &bundle, &["--policy", policy.to_str().unwrap()]);
    assert!(
        page.contains("HTTP requests: GET https://api.example.com/v1/*."),
        "{page}"
    );
    assert!(page.contains("Environment variables: TOKEN."), "{page}");
    assert!(!page.contains("s3cret"), "{page}");
    assert!(
        page.contains("<code>httpRequests</code></th><td>7</td>"),
        "{page}"
    );
    let without = page_of(&terminal, &bundle, &[]);
    let refused = "<li>No network: it can send HTTP requests, and the policy allows none.</li>";
    assert!(without.contains(refused), "{without}");
    assert!(
        !without.contains("Limits that the policy sets"),
        "{without}"
    );
}

#[test]
fn the_same_bundle_gives_the_same_page() {
    let terminal = Terminal::new();
    let first = page_of(&terminal, &examples(), &[]);
    assert_eq!(page_of(&terminal, &examples(), &[]), first);
}

#[test]
fn a_page_is_replaced_and_another_file_is_not() {
    let terminal = Terminal::new();
    let bundle = bundle_of(&terminal, "one", "a");
    docs(&terminal, &bundle, &[]).exits(0);
    terminal.write("bundle/goondan.yaml", manifest("two", "a"));
    docs(&terminal, &bundle, &[]).exits(0);
    let page = fs::read_to_string(terminal.path("here/tools.html")).unwrap();
    assert!(page.contains("two") && !page.contains(">one<"), "{page}");
    let own = terminal.write("here/own.html", "<p>mine</p>");
    let ran = docs(&terminal, &bundle, &["--output", "own.html"]).exits(2);
    assert!(ran.stderr.contains("own.html exists"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--output"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(own).unwrap(), "<p>mine</p>");
}

/// Words that run a script, load a picture or end an element wherever a page does not escape them.
const HOSTILE: &str = "</title></style><script>alert(1)</script><img src=http://127.0.0.1:9/x onerror=alert(2)> \
                       '\"><svg onload=alert(3)> &lt;b&gt; \u{202e}reversed\u{200b}";

#[test]
fn words_of_a_tool_are_text_in_the_page() {
    let terminal = Terminal::new();
    let bundle = bundle_of(&terminal, HOSTILE, "<img src=x onerror=alert(4)>");
    let page = page_of(&terminal, &bundle, &[]);
    for text in ["<script", "<img", "<svg", "\u{202e}", "\u{200b}"] {
        assert!(!page.contains(text), "{text}\n{page}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    assert!(page.contains("&amp;lt;b&amp;gt;"), "{page}");
}

/// Returns the folder of the browser that `cargo xtask test` installs. Returns none, and prints so, without one.
#[expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "the browser is where `cargo xtask test` has installed it"
)]
pub(crate) fn browser_tools() -> Option<PathBuf> {
    let target = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/npm-tools");
    let folder = env::var_os("TOOLHOST_NPM_TOOLS");
    let folder = folder.map_or_else(|| PathBuf::from(target), PathBuf::from);
    if !folder.join("node").exists() || !folder.join("node_modules/puppeteer-core").exists() {
        let folder = folder.display();
        eprintln!("NOT tested: no browser is in {folder}: run `cargo xtask test`");
        return None;
    }
    Some(folder)
}

/// Runs a script of `tests/npm` about a file in the browser.
pub(crate) fn in_browser(script: &str, file: &Path) -> Option<Value> {
    let folder = browser_tools()?;
    let scripts = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/npm"));
    let mut node = Command::new(folder.join("node"));
    node.arg(scripts.join(script)).arg(file);
    node.env("TOOLHOST_NPM_TOOLS", folder);
    Some(Ran::of(&mut node).exits(0).json())
}

#[test]
fn a_browser_runs_and_loads_nothing_of_a_page_with_hostile_words() {
    let terminal = Terminal::new();
    let bundle = bundle_of(&terminal, HOSTILE, "<img src=x onerror=alert(4)>");
    docs(&terminal, &bundle, &[]).exits(0);
    let Some(found) = in_browser("page.mjs", &terminal.path("here/tools.html")) else {
        return;
    };
    assert_eq!(found["title"], "Tools of bundle");
    assert_eq!(found["dialogs"], json!([]));
    assert_eq!(found["requests"], json!(["file"]));
    assert_eq!(found["handlers"], json!([]));
    let elements = found["elements"].as_array().unwrap();
    for name in ["script", "img", "svg"] {
        assert!(!elements.contains(&json!(name)), "{found}");
    }
    let text = found["text"].as_str().unwrap();
    assert!(text.contains("<script>alert(1)</script>"), "{text}");
}

#[test]
fn a_browser_displays_the_page_of_the_examples_on_a_narrow_screen_without_a_script() {
    let terminal = Terminal::new();
    docs(&terminal, &examples(), &[]).exits(0);
    let Some(found) = in_browser("page.mjs", &terminal.path("here/tools.html")) else {
        return;
    };
    assert_eq!(found["tools"].as_array().unwrap().len(), 9);
    assert_eq!(found["deadLinks"], json!([]));
    assert_eq!(found["overflow"], 0, "the page is wider than the screen");
    assert_eq!(
        (&found["closed"], &found["opened"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(found["violations"], json!([]), "rules of accessibility");
    assert!(
        !found["elements"]
            .as_array()
            .unwrap()
            .contains(&json!("script"))
    );
}
