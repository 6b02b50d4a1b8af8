//! Credentials that a provider gives call by call.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use serde_json::json;
use toolhost::{
    Host, Policy, ResourceName,
    credentials::{CredentialProvider, CredentialResponse, Credentials},
};
use toolhost_tests::sandbox;
use toolhost_tests::test_host::{TestHost, TestTool, code};

/// Gives each call of the tool `look` a new token, but refuses the third. Other tools get nothing.
#[derive(Default)]
struct Tokens(Arc<AtomicU32>);

impl CredentialProvider for Tokens {
    fn credentials(&self, agent: &str, tool: &ResourceName) -> CredentialResponse {
        if tool.as_str() != "look" {
            return CredentialResponse::Ready(Credentials::default());
        }
        let count = Arc::clone(&self.0);
        let prefix = format!("{agent}-{tool}");
        CredentialResponse::Later(Box::pin(async move {
            tokio::task::yield_now().await;
            match count.fetch_add(1, Relaxed) {
                2 => Err("the token has expired".into()),
                n => Ok(Credentials::default().with_env("TOKEN", &format!("{prefix}-{n}"))?),
            }
        }))
    }
}

async fn load(provider: Option<Tokens>, policy: &str) -> TestHost {
    let policy = Policy::parse(policy, "policy.yaml").unwrap();
    let mut host = Host::builder().sandbox(sandbox()).policy(policy);
    if let Some(provider) = provider {
        host = host.credential_provider(provider);
    }
    let tools: &[TestTool<'_>] = &[
        ("look", "look_at_environment", &["run"]),
        ("echo", "echo", &["say"]),
    ];
    TestHost::with_tools_in(host.build().unwrap(), tools).await
}

#[tokio::test]
async fn a_provider_gives_each_call_its_credentials_and_they_are_redacted() {
    let test_host = load(Some(Tokens::default()), "").await;

    for _ in 0..2 {
        let seen = test_host.call("look__run", json!({})).await;
        let env = &seen.output().unwrap()["env"];
        assert_eq!(*env, json!({"TOKEN": "[redacted:TOKEN]"}));
    }
    let refused = test_host.call("look__run", json!({})).await;
    assert_eq!(code(&refused), "E_HOST");
    let message = &refused.tool_error().unwrap().message;
    assert_eq!(
        message,
        "The credentials of tool 'look' could not be obtained."
    );

    // The secrets of earlier calls stay redacted in the results of later calls.
    let args = json!({"text": "default-look-0 default-look-1"});
    let later = test_host.call("echo__say", args).await;
    let redacted = json!({"text": "[redacted:TOKEN] [redacted:TOKEN]"});
    assert_eq!(later.output(), Some(&redacted));
}

#[tokio::test]
async fn a_provider_replaces_the_secrets_of_the_policy_and_keeps_its_variables() {
    let policy =
        "tools: {look: {env: {A: plain, TOKEN: {secret: sk-12345}, B: {secret: sk-67890}}}}";
    for (provider, expected) in [
        (
            None,
            json!({"A": "plain", "B": "[redacted:B]", "TOKEN": "[redacted:TOKEN]"}),
        ),
        (
            Some(Tokens::default()),
            json!({"A": "plain", "TOKEN": "[redacted:TOKEN]"}),
        ),
    ] {
        let test_host = load(provider, policy).await;
        let seen = test_host.call("look__run", json!({})).await;
        assert_eq!(seen.output().unwrap()["env"], expected);
        // The policy's secrets are redacted whether they are provided or not.
        let args = json!({"text": "sk-12345 sk-67890"});
        let echoed = test_host.call("echo__say", args).await;
        let redacted = json!({"text": "[redacted:TOKEN] [redacted:B]"});
        assert_eq!(echoed.output(), Some(&redacted));
    }
}
