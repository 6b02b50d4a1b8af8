//! The card of a call that waits for approval, as a host of MCP Apps shows it.

use serde_json::{Value, json};

use crate::docs_page::in_browser;
use crate::terminal::{Terminal, examples, with_stdin};

/// The policy of a server that knows the page.
const POLICY: &str = "
tools: {file-system: {ask: always}}
approvals: {page: 'http://127.0.0.1:7333/'}
";

/// A name that runs a script, loads a picture or ends an element wherever a card does not escape it.
const HOSTILE: &str = "</script><script>alert(1)</script><img src=http://127.0.0.1:9/x onerror=alert(2)><b>bold</b> \
                       \u{202e}reversed\u{0}";

/// Serves a client that shows cards and sends these messages. Returns the answers.
fn answers(terminal: &Terminal, messages: &[Value]) -> Vec<Value> {
    let opening = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "clientInfo": {"name": "test", "version": "1"},
        "capabilities": {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}},
    }});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let all = [opening, initialized];
    let all = all.iter().chain(messages);
    let text: String = all.map(|message| format!("{message}\n")).collect();
    let mut command = terminal.toolhost(["serve", "--policy", "../policy.yaml"]);
    command.args(["--workdir", "../D", "--state-root", "../state"]);
    let ran = with_stdin(command.arg(examples()), text.as_bytes()).exits(0);
    let lines = ran.stdout.lines();
    let mut answers: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    answers.retain(|answer| answer["id"].is_number());
    answers.sort_by_key(|answer| answer["id"].as_u64());
    answers
        .into_iter()
        .map(|mut answer| answer["result"].take())
        .collect()
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[test]
fn a_card_shows_that_a_call_waits_opens_the_page_through_the_host_and_runs_nothing_of_a_name() {
    let terminal = Terminal::new();
    terminal.write("policy.yaml", POLICY);
    let write =
        json!({"name": "file-system__write", "arguments": {"path": "a.txt", "content": "secret"}});
    let uri = json!({"uri": "ui://toolhost/approval"});
    let found = answers(
        &terminal,
        &[
            request(2, "tools/call", &write),
            request(3, "resources/read", &uri),
        ],
    );
    let handle = found[1]["structuredContent"]["handle"].clone();
    let card = found[2]["contents"][0]["text"].clone();
    let show = json!({"name": "approval", "arguments": {"handle": handle}});
    let shown = answers(&terminal, &[request(2, "tools/call", &show)]).remove(1);
    let address = shown["structuredContent"]["url"].as_str().unwrap();
    assert!(
        address.starts_with("http://127.0.0.1:7333/#/approvals/approval_"),
        "{shown}"
    );
    assert!(!shown.to_string().contains("a.txt"), "{shown}");
    let changed = |key: &str, value: &str| {
        let mut result = shown.clone();
        result["structuredContent"][key] = json!(value);
        result
    };
    let run = |name: &str, results: Value| {
        let input = json!({"card": card, "results": results}).to_string();
        in_browser("card.mjs", &terminal.write(name, input))
    };
    let Some(found) = run(
        "own.json",
        json!([shown, shown, changed("state", "approved")]),
    ) else {
        return;
    };
    let waiting = &found["waiting"];
    assert_eq!(waiting["heading"], "Approval of file-system__write");
    assert_eq!(waiting["state"], "It waits before it runs.");
    assert!(
        waiting["until"].as_str().unwrap().starts_with("Until "),
        "{waiting}"
    );
    assert_eq!(
        (&waiting["hasButton"], &waiting["overflow"]),
        (&json!(true), &json!(0))
    );
    assert_eq!(found["decided"]["state"], "Somebody has approved it.");
    assert_eq!(found["decided"]["hasButton"], false);
    assert_eq!(found["decided"]["problem"], "");
    assert_eq!(found["seen"]["links"], json!([address, address]));
    let problem = found["refused"]["problem"].as_str().unwrap();
    assert!(problem.ends_with(address), "{problem}");
    assert_eq!(found["refused"]["overflow"], 0);
    for called in found["seen"]["calls"].as_array().unwrap() {
        assert_eq!(*called, show);
    }
    let methods = found["seen"]["methods"].as_array().unwrap();
    let others = methods.iter().filter(|method| *method != "tools/call");
    let others: Vec<&Value> = others.collect();
    assert_eq!(
        others,
        [
            "ui/initialize",
            "ui/notifications/initialized",
            "ui/open-link",
            "ui/open-link"
        ]
    );
    assert_eq!(
        found["seen"]["answers"],
        json!({"p": {}, "u": -32601, "t": {}})
    );
    assert_eq!(found["violations"], json!({"dark": [], "light": []}));
    let hostile = changed("tool", HOSTILE);
    let mut ended = hostile.clone();
    ended["structuredContent"]["state"] = json!("<img src=x onerror=alert(4)>");
    let names = run("hostile.json", json!([hostile, hostile, ended])).unwrap();
    for at in ["waiting", "decided"] {
        let heading = names[at]["heading"].as_str().unwrap();
        assert!(heading.contains("</script><script>alert(1)"), "{heading}");
        assert!(!heading.contains(['\u{202e}', '\0']), "{heading}");
        assert_eq!(names[at]["elements"], waiting["elements"]);
    }
    for found in [&found, &names] {
        assert_eq!(found["waiting"]["handlers"], json!([]));
        assert_eq!(found["dialogs"], json!([]));
        assert_eq!(found["problems"], json!([]));
        let requests = found["requests"].as_array().unwrap().iter();
        let own = |url: &&Value| url.as_str().unwrap().starts_with("about:");
        assert!(requests.clone().all(|url| own(&url)), "{found}");
    }
    assert!(!terminal.path("D/a.txt").exists());
}
