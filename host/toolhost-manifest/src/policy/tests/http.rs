//! Rules for HTTP requests, and their credentials.

use super::*;

#[test]
fn http_requests_are_denied_unless_a_rule_allows_them() {
    let policy = parse(
        "tools: {t: {http: {allow: ['https://a.example'], privateNetworks: [10.0.0.0/8]}}, u: {http: {}}}
agents: {a: {tools: {t: {http: {allow: []}}, u: {http: {allow: ['GET http://127.0.0.1:1/*']}}}}}",
    );
    let granted = |agent: &str, tool: &str| {
        let (grants, _) = resolved(&policy, agent, &name(tool));
        assert_eq!(
            policy.grants_http(agent, &name(tool)),
            grants.http.is_some()
        );
        let allowed = |http: &HttpGrant| http.allow.iter().map(ToString::to_string).collect();
        let allowed: Vec<String> = grants.http.as_deref().map(allowed).unwrap_or_default();
        allowed
    };
    assert_eq!(granted("somebody", "t"), ["https://a.example"]);
    assert_eq!(granted("a", "u"), ["GET http://127.0.0.1:1/*"]);
    for (agent, tool) in [("a", "t"), ("somebody", "u"), ("a", "other")] {
        assert_eq!(granted(agent, tool), [""; 0], "{agent} {tool}");
    }
    let (grants, _) = resolved(&policy, "somebody", &name("t"));
    let networks = &grants.http.unwrap().private_networks;
    let networks: Vec<_> = networks.iter().map(ToString::to_string).collect();
    assert_eq!(networks, ["10.0.0.0/8"]);
    let server = "127.0.0.1:9".parse().unwrap();
    let (grants, _) = resolved(&policy.answered_by(server), "a", &name("u"));
    assert_eq!(grants.http.unwrap().answered_by, Some(server));
}

#[test]
fn an_invalid_rule_is_a_finding_with_its_place_and_help() {
    let http = |http: &str| found(&format!("tools: {{t: {{http: {http}}}}}"));
    let path = "error[E_CONFIG_SCHEMA_INVALID] tools.t.http";
    let bytes = |text: &str| text.find('^').unwrap();
    let column = 1 + bytes("tools: {t: {http: {allow: [https://a.example, ^");
    assert_eq!(
        http("{allow: [https://a.example, a.example]}"),
        [format!(
            "1:{column}: {path}.allow[1]: invalid rule 'a.example': it must begin with http:// or https://"
        )]
    );
    let text = "tools: {t: {http: {allow: [ftp://a.example]}}}";
    let findings = Policy::parse(text, "p.yaml").unwrap_err().diagnostics;
    assert!(
        findings[0]
            .help
            .contains("'GET https://api.example.com/v1/*'"),
        "{findings:?}"
    );
    for (bad, says) in [
        (
            "{allow: ['https://u:pw@a.example']}",
            "put secrets into `http.credentials`",
        ),
        (
            "{allow: ['https://bücher.example']}",
            "write it in punycode, which begins with xn--",
        ),
        (
            "{allow: ['http://0x7f.1']}",
            "write it as 192.0.2.1 or [2001:db8::1]",
        ),
        (
            "{allow: ['http://0.0.0.0']}",
            "write an address such as 127.0.0.1",
        ),
        ("{allow: [5]}", "expected a string but got an integer"),
        (
            "{allow: 'https://a.example'}",
            "expected a list but got a string",
        ),
        ("{alow: []}", "unknown key 'alow'"),
        ("{privateNetworks: [10.0.0.1/8]}", "write 10.0.0.0/8"),
        ("{privateNetworks: [localhost]}", "such as 10.0.0.0/8"),
    ] {
        let messages = http(bad);
        assert!(
            matches!(&messages[..], [only] if only.contains(says)),
            "{bad}: {messages:?}"
        );
    }
}

#[test]
fn a_credential_is_a_secret_bound_to_an_origin() {
    let of = |credential: &str| format!("tools: {{t: {{http: {{credentials: [{credential}]}}}}}}");
    let good = "{origin: https://a.example, header: authorization, prefix: 'Bearer ', value: {secret: sk-1234}}";
    let policy = parse(&of(good));
    let shown = format!("{policy:?}");
    assert!(
        shown.contains("authorization to https://a.example"),
        "{shown}"
    );
    assert!(!shown.contains("sk-1234"), "{shown}");
    let redacted = policy.redactor().text("Bearer sk-1234").into_owned();
    assert_eq!(redacted, "Bearer [redacted:authorization]");
    for (bad, says) in [
        (
            "{header: x, value: {secret: sk-1234}}",
            "'origin' is missing",
        ),
        (
            "{origin: https://a.example, value: {secret: sk-1234}}",
            "'header' is missing",
        ),
        (
            "{origin: https://a.example, header: x}",
            "'value' is missing",
        ),
        (
            "{origin: https://a.example, header: x, value: sk-1234}",
            "write it as {secret: …}",
        ),
        (
            "{origin: https://a.example, header: x, value: {secret: abc}}",
            "at least 4 characters",
        ),
        (
            "{origin: https://*.a.example, header: x, value: {secret: sk-1234}}",
            "invalid origin",
        ),
        (
            "{origin: https://a.example, header: host, value: {secret: sk-1234}}",
            "the host sets this header itself",
        ),
        (
            "{origin: https://a.example, header: x, value: {secret: \"sk-12\\n34\"}}",
            "visible ASCII",
        ),
        (
            "{origin: https://a.example, header: x, value: {secret: sk-1234, fromEnv: X}}",
            "is one of",
        ),
    ] {
        let messages = found(&of(bad));
        assert!(
            matches!(&messages[..], [only] if only.contains(says)),
            "{bad}: {messages:?}"
        );
        assert!(!messages[0].contains("sk-12"), "{messages:?}");
    }
}

#[test]
fn requests_that_every_tool_may_send_are_added_to_those_of_its_rules() {
    let policy = parse("tools: {t: {http: {allow: ['https://a.example']}}}");
    let policy = policy.allow_http([HttpRule::parse("https://b.example").unwrap()]);
    let allowed = |tool: &str| -> Vec<String> {
        let (grants, _) = resolved(&policy, "somebody", &name(tool));
        let http = grants.http.unwrap();
        http.allow.iter().map(ToString::to_string).collect()
    };
    assert_eq!(allowed("t"), ["https://a.example", "https://b.example"]);
    assert_eq!(allowed("other"), ["https://b.example"]);
    assert!(policy.grants_any_http() && policy.grants_http("somebody", &name("other")));
    // It is no rule of the tool, about which a tool that sends nothing would be warned.
    let http = Policy::grants().iter().find(|grant| grant.key == "http");
    assert!(!http.unwrap().is_set(&policy, "somebody", &name("other")));
}

#[test]
fn defaults_of_the_host_give_way_to_what_the_policy_says() {
    let of = |policy: Policy| {
        let policy = policy.or_workspace(name("own")).or_transactional();
        let changes = policy.workdir_changes("somebody", &name("t"));
        (policy.workspace().unwrap().to_string(), changes)
    };
    assert_eq!(
        of(Policy::default()),
        ("own".to_owned(), WorkdirChanges::Transactional)
    );
    let policy = parse("workspace: shop\ndefaults: {workdir: direct}");
    assert_eq!(of(policy), ("shop".to_owned(), WorkdirChanges::Direct));
    let policy = parse("tools: {t: {workdir: direct}}");
    assert_eq!(of(policy).1, WorkdirChanges::Direct);
}
