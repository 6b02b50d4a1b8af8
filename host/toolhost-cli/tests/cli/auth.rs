//! OAuth for tools: logins, calls with a user's token that no tool sees, and revocations.

mod library;
mod server;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::front_ends::lines::Lines;
use crate::terminal::{Ran, Terminal, guest};
use server::{Servers, get, granted_by_user, parameter};

/// What no output may contain.
const SECRETS: [&str; 4] = [
    "access-secret",
    "refresh-secret",
    "device-secret",
    "client-secret",
];

/// A bundle with the tool `fetch`, which asks for the OAuthApp `acct`.
struct Setup {
    terminal: Terminal,
    servers: Servers,
}

impl Setup {
    fn new(flow: &str, expires_in: u32) -> Self {
        let terminal = Terminal::new();
        let servers = Servers::start(expires_in);
        let component = fs::read(guest("fetch")).unwrap();
        terminal.write("here/fetch.wasm", component);
        let issuer = &servers.issuer;
        let endpoints = format!(
            "{{authorizationUrl: 'http://{issuer}/authorize', tokenUrl: 'http://{issuer}/token', deviceAuthorizationUrl: 'http://{issuer}/device', revocationUrl: 'http://{issuer}/revoke'}}"
        );
        let api = &servers.api;
        terminal.write(
            "here/goondan.yaml",
            format!(
                "apiVersion: goondan.ai/v1
kind: OAuthApp
metadata: {{name: acct}}
spec:
  flow: {flow}
  subjectMode: user
  client: {{clientId: client-1, clientSecret: {{valueFrom: {{env: SECRET}}}}}}
  endpoints: {endpoints}
  scopes: [read]
  origins: ['http://{api}']
---
apiVersion: goondan.ai/v1
kind: Tool
metadata: {{name: fetch}}
spec: {{entry: ./fetch.wasm, exports: [{{name: run}}], oauthApps: [OAuthApp/acct]}}
"
            ),
        );
        let setup = Self { terminal, servers };
        setup.write_policy("policy.yaml", "oauth: {acct: {}}", &endpoints);
        setup.write_policy("without.yaml", "agents: false", &endpoints);
        setup
    }

    fn write_policy(&self, name: &str, grant: &str, endpoints: &str) {
        let Servers { api, other, .. } = &self.servers;
        let text = format!(
            "oauthApps: {{acct: {{endpoints: {endpoints}, origins: ['http://{api}'], env: {{SECRET: {{secret: client-secret-1}}}}}}}}
tools: {{fetch: {{http: {{allow: ['http://{api}', 'http://{other}']}}, {grant}}}}}
"
        );
        self.terminal.write(&format!("here/{name}"), text);
    }

    fn run(&self, words: &[&str]) -> Ran {
        let state = self.terminal.path("state");
        let options = ["--state-root", state.to_str().unwrap()];
        let ran = Ran::of(&mut self.terminal.toolhost(words.iter().chain(&options)));
        for secret in SECRETS {
            let is_there = ran.stdout.contains(secret) || ran.stderr.contains(secret);
            assert!(!is_there, "{secret}: {ran:?}");
        }
        ran
    }

    /// Calls the tool with a URL, and other arguments.
    fn call(&self, policy: &str, subject: Option<&str>, args: &Value) -> Ran {
        let args = args.to_string();
        let mut words = vec!["call", "fetch__run", "--policy", policy, "--args", &args];
        // In the instance's workspace, beside which its events are logged.
        words.extend(["-vv", "--usage"]);
        words.extend(subject.iter().flat_map(|subject| ["--subject", subject]));
        self.run(&words)
    }

    fn call_api(&self, subject: &str) -> Ran {
        let url = format!("http://{}/", self.servers.api);
        self.call("policy.yaml", Some(subject), &json!({"url": url}))
    }

