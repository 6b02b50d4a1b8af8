use toolhost_contract::ResourceName;

use super::super::workers::{NatsLogin, Placement};
use super::*;

const WORKERS: &str = "workers: {nats: {url: nats://10.0.0.5:4222}}\n";

fn name(name: &str) -> ResourceName {
    ResourceName::parse(name).unwrap()
}

fn refusal(text: &str) -> String {
    Policy::parse(text, "policy.yaml").unwrap_err().to_string()
}

#[test]
fn calls_run_in_the_host_unless_the_policy_places_them() {
    let policy = Policy::parse("", "policy.yaml").unwrap();
    assert!(policy.workers().is_none() && !policy.places_calls());
    assert_eq!(policy.placement("coder", &name("bash")), Placement::Local);

    let text = "defaults: {placement: any}
tools: {bash: {placement: local}, python: {placement: {label: big-memory}, repeatable: true}}
agents: {coder: {tools: {bash: {placement: any}}}}
";
    let policy = Policy::parse(&format!("{WORKERS}{text}"), "policy.yaml").unwrap();
    assert!(policy.places_calls());
    assert_eq!(policy.placement("other", &name("bash")), Placement::Local);
    assert_eq!(policy.placement("coder", &name("bash")), Placement::Any);
    assert_eq!(policy.placement("coder", &name("text")), Placement::Any);
    let label = Placement::Label("big-memory".to_owned());
    assert_eq!(policy.placement("coder", &name("python")), label);
    assert_eq!(policy.is_repeatable("coder", &name("python")), Some(true));
    assert_eq!(policy.is_repeatable("coder", &name("text")), None);
}

#[test]
fn workers_are_reached_as_written() {
    let policy = Policy::parse(WORKERS, "policy.yaml").unwrap();
    let workers = policy.workers().unwrap();
    assert_eq!((workers.in_flight, workers.nats.replicas), (1_000, 1));
    assert_eq!(
        (&*workers.nats.tenant, &workers.nats.login),
        ("default", &None)
    );

    let text = "workers:
  nats:
    url: [nats://a:4222, tls://b:4222]
    token: {secret: token-of-nats}
    authorities: PEM
    tenant: shop-1
    replicas: 3
  inFlight: 50
";
    let policy = Policy::parse(text, "policy.yaml").unwrap();
    let workers = policy.workers().unwrap();
    assert_eq!(workers.nats.urls, ["nats://a:4222", "tls://b:4222"]);
    assert_eq!((workers.in_flight, workers.nats.replicas), (50, 3));
    assert_eq!(workers.nats.authorities.as_deref(), Some("PEM"));
    let Some(NatsLogin::Token(token)) = &workers.nats.login else {
        panic!("{workers:?}");
    };
    assert_eq!(token.as_str(), "token-of-nats");
    assert!(!format!("{policy:?}").contains("token-of-nats"));
    let redacted = policy.redactor().text("it is token-of-nats").into_owned();
    assert!(!redacted.contains("token-of-nats"), "{redacted}");
}

#[test]
fn a_placement_that_cannot_be_kept_is_refused() {
    let with = |rules: &str| {
        refusal(&format!(
            "{WORKERS}tools: {{bash: {{placement: any, {rules}}}}}"
        ))
    };
    for (rules, what) in [
        ("agents: true", "send requests to other agents"),
        ("tools: [text__*]", "call other tools"),
        ("oauth: {github: {}}", "use the accounts of users"),
        ("ask: always", "wait for approval"),
    ] {
        let refused = with(rules);
        assert!(
            refused.contains(&format!("calls of bash may {what}")),
            "{rules}: {refused}"
        );
    }
    for (text, part) in [
        (
            "tools: {bash: {placement: any}}",
            "names workers, and there are none",
        ),
        (
            "defaults: {placement: any}",
            "'placement' of 'defaults' names workers",
        ),
        (
            "tools: {bash: {repeatable: true}}",
            "'repeatable' of bash has no effect",
        ),
        (
            "tools: {bash: {placement: everywhere}}",
            "'local', 'any' or {label: NAME}",
        ),
        (
            "tools: {bash: {placement: {label: Big}}}",
            "letters from a to z",
        ),
        ("workers: {}", "nats"),
        ("workers: {nats: {url: []}}", "URL of a server"),
        (
            "workers: {nats: {url: http://a}}",
            "is not the URL of a NATS server",
        ),
        (
            "workers: {nats: {url: 'nats://user:pass@a:1'}}",
            "a URL has no secrets",
        ),
        (
            "workers: {nats: {url: nats://a, token: {secret: '12345678'}, nkey: {secret: '12345678'}}}",
            "only one of",
        ),
        (
            "workers: {nats: {url: nats://a, token: plain}}",
            "{fromEnv: NAME}",
        ),
        ("workers: {nats: {url: nats://a, replicas: 2}}", "1, 3 or 5"),
        (
            "workers: {nats: {url: nats://a, tenant: 'a.b'}}",
            "a tenant is",
        ),
        (
            "workers: {nats: {url: nats://a}, inFlight: 0}",
            "1 to 100,000",
        ),
        ("workers: {nats: {url: nats://a, clusters: 1}}", "clusters"),
    ] {
        let refused = refusal(text);
        assert!(refused.contains(part), "{text}: {refused}");
    }
    assert!(!refusal("workers: {nats: {url: 'nats://user:pass@a:1'}}").contains("pass"));
}

#[test]
fn the_digest_of_a_policy_is_that_of_its_text() {
    let digest = |text| Policy::parse(text, "policy.yaml").unwrap().sha256();
    assert_eq!(digest(WORKERS), digest(WORKERS));
    assert_ne!(digest(WORKERS), digest(""));
    assert_eq!(Policy::default().sha256(), [0; 32]);
}
