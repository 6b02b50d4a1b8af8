//! Where people decide, and who is told.

use super::*;
use crate::policy::SecretSource;

/// 24 bytes.
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

#[test]
fn the_page_and_the_webhook_of_approvals_are_read_and_the_secret_is_not_shown() {
    let policy = format!(
        "approvals: {{page: 'http://127.0.0.1:7333/', webhook: {{url: 'https://a.example/x?y=1', secret: {{secret: {SECRET}}}, privateNetworks: [10.0.0.0/8]}}}}"
    );
    let policy = parse(&policy);
    let rules = policy.approvals();
    assert_eq!(rules.page.as_deref(), Some("http://127.0.0.1:7333/"));
    let webhook = rules.webhook.as_ref().unwrap();
    assert_eq!(webhook.url, "https://a.example/x?y=1");
    assert_eq!((webhook.key.len(), webhook.networks.len()), (24, 1));
    assert!(!format!("{policy:?}").contains("MfKQ9"), "{policy:?}");
    let text = format!("the secret is {SECRET}");
    let redactor = policy.redactor();
    assert!(!redactor.text(&text).contains("MfKQ9"));
    // Without a prefix, from the environment, at this machine.
    let read = |source: SecretSource<'_>| match source {
        SecretSource::Env("HOOK") => Ok(SECRET.replace("whsec_", "")),
        SecretSource::Env(other) | SecretSource::File(other) => Err(other.to_owned()),
    };
    let policy = "approvals: {webhook: {url: 'http://127.0.0.1:9/', secret: {fromEnv: HOOK}}}";
    let policy = Policy::parse_with(policy, "p.yaml", &read).unwrap();
    let webhook = policy.approvals().webhook.as_ref().unwrap();
    assert_eq!((webhook.key.len(), webhook.networks.len()), (24, 2));
    assert_eq!(parse("").approvals(), &ApprovalRules::default());
}

#[test]
fn a_webhook_without_a_key_or_without_tls_is_refused_and_its_secret_is_not_quoted() {
    let url = "url: 'https://a.example'";
    for (webhook, says) in [
        (url.to_owned(), "'secret' is missing"),
        (format!("secret: {{secret: {SECRET}}}"), "'url' is missing"),
        (
            format!("url: 'http://a.example', secret: {{secret: {SECRET}}}"),
            "is not an https URL",
        ),
        (format!("{url}, secret: {SECRET}"), "write it as {fromEnv"),
        (
            format!("{url}, secret: {{secret: whsec_MfKQ9r8GKYqrTwjUPD8IL}}"),
            "24 to 64 bytes in base64",
        ),
        (
            format!("{url}, secret: {{secret: MfKQ9-no-base64-at-all-of-it}}"),
            "24 to 64 bytes in base64",
        ),
        (
            format!("{url}, secret: {{secret: {SECRET}}}, retry: 1"),
            "unknown key 'retry'",
        ),
    ] {
        let findings = found(&format!("approvals: {{webhook: {{{webhook}}}}}"));
        assert!(
            findings.len() == 1 && findings[0].contains(says),
            "{webhook}: {findings:?}"
        );
        assert!(!findings[0].contains("MfKQ9"), "{findings:?}");
    }
    let findings = found("approvals: {page: 'ftp://a.example'}");
    assert!(findings[0].contains("is not a URL"), "{findings:?}");
}

#[test]
fn a_policy_that_comes_with_the_tools_tells_nobody() {
    let operators = parse("approvals: {page: 'https://own.example/'}");
    let policy = parse("approvals: {page: 'https://other.example/'}").within(&operators);
    assert_eq!(
        policy.approvals().page.as_deref(),
        Some("https://own.example/")
    );
}
