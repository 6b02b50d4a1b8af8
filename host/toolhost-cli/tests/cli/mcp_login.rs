//! `toolhost mcp`: logs in at a server that requires OAuth.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};

use crate::terminal::{Ran, Terminal, root};

/// An MCP server and its authorization server.
struct Servers {
    process: Child,
    server: String,
}

impl Drop for Servers {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Servers {
    fn start(terminal: &Terminal) -> Self {
        let mut process = Command::new("python3")
            .arg(root("host/toolhost-mcp-client/tests/servers/oauth.py"))
            .arg("ok")
            .arg(terminal.path("record"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let mut line = String::new();
        let stdout = process.stdout.take().expect("it is piped");
        BufReader::new(stdout)
            .read_line(&mut line)
            .expect("it prints its ports");
        let server = line.split(' ').next().expect("a port").to_owned();
        Self { process, server }
    }

    fn write_files(&self, terminal: &Terminal, oauth: &str) {
        let url = format!("http://127.0.0.1:{}/mcp", self.server);
        terminal.write(
            "here/goondan.yaml",
            format!(
                "apiVersion: goondan.ai/v1\nkind: McpServer\nmetadata: {{name: tracker}}\nspec: {{transport: {{http: {{url: '{url}'}}}}}}\n"
            ),
        );
        terminal.write(
            "here/policy.yaml",
            format!(
                "mcpServers: {{tracker: {{url: '{url}', privateNetworks: [127.0.0.1]{oauth}}}}}\n"
            ),
        );
    }
}

/// Sends a GET, and returns the answer.
fn get(url: &str) -> String {
    let rest = url.strip_prefix("http://").expect("http");
    let (authority, path) = rest.split_once('/').expect("a path");
    let mut stream = TcpStream::connect(authority).expect("it listens");
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is read");
    answer
}

#[test]
fn a_login_is_kept_encrypted_and_other_commands_use_it() {
    let terminal = Terminal::new();
    let servers = Servers::start(&terminal);
    servers.write_files(&terminal, ", oauth: {}");
    let state = terminal.path("state");
    let state = state.to_str().expect("UTF-8");
    let run = |words: &[&str]| {
        let options = ["--policy", "policy.yaml", "--state-root", state];
        let words = words.iter().chain(&options);
        Ran::of(&mut terminal.toolhost(words))
    };
    let listed = run(&["list"]).exits(0);
    assert!(
        listed.stderr.contains("toolhost mcp login tracker"),
        "{listed:?}"
    );

    let words = [
        "mcp",
        "login",
        "tracker",
        "--policy",
        "policy.yaml",
        "--state-root",
        state,
    ];
    let mut login = terminal.toolhost(words);
    let mut login = login
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(login.stdout.take().expect("it is piped")).lines();
    let url = lines.next().expect("a line").expect("UTF-8");
    assert!(
        url.contains("redirect_uri=http%3A%2F%2F127.0.0.1%3A"),
        "{url}"
    );
    let answer = get(&url);
    let callback = answer
        .lines()
        .find_map(|line| line.strip_prefix("Location: "));
    let callback = callback.expect("it sends the browser on");
    // What has another state is not the answer, and does not end the waiting.
    let forged = callback.replace("state=", "state=x");
    assert!(get(&forged).starts_with("HTTP/1.1 400"), "{forged}");
    assert!(get(callback).starts_with("HTTP/1.1 200"), "{callback}");
    assert_eq!(login.wait().expect("it ends").code(), Some(0));
    let said = lines.next().expect("a line").expect("UTF-8");
    assert!(
        said.starts_with("authorized for McpServer/tracker at http://127.0.0.1:"),
        "{said}"
    );

    assert!(!terminal.path("state/mcp-credentials").exists());
    let key = std::fs::metadata(terminal.path("state/oauth.key")).expect("it is there");
    assert_eq!(key.permissions().mode() & 0o777, 0o600);
    for entry in std::fs::read_dir(terminal.path("state")).expect("it is read") {
        let path = entry.expect("it is read").path();
        let bytes = if path.is_file() {
            std::fs::read(&path).expect("it is read")
        } else {
            Vec::new()
        };
        let has_token = bytes.windows(7).any(|it| it == b"secret-");
        assert!(!has_token, "{}", path.display());
    }
    let called = run(&["call", "tracker__echo"]).exits(0);
    assert_eq!(called.json()["output"], "hello", "{called:?}");
    let headers = run(&["call", "tracker__headers"]).exits(0);
    assert!(!headers.stdout.contains("access-secret"), "{headers:?}");

    let removed = run(&["mcp", "logout", "tracker"]).exits(0);
    assert_eq!(
        removed.stdout,
        "removed the credentials for McpServer/tracker\n"
    );
    let called = run(&["call", "tracker__echo"]).exits(1);
    assert_eq!(
        called.json()["error"]["code"],
        "E_TOOL_NOT_IN_CATALOG",
        "{called:?}"
    );
    let removed = run(&["mcp", "logout", "tracker"]).exits(0);
    assert_eq!(
        removed.stdout,
        "there are no credentials for McpServer/tracker\n"
    );
}

#[test]
fn a_login_that_cannot_be_made_names_what_is_missing() {
    let terminal = Terminal::new();
    let servers = Servers::start(&terminal);
    let login = |name: &str, words: &[&str]| {
        let login = ["mcp", "login", name, "--policy", "policy.yaml"];
        terminal.run(login.iter().chain(words))
    };
    servers.write_files(&terminal, "");
    login("other", &[]).fails(2, "has no MCP server 'other'");
    let ran = login("trakcer", &[]).fails(2, "has no MCP server 'trakcer'");
    assert!(
        ran.stderr.contains("hint: Did you mean 'tracker'?"),
        "{ran:?}"
    );
    login("tracker", &[]).fails(2, "OAuth is off for the MCP server 'tracker'");
    terminal.write(
        "here/policy.yaml",
        "mcpServers: {tracker: {command: [a]}}\n",
    );
    login("tracker", &[]).fails(2, "is a process");
    servers.write_files(
        &terminal,
        ", oauth: {grant: clientCredentials, issuer: 'https://a.example', clientId: a, clientSecret: {secret: s3cret}}",
    );
    login("tracker", &[]).fails(2, "needs no login");
    // Nobody opens the page.
    servers.write_files(&terminal, ", oauth: {}");
    let waited = login("tracker", &["--timeout", "1"]).exits(1);
    assert!(
        waited.stderr.contains("nobody authorized it within 1 s"),
        "{waited:?}"
    );
    // The policy does not have the authorization server's issuer.
    servers.write_files(&terminal, ", oauth: {issuer: 'https://auth.example'}");
    let refused =
        login("tracker", &[]).fails(1, "the policy has the issuer 'https://auth.example'");
    assert!(!refused.stderr.contains("secret-0"), "{refused:?}");
}
