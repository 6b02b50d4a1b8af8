//! The library in this process: notices, events, and the audit log.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolhost::events::{EventKind, Received};
use toolhost::middleware::AuditLog;
use toolhost::oauth::{OAuth, OAuthConfig, OAuthEgress, OAuthKeyFile, OAuthStore};
use toolhost::{
    Host, LoadedBundle, Policy, Sandbox, SandboxConfig, ToolCall, ToolResult, TurnStart,
};

use super::server::granted_by_user;
use super::{SECRETS, Setup, assert_no_secret_beneath};

/// Loads the bundle of a setup.
async fn load(setup: &Setup, policy: &str) -> LoadedBundle {
    let root = setup.terminal.path("state");
    let policy = std::fs::read_to_string(setup.terminal.path(policy)).unwrap();
    let policy = Policy::parse(&policy, "policy.yaml").unwrap();
    let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
    let mut egress = OAuthEgress::new(sandbox.egress().clone());
    egress.private_networks = policy.oauth_networks();
    let store = OAuthStore::open(&root).unwrap();
    let key = Arc::new(OAuthKeyFile::new(root.join("oauth.key")));
    let oauth = OAuth::open(OAuthConfig::new(store, key, egress)).unwrap();
    let host = Host::builder().sandbox(sandbox).policy(policy);
    let host = host.state_root(root).oauth(oauth).build().unwrap();
    host.load(setup.terminal.path("here")).await.unwrap()
}

fn fetch(id: &str, url: &str) -> ToolCall {
    let Value::Object(args) = json!({"url": url}) else {
        unreachable!()
    };
    ToolCall::new(id, "fetch__run", args)
}

fn code(result: &ToolResult) -> String {
    let error = result.tool_error();
    error.map_or_else(String::new, |error| error.code.to_string())
}

#[test]
fn a_step_has_a_notice_of_each_authorization_that_its_calls_need() {
    // requirements-v1 §12.6.6(1), §12.6.6(2)
    let setup = Setup::new("authorizationCode", 3600);
    let url = format!("http://{}/", setup.servers.api);
    let audit = setup.terminal.path("audit.jsonl");
    Runtime::new().unwrap().block_on(async {
        let bundle = load(&setup, "here/policy.yaml").await;
        let agent = bundle.only_agent().unwrap();
        let log = AuditLog::append(&audit).unwrap();
        let audited = log.clone();
        agent
            .extend("audit", move |api| api.pipeline().tool_call(-100, audited))
            .unwrap();
        let workdir = bundle.instance_workspace("user-1").unwrap();
        let instance = agent.instance("user-1", workdir);
        let mut events = bundle.host().events().subscribe();
        let start = TurnStart::new("turn-1").with_subject("ada");
        let turn = instance.open_turn(start).await.unwrap();
        let step = turn.open_step().await.unwrap();
        assert!(step.notices().is_empty());
        for id in ["call_1", "call_2"] {
            let needed = step.execute_without_message(fetch(id, &url)).await;
            assert_eq!(code(&needed), "E_TOOL_AUTH_REQUIRED");
        }
        let [notice] = &*step.notices() else {
            panic!("{:?}", step.notices());
        };
        assert_eq!(notice.app.as_str(), "acct");
        assert!(!notice.auth_session_id.is_empty() && !notice.message.is_empty());
        let fields = serde_json::to_value(notice).unwrap();
        let mut fields: Vec<_> = fields.as_object().unwrap().keys().cloned().collect();
        fields.sort();
        let expected = [
            "app",
            "authSessionId",
            "authorizationUrl",
            "expiresAt",
            "message",
        ];
        assert_eq!(fields, expected);
        let callback = granted_by_user(&notice.authorization_url);
        let (_, query) = callback.split_once('?').unwrap();
        bundle.oauth_callback(query).await.unwrap();
        let called = step.execute_without_message(fetch("call_3", &url)).await;
        assert_eq!(code(&called), "", "{called:?}");
        // In another step, nothing is needed any more.
        step.close(()).await.unwrap();
        let step = turn.open_step().await.unwrap();
        assert!(step.notices().is_empty());
        step.close(()).await.unwrap();
        turn.close(()).await.unwrap();
        bundle.host().events().flush().await;
        log.flush().await;
        let mut seen = Vec::new();
        loop {
            let Some(Received::Event(event)) = events.next().await else {
                panic!("events were lost");
            };
            seen.push(event.kind);
            let event = serde_json::to_string(&event).unwrap();
            assert!(!event.contains("code_challenge"), "{event}");
            assert!(
                SECRETS.iter().all(|secret| !event.contains(secret)),
                "{event}"
            );
            if seen.ends_with(&[EventKind::TurnCompleted]) {
                break;
            }
        }
        assert!(seen.contains(&EventKind::AuthGranted), "{seen:?}");
        let output = serde_json::to_string(&called).unwrap();
        assert!(
            SECRETS.iter().all(|secret| !output.contains(secret)),
            "{output}"
        );
    });
    assert_eq!(setup.servers.to_api().len(), 1);
    let audited = std::fs::read_to_string(audit).unwrap();
    assert!(audited.contains("fetch__run"), "{audited}");
    assert!(
        SECRETS.iter().all(|secret| !audited.contains(secret)),
        "{audited}"
    );
    assert_no_secret_beneath(&setup.terminal.path("state"));
}

#[test]
fn the_scopes_of_a_tool_are_among_those_of_the_app() {
    // requirements-v1 §12.6.1(2)
    let setup = Setup::new("authorizationCode", 3600);
    let path = setup.terminal.path("here/policy.yaml");
    let policy = std::fs::read_to_string(&path).unwrap();
    let with =
        |scopes: &str| policy.replace("{acct: {}}", &format!("{{acct: {{scopes: {scopes}}}}}"));
    std::fs::write(&path, with("[read, write]")).unwrap();
    let checked = setup.run(&["check", "--policy", "policy.yaml"]).exits(1);
    let says = "the policy requires the scope 'write' of OAuthApp/acct for tool fetch";
    assert!(checked.stderr.contains(says), "{checked:?}");
    std::fs::write(&path, with("[read]")).unwrap();
    setup.run(&["check", "--policy", "policy.yaml"]).exits(0);
}
