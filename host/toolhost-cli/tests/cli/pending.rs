//! `toolhost poll` and `toolhost cancel`: in another process than the call.

use serde_json::json;

use crate::terminal::Terminal;

fn pending(terminal: &Terminal, handle: &str) -> String {
    let bundle = terminal.bundle("b", &[("pending", &["run"])]);
    let args = json!({"handle": handle}).to_string();
    let mut call = terminal.toolhost(["call"]);
    call.arg(&bundle)
        .args(["pending__run", "--args", &args, "--state-root"]);
    let ran = crate::terminal::Ran::of(call.arg(terminal.path("state"))).exits(0);
    let result = ran.json();
    assert_eq!(result["status"], "pending");
    let handle = result["handle"].as_str().expect("a handle").to_owned();
    assert!(
        ran.stderr
            .contains(&format!("toolhost poll {} {handle}", bundle.display())),
        "{ran:?}"
    );
    handle
}

fn ask(terminal: &Terminal, command: &str, handle: &str) -> crate::terminal::Ran {
    let mut asked = terminal.toolhost([command]);
    asked.arg(terminal.path("b")).args([handle, "--state-root"]);
    crate::terminal::Ran::of(asked.arg(terminal.path("state")))
}

#[test]
fn a_later_process_gets_the_result_of_a_pending_call() {
    // tool-spec-v2 §10.2
    let terminal = Terminal::new();
    let handle = pending(&terminal, r#"done:{"n":7}"#);
    for _ in 0..2 {
        let result = ask(&terminal, "poll", &handle).exits(0).json();
        assert_eq!(
            (&result["status"], &result["output"]),
            (&json!("ok"), &json!({"n": 7}))
        );
    }
    let handle = pending(&terminal, "not yet");
    let result = ask(&terminal, "poll", &handle).exits(0).json();
    assert_eq!(
        (&result["status"], &result["handle"]),
        (&json!("pending"), &json!(handle))
    );
    let cancelled = ask(&terminal, "cancel", &handle).exits(0).json();
    assert_eq!(cancelled["error"]["code"], "E_TOOL_CANCELLED");
    let result = ask(&terminal, "poll", &handle).exits(1).json();
    assert_eq!(result["error"]["code"], "E_TOOL_CANCELLED");
}

#[test]
fn an_unknown_handle_is_refused() {
    let terminal = Terminal::new();
    pending(&terminal, "x");
    for command in ["poll", "cancel"] {
        let result = ask(&terminal, command, "pending_made-up").exits(1).json();
        assert_eq!(
            result["error"]["code"], "E_TOOL_UNKNOWN_HANDLE",
            "{command}"
        );
    }
    terminal.run(["poll"]).exits(2);
}