    /// Logs a user in.
    fn log_in(&self, subject: &str) {
        let state = self.terminal.path("state");
        let state = state.to_str().unwrap();
        let words = ["auth", "login", "acct", "--policy", "policy.yaml"];
        let more = ["--subject", subject, "--port", "0", "--state-root", state];
        let mut login = self.terminal.toolhost(words.iter().chain(&more));
        let login = login.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut login = login.spawn().unwrap();
        let mut lines = BufReader::new(login.stdout.take().unwrap()).lines();
        let url = lines.next().unwrap().unwrap();
        let callback = granted_by_user(&url);
        // What has another state is not the answer, and does not end the waiting.
        let forged = callback.replace("state=", "state=x");
        assert!(get(&forged).starts_with("HTTP/1.1 400"), "{forged}");
        assert!(get(&callback).starts_with("HTTP/1.1 200"), "{callback}");
        let granted = lines.next().unwrap().unwrap();
        let expected = format!("granted access to OAuthApp/acct for {subject}: read");
        assert_eq!(granted, expected);
        assert_eq!(login.wait().unwrap().code(), Some(0));
    }

    fn command(&self, command: &str, more: &[&str]) -> Lines {
        let (state, workdir) = (self.terminal.path("state"), self.terminal.path("D"));
        let words = [command, "--quiet", "--policy", "policy.yaml", "--workdir"];
        let mut command = self.terminal.toolhost(words);
        let command = command.arg(workdir).arg("--state-root").arg(state);
        Lines::start(command.args(more))
    }
}

/// Asserts that no file beneath a directory contains a secret.
fn assert_no_secret_beneath(dir: &Path) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_no_secret_beneath(&path);
            continue;
        }
        let bytes = fs::read(&path).unwrap_or_default();
        for secret in SECRETS {
            let is_there = bytes
                .windows(secret.len())
                .any(|it| it == secret.as_bytes());
            assert!(!is_there, "{secret}: {}", path.display());
        }
    }
}

fn error(ran: &Ran) -> Value {
    ran.json()["error"].clone()
}

#[test]
fn a_login_lets_a_tool_use_the_users_account_and_nothing_shows_the_token() {
    // requirements-v1 §12.6.1, §12.6.3, §12.6.4
    let setup = Setup::new("authorizationCode", 3600);
    let servers = &setup.servers;
    let needed = setup.call_api("ada").exits(1);
    let details = error(&needed)["details"].clone();
    assert_eq!(error(&needed)["code"], "E_TOOL_AUTH_REQUIRED");
    assert_eq!(details["app"], "acct");
    assert!(details["authSessionId"].is_string() && details["expiresAt"].is_string());
    let url = details["authorizationUrl"].as_str().unwrap();
    let (_, query) = url.split_once('?').unwrap();
    // requirements-v1 §12.6.4(2)
    assert_eq!(parameter(query, "code_challenge_method").unwrap(), "S256");
    assert!(parameter(query, "state").unwrap().len() > 20, "{url}");
    let hint = "toolhost auth login acct --subject ada";
    assert!(needed.stderr.contains(hint), "{needed:?}");
    assert!(servers.to_api().is_empty(), "the component ran");

    setup.log_in("ada");
    let called = setup.call_api("ada").exits(0);
    let body = &called.json()["output"]["answers"][0]["body"];
    // The API answers with the token that it saw.
    assert_eq!(body, "the API saw Bearer ******************", "{called:?}");
    let [seen] = &*servers.to_api() else {
        panic!("one request");
    };
    assert_eq!(
        seen.authorization.as_deref(),
        Some("Bearer access-secret-0001")
    );
    assert_no_secret_beneath(&setup.terminal.path("state"));

    // Grants belong to a user: requirements-v1 §12.6.1(1), §12.6.1(3).
    let of_eve = setup.call_api("eve").exits(1);
    assert_eq!(error(&of_eve)["code"], "E_TOOL_AUTH_REQUIRED");
    let url = format!("http://{}/", servers.api);
    let of_nobody = setup
        .call("policy.yaml", None, &json!({"url": url}))
        .exits(1);
    assert_eq!(error(&of_nobody)["code"], "E_TOOL_AUTH_SUBJECT");
    assert_eq!(servers.to_api().len(), 1, "a component ran");

    let listed = setup.run(&["auth", "ls", "--json"]).exits(0).json();
    assert_eq!(listed[0]["app"], "acct");
    assert_eq!(listed[0]["subject"], "ada");
    assert_eq!(listed.as_array().unwrap().len(), 1);

    let words = [
        "auth",
        "revoke",
        "acct",
        "--subject",
        "ada",
        "--policy",
        "policy.yaml",
    ];
    let revoked = setup.run(&words).exits(0);
    assert_eq!(
        revoked.stdout,
        "revoked the grant of OAuthApp/acct for ada\n"
    );
    assert!(!servers.to_issuer("/revoke").is_empty());
    let again = setup.run(&words).exits(1);
    assert_eq!(
        again.stdout,
        "no grant of OAuthApp/acct for ada is stored\n"
    );
    let needed = setup.call_api("ada").exits(1);
    assert_eq!(error(&needed)["code"], "E_TOOL_AUTH_REQUIRED");
    assert_eq!(servers.to_api().len(), 1, "a component ran");
}

