//! `toolhost call` and `check` with an MCP server in the bundle.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::terminal::{Ran, Terminal};

const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../toolhost-mcp-client/tests/servers/scripted.py"
);

/// A bundle whose server records what it receives, and the lines of a policy that grant it.
fn bundle(terminal: &Terminal) -> (std::path::PathBuf, String) {
    let record = terminal.path("record");
    let command = format!("[python3, {SCRIPT}, ok, {}]", record.display());
    let bundle = format!(
        "apiVersion: goondan.ai/v1\nkind: McpServer\nmetadata: {{name: srv}}\nspec: {{transport: {{stdio: {{command: {command}}}}}}}\n"
    );
    let policy = format!("mcpServers: {{srv: {{command: {command}, inheritEnv: [PATH]}}}}\n");
    (terminal.write("b.yaml", &bundle), policy)
}

#[test]
fn a_call_starts_the_servers_that_the_policy_grants_and_ends_them() {
    let terminal = Terminal::new();
    let (bundle, policy) = bundle(&terminal);
    let policy = terminal.write("p.yaml", &policy);
    let workdir = terminal.path("D");
    let (bundle, policy, workdir) = (&bundle, &policy, &workdir);
    let args = [
        "call".as_ref(),
        bundle.as_os_str(),
        "srv__echo".as_ref(),
        "--args".as_ref(),
        r#"{"text": "hi"}"#.as_ref(),
        "--policy".as_ref(),
        policy.as_os_str(),
        "--workdir".as_ref(),
        workdir.as_os_str(),
    ];
    let mut call = terminal.toolhost(args);
    let ran = Ran::of(call.env("PATH", env!("PATH"))).exits(0);
    assert_eq!(ran.json()["output"], json!("hi"), "{}", ran.stderr);
    let recorded = std::fs::read_to_string(terminal.path("record")).unwrap();
    assert_eq!(recorded, "list\ncall echo\nend of input\n");
}

#[test]
fn the_tools_of_granted_servers_are_listed() {
    let terminal = Terminal::new();
    let (bundle, policy) = bundle(&terminal);
    let policy = terminal.write("p.yaml", &policy);
    let list = [
        "list".as_ref(),
        bundle.as_os_str(),
        "--format".as_ref(),
        "openai".as_ref(),
        "--policy".as_ref(),
        policy.as_os_str(),
    ];
    let mut list = terminal.toolhost(list);
    let ran = Ran::of(list.env("PATH", env!("PATH"))).exits(0);
    assert_eq!(ran.json()[0]["function"]["name"], "srv__echo", "{ran:?}");
}

#[test]
fn the_json_rpc_server_keeps_the_granted_servers_running() {
    let terminal = Terminal::new();
    let (bundle, policy) = bundle(&terminal);
    let policy = terminal.write("p.yaml", &policy);
    let rpc = [
        "rpc".as_ref(),
        bundle.as_os_str(),
        "--policy".as_ref(),
        policy.as_os_str(),
    ];
    let request = r#"{"jsonrpc": "2.0", "id": 1, "method": "catalog/get", "params": {}}"#;
    let mut rpc = terminal.toolhost(rpc);
    rpc.env("PATH", env!("PATH"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut rpc = rpc.spawn().expect("it starts");
    let mut stdin = rpc.stdin.take().expect("it is a pipe");
    writeln!(stdin, "{request}").expect("it is sent");
    // The end of stdin would stop the request.
    let mut stdout = BufReader::new(rpc.stdout.take().expect("it is a pipe"));
    let mut answer = String::new();
    stdout.read_line(&mut answer).expect("it answers");
    drop(stdin);
    assert!(rpc.wait().expect("it ends").success());
    let answer: Value = serde_json::from_str(&answer).expect("a message");
    let tools = &answer["result"]["tools"];
    assert_eq!(tools[0]["name"], "srv__echo", "{tools}");
}

#[test]
fn without_a_grant_nothing_is_started_and_the_line_to_add_is_printed() {
    let terminal = Terminal::new();
    let (bundle, _) = bundle(&terminal);
    let workdir = terminal.path("D");
    let call = [
        "call".as_ref(),
        bundle.as_os_str(),
        "srv__echo".as_ref(),
        "--args".as_ref(),
        r#"{"text": "hi"}"#.as_ref(),
        "--workdir".as_ref(),
        workdir.as_os_str(),
    ];
    let ran = terminal.run(call).exits(1);
    assert_eq!(ran.json()["error"]["code"], "E_TOOL_NOT_IN_CATALOG");
    let check = terminal
        .run(["check".as_ref(), bundle.as_os_str()])
        .exits(0);
    for printed in [&ran.stderr, &check.stderr, &check.stdout] {
        if printed.contains("McpServer/srv") {
            assert!(printed.contains("mcpServers: "), "{printed}");
        }
    }
    assert!(
        ran.stderr
            .contains("McpServer/srv is not granted by the policy"),
        "{}",
        ran.stderr
    );
    assert!(!terminal.path("record").exists());
}

/// The script of a play that calls the server's tool.
const SCRIPT_OF_PLAY: &str = "\
bundle: ./b.yaml
start: {agent: default, input: {}}
agents:
  default:
    steps:
      - said: {tool: srv__echo, args: {text: hi}}
    answer: {said: \"${said.output}\"}
";

#[test]
fn a_play_calls_the_granted_servers_and_ends_them() {
    let terminal = Terminal::new();
    let (_, policy) = bundle(&terminal);
    let policy = terminal.write("p.yaml", &policy);
    let script = terminal.write("script.yaml", SCRIPT_OF_PLAY);
    let mut play = terminal.toolhost(["play"]);
    play.arg(&script).arg("--policy").arg(policy);
    let ran = Ran::of(play.env("PATH", env!("PATH"))).exits(0);
    assert_eq!(ran.json()["said"], "hi", "{}", ran.stderr);
    let recorded = std::fs::read_to_string(terminal.path("record")).unwrap();
    assert_eq!(recorded, "list\ncall echo\nend of input\n");
}

#[test]
fn a_play_without_a_grant_starts_no_server() {
    let terminal = Terminal::new();
    bundle(&terminal);
    let script = terminal.write("script.yaml", SCRIPT_OF_PLAY);
    let mut play = terminal.toolhost(["play"]);
    let ran = Ran::of(play.arg(&script).env("PATH", env!("PATH")));
    assert_ne!(ran.code, Some(0), "{ran:?}");
    assert!(!terminal.path("record").exists(), "nothing is started");
}

#[test]
fn test_cases_call_the_granted_servers() {
    let terminal = Terminal::new();
    let (bundle, policy) = bundle(&terminal);
    let policy = terminal.write("p.yaml", &policy);
    std::fs::create_dir_all(terminal.path("tests/b")).unwrap();
    terminal.write(
        "tests/b/echo.yaml",
        "- name: says what it is given\n  tool: srv__echo\n  args: {text: hi}\n  expect: {output: hi}\n",
    );
    let mut test = terminal.toolhost(["test"]);
    test.arg(&bundle).arg("--policy").arg(policy);
    let ran = Ran::of(test.env("PATH", env!("PATH"))).exits(0);
    assert!(format!("{ran:?}").contains("1 passed"), "{ran:?}");
    let recorded = std::fs::read_to_string(terminal.path("record")).unwrap();
    assert_eq!(recorded.matches("call echo\n").count(), 1, "{recorded}");
}