#[test]
fn a_token_that_expires_is_refreshed_before_the_call() {
    // requirements-v1 §12.6.1(6)
    let setup = Setup::new("authorizationCode", 2);
    setup.log_in("ada");
    // A token is refreshed in the second half of its life.
    let is_third = |_: &u32| {
        setup.call_api("ada").exits(0);
        let seen = setup.servers.to_api().pop().unwrap().authorization;
        seen.as_deref() == Some("Bearer access-secret-0003")
    };
    let calls = (1..200).find(is_third);
    assert!(calls.is_some_and(|calls| calls > 2), "{calls:?}");
    assert_eq!(setup.servers.to_issuer("/token").len(), 3);
    assert_no_secret_beneath(&setup.terminal.path("state"));
}

#[test]
fn a_token_that_the_api_refuses_is_refreshed_before_the_next_call() {
    // requirements-v1 §12.6.1(6)
    let setup = Setup::new("authorizationCode", 3600);
    setup.log_in("ada");
    let status = || {
        let called = setup.call_api("ada").exits(0);
        called.json()["output"]["answers"][0]["status"].clone()
    };
    assert_eq!(status(), 200);
    setup.servers.withdraw_access_tokens();
    assert_eq!(status(), 401);
    assert_eq!(status(), 200);
    let seen = setup.servers.to_api().pop().unwrap().authorization;
    assert_eq!(seen.as_deref(), Some("Bearer access-secret-0002"));
    assert_eq!(setup.servers.to_issuer("/token").len(), 2);
    assert_no_secret_beneath(&setup.terminal.path("state"));
}

#[test]
fn a_token_is_set_for_the_origins_of_the_app_alone() {
    let setup = Setup::new("authorizationCode", 3600);
    setup.log_in("ada");
    let Servers { api, other, .. } = &setup.servers;
    let call = |args: Value| setup.call("policy.yaml", Some("ada"), &args).exits(0);
    call(json!({"url": format!("http://{other}/")}));
    // The tool's own header is replaced for the app's origins.
    let headers = json!({"authorization": "Bearer of the tool"});
    call(json!({"url": format!("http://{api}/"), "headers": headers}));
    let seen = setup.servers.to_api().pop().unwrap().authorization;
    assert_eq!(seen.as_deref(), Some("Bearer access-secret-0001"));
    // A redirect to another origin carries none.
    call(json!({"url": format!("http://{api}/away"), "follow": 1}));
    let to_other = setup.servers.to_other();
    assert_eq!(to_other.len(), 2, "{to_other:?}");
    assert!(
        to_other.iter().all(|it| it.authorization.is_none()),
        "{to_other:?}"
    );
}

#[test]
fn a_tool_that_the_policy_does_not_grant_the_app_gets_no_token() {
    let setup = Setup::new("authorizationCode", 3600);
    setup.log_in("ada");
    let url = format!("http://{}/", setup.servers.api);
    let called = setup
        .call("without.yaml", Some("ada"), &json!({"url": url}))
        .exits(0);
    let body = called.json()["output"]["answers"][0]["body"].clone();
    assert_eq!(body, "the API saw nothing", "{called:?}");

    let checked = setup.run(&["check", "--policy", "without.yaml"]).exits(0);
    for says in [
        "it asks for OAuthApp/acct, which the policy does not grant",
        "Write `tools: { fetch: { oauth: { acct: {} } } }` in the policy to grant it.",
    ] {
        assert!(checked.stderr.contains(says), "{checked:?}");
    }
    let checked = setup.run(&["check"]).exits(0);
    let says = "OAuthApp/acct is not granted by the policy, and no tool can use it";
    assert!(checked.stderr.contains(says), "{checked:?}");
    let checked = setup.run(&["check", "--policy", "policy.yaml"]).exits(0);
    assert!(checked.stdout.contains("1 OAuthApp"), "{checked:?}");
    assert!(!checked.stderr.contains("OAuthApp"), "{checked:?}");
}

#[test]
fn a_device_is_authorized_with_a_code() {
    // requirements-v1 §12.6.5(1)
    let setup = Setup::new("deviceCode", 3600);
    let needed = setup.call_api("ada").exits(1);
    let details = error(&needed)["details"].clone();
    assert_eq!(details["authorizationUrl"], "https://a.example/device");
    assert_eq!(details["userCode"], "WDJB-MJHT");
    let words = [
        "auth",
        "login",
        "acct",
        "--policy",
        "policy.yaml",
        "--subject",
        "ada",
    ];
    let login = setup.run(&words).exits(0);
    let expected =
        "https://a.example/device\nWDJB-MJHT\ngranted access to OAuthApp/acct for ada: read\n";
    assert_eq!(login.stdout, expected);
    setup.call_api("ada").exits(0);
    assert_no_secret_beneath(&setup.terminal.path("state"));
}

#[test]
fn a_login_that_cannot_begin_says_what_to_do() {
    let setup = Setup::new("authorizationCode", 3600);
    let login = |words: &[&str]| {
        let all = [&["auth", "login"], words].concat();
        setup.run(&all)
    };
    let policy = ["--policy", "policy.yaml"];
    login(&[&["acct"], &policy[..]].concat()).fails(2, "Pass --subject USER.");
    login(&[&["act", "--subject", "ada"], &policy[..]].concat()).fails(2, "Did you mean 'acct'?");
    setup.terminal.write("here/empty.yaml", "");
    login(&["acct", "--subject", "ada", "--policy", "empty.yaml"])
        .fails(2, "Write `oauthApps: { acct: { endpoints: ");
    let late = ["acct", "--subject", "ada", "--port", "0", "--timeout", "1"];
    let late = login(&[&late, &policy[..]].concat()).exits(1);
    assert!(
        late.stderr.contains("nobody answered within 1 s"),
        "{late:?}"
    );
    let forgotten = setup.run(&["auth", "revoke", "acct"]).exits(1);
    assert_eq!(forgotten.stdout, "no grant of OAuthApp/acct is stored\n");
}

#[test]
fn a_client_of_json_rpc_completes_an_authorization_and_gets_its_event() {
    // requirements-v1 §12.6.4(5)
    let setup = Setup::new("authorizationCode", 3600);
    let mut server = setup.command("rpc", &["."]);
    let url = format!("http://{}/", setup.servers.api);
    let call = json!({
        "call": {"id": "c", "name": "fetch__run", "args": {"url": url}}, "subject": "ada",
    });
    server.request("events/subscribe", &json!({}));
    let needed = server.request("call/execute", &call);
    let details = needed["result"]["error"]["details"].clone();
    let link = details["authorizationUrl"]
        .as_str()
        .unwrap_or_else(|| panic!("{needed}"));
    let callback = granted_by_user(link);
    let (_, query) = callback.split_once('?').unwrap();
    // requirements-v1 §12.6.4(3)
    let forged = query.replace("state=", "state=x");
    let refused = server.request("oauth/callback", &json!({"query": forged}));
    assert_eq!(
        refused["error"]["data"]["code"], "E_RPC_PARAMS",
        "{refused}"
    );
    let mut notified = Vec::new();
    let granted = server.request_and("oauth/callback", &json!({"query": query}), &mut notified);
    assert_eq!(granted["result"]["subject"], "ada", "{granted}");
    let twice = server.request_and("oauth/callback", &json!({"query": query}), &mut notified);
    assert!(twice["error"].is_object(), "{twice}");
    let called = server.request_and("call/execute", &call, &mut notified);
    assert_eq!(called["result"]["status"], "ok", "{called}");
    let of_type = |event: &&Value| event["params"]["type"] == "auth.granted";
    let events: Vec<&Value> = notified.iter().filter(of_type).collect();
    assert_eq!(events.len(), 1, "{notified:?}");
    let auth = &events[0]["params"]["auth"];
    assert_eq!(auth["app"], "acct");
    assert_eq!(auth["subject"], "ada");
    assert_eq!(auth["authSessionId"], details["authSessionId"]);
    let all = format!("{notified:?} {called} {granted}");
    assert!(SECRETS.iter().all(|secret| !all.contains(secret)), "{all}");
}

#[test]
fn a_server_of_mcp_completes_the_authorizations_that_its_clients_ask_for() {
    let setup = Setup::new("authorizationCode", 3600);
    // A port of its own: tests run at the same time.
    let port = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let path = setup.terminal.path("here/goondan.yaml");
    let bundle = fs::read_to_string(&path).unwrap();
    let redirect = format!("  redirect: {{url: 'http://127.0.0.1:{port}/granted'}}\n  scopes:");
    fs::write(path, bundle.replace("  scopes:", &redirect)).unwrap();
    let mut server = setup.command("serve", &["--subject", "ada"]);
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {"url": {}}},
        "clientInfo": {"name": "test", "version": "1"},
    });
    server.request("initialize", &params);
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let url = format!("http://{}/", setup.servers.api);
    let params = json!({"name": "fetch__run", "arguments": {"url": url}});
    let asked = server.request("tools/call", &params);
    let link = asked["error"]["data"]["elicitations"][0]["url"].as_str();
    let callback = granted_by_user(link.unwrap_or_else(|| panic!("{asked}")));
    let other = callback.replace("/granted?", "/other?");
    assert!(get(&other).starts_with("HTTP/1.1 404"), "{other}");
    let page = get(&callback);
    assert!(
        page.ends_with(
            "Access to acct is granted. Close this page, and repeat what you asked for."
        ),
        "{page}"
    );
    assert!(
        get(&callback).starts_with("HTTP/1.1 400"),
        "it is used once"
    );
    let called = server.request("tools/call", &params);
    assert_eq!(called["result"]["isError"], false, "{called}");
    assert!(!called.to_string().contains("access-secret"), "{called}");
}

#[test]
fn a_client_of_mcp_that_opens_urls_is_asked_to_and_others_read_the_link() {
    // requirements-v1 §12.6.6
    let setup = Setup::new("authorizationCode", 3600);
    let url = format!("http://{}/", setup.servers.api);
    let called = |capabilities: Value| {
        let mut server = setup.command("serve", &["--subject", "ada"]);
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        server.request("initialize", &params);
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let params = json!({"name": "fetch__run", "arguments": {"url": url}});
        server.request("tools/call", &params)
    };
    let asked = called(json!({"elicitation": {"url": {}}}));
    assert_eq!(asked["error"]["code"], -32042, "{asked}");
    let elicitation = &asked["error"]["data"]["elicitations"][0];
    assert_eq!(elicitation["mode"], "url");
    let link = elicitation["url"].as_str().unwrap();
    assert!(link.starts_with(&format!("http://{}/authorize?", setup.servers.issuer)));
    assert!(elicitation["elicitationId"].is_string() && elicitation["message"].is_string());
    let told = called(json!({}));
    assert_eq!(told["result"]["isError"], true, "{told}");
    let text = told["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("\nAUTHORIZE: http://"), "{text}");
    assert!(setup.servers.to_api().is_empty(), "the component ran");
}
