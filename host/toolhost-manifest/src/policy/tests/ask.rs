//! `ask`.

use serde_json::json;
use toolhost_contract::http::{Origin, Scheme};
use toolhost_contract::{FileChange, FileChangeKind, FileDigest, ToolName};

use super::{found, name, parse};

fn decided(policy: &str, tool: &str, args: &serde_json::Value) -> String {
    let policy = parse(policy);
    let tool = ToolName::parse(tool).unwrap();
    let rules = policy.ask_rules("a", tool.resource()).unwrap();
    rules.decide(&tool, args).to_string()
}

#[test]
fn the_narrowest_rule_for_a_call_decides_and_names_itself() {
    let policy = "
tools:
  fs:
    ask:
      default: always
      allow:
        - {args: {path: \"docs/*\"}}
        - {export: read}
      deny:
        - {args: {path: \"docs/secret/*\"}}
        - {args: {path: \"keys/*\"}}
      ask:
        - {export: write, args: {path: \"docs/secret/notes/*\"}}
        - {args: {size: {minimum: 1000}}}
";
    let at = |export: &str, args| decided(policy, &format!("fs__{export}"), &args);
    for (export, args, expected) in [
        (
            "write",
            json!({"path": "x"}),
            "asks before it runs, as no rule is for it",
        ),
        (
            "write",
            json!({"path": "docs/a"}),
            "allowed, by the rule {\"allow\":{\"args\":{\"path\":\"docs/*\"}}} at p.yaml:7",
        ),
        ("write", json!({"path": "docs/secret/a"}), "denied"),
        // Within both of the rules before.
        (
            "write",
            json!({"path": "docs/secret/notes/a"}),
            "asks before it runs, by",
        ),
        ("edit", json!({"path": "docs/secret/notes/a"}), "denied"),
        ("read", json!({"path": "x"}), "allowed"),
        // Neither of them is narrower: the strictest decides.
        ("read", json!({"path": "keys/a"}), "denied"),
        (
            "write",
            json!({"path": "docs/a", "size": 1000}),
            "asks before it runs, by",
        ),
        ("write", json!({"path": "docs/a", "size": 999}), "allowed"),
        // A path that leads elsewhere is not allowed, and denied for where it may lead.
        (
            "write",
            json!({"path": "docs/../x"}),
            "asks before it runs, as no rule",
        ),
        ("write", json!({"path": "docs/../keys/a"}), "denied"),
        ("write", json!({"path": "../work/keys/a"}), "denied"),
        ("write", json!({"path": "/keys/a"}), "denied"),
        (
            "write",
            json!({"path": ["docs/a", "x"]}),
            "asks before it runs, as no rule",
        ),
        ("write", json!({"path": ["docs/a", "keys/b"]}), "denied"),
        (
            "write",
            json!({"path": 5}),
            "asks before it runs, as no rule",
        ),
    ] {
        let decision = at(export, args.clone());
        assert!(
            decision.starts_with(expected),
            "{export} {args}: {decision}"
        );
    }
}

#[test]
fn rules_of_an_agent_replace_those_of_the_tool_and_the_defaults() {
    let policy = parse(
        "{defaults: {ask: always}, tools: {fs: {ask: never}}, agents: {b: {tools: {fs: {ask: effects}}}}}",
    );
    let of = |agent, tool: &str| {
        let tool = ToolName::parse(&format!("{tool}__x")).unwrap();
        let rules = policy.ask_rules(agent, tool.resource()).unwrap();
        rules.decide(&tool, &json!({})).to_string()
    };
    assert!(of("a", "other").starts_with("asks before it runs"));
    assert!(of("a", "fs").starts_with("allowed"));
    assert!(of("b", "fs").starts_with("asks for its effects"));
    assert!(
        parse("tools: {fs: {readOnly: true}}")
            .ask_rules("a", &name("fs"))
            .is_none()
    );
}

#[test]
fn effects_name_what_needs_consent() {
    let effects = |text: &str| {
        let policy = parse(&format!("tools: {{fs: {{ask: {{effects: {text}}}}}}}"));
        policy.ask_rules("a", &name("fs")).unwrap().effects.clone()
    };
    let origin = Origin::of(Scheme::Https, "api.example.com").unwrap();
    let default = effects("{}");
    assert!(default.asks_for_request("POST", &origin, "/"));
    assert!(!default.asks_for_request("GET", &origin, "/"));
    assert!(default.asks_for_messages());
    let changed = |path: &str| FileChange::new(path, FileChangeKind::Changed);
    assert!(default.asks_for_changes(&[changed("a")], true));
    assert!(!default.asks_for_changes(&[], true));
    let some = effects(
        "{workdir: [\"src/*\"], http: [\"GET https://api.example.com/x/*\"], agents: false}",
    );
    assert!(some.asks_for_request("GET", &origin, "/x/1"));
    assert!(!some.asks_for_request("POST", &origin, "/x/1"));
    assert!(!some.asks_for_messages());
    assert!(some.asks_for_changes(&[changed("docs/a"), changed("src/a")], true));
    assert!(!some.asks_for_changes(&[changed("docs/a")], true));
    // What is not listed may be anywhere.
    assert!(some.asks_for_changes(&[changed("docs/a")], false));
    let from = "src/a".to_owned();
    let moved = FileChange::new("docs/a", FileChangeKind::Renamed { from });
    assert!(some.asks_for_changes(&[moved], true));
    let none = effects("{workdir: false, http: false}");
    assert!(!none.asks_for_changes(&[changed("a")], false));
    assert!(!none.asks_for_request("DELETE", &origin, "/"));
    assert!(effects("{http: true}").asks_for_request("GET", &origin, "/"));
}

#[test]
fn changes_that_may_wait_are_kept_apart() {
    let changes = |text: &str| {
        let policy = parse(&format!("tools: {{fs: {{ask: {text}}}}}"));
        let changes = policy.workdir_changes("a", &name("fs"));
        (changes.as_str(), policy.has_transactions())
    };
    assert_eq!(changes("effects"), ("transactional", true));
    assert_eq!(changes("always"), ("direct", false));
    assert_eq!(
        changes("{effects: {workdir: false, http: false, agents: false}}"),
        ("direct", false)
    );
    // A run that stops at its second request must not have written already: it runs again.
    for held in [
        "{effects: {workdir: false}}",
        "{effects: {workdir: false, http: false}}",
        "{effects: {workdir: false, agents: false}}",
    ] {
        assert_eq!(changes(held), ("transactional", true), "{held}");
    }
    assert_eq!(
        found("tools: {fs: {workdir: direct, ask: effects}}"),
        [
            "1:9: error[E_CONFIG_SCHEMA_INVALID] tools.fs: 'workdir: direct' of fs contradicts 'ask': changes that \
             wait for consent are kept apart"
        ]
    );
    parse("tools: {fs: {workdir: durable, ask: effects}}");
    parse("tools: {fs: {workdir: direct, ask: always}}");
    // What is held is a transaction.
    parse("tools: {fs: {ask: effects, commitWhen: {pointer: /a, equals: 0}}}");
}

#[test]
fn a_mistake_in_a_rule_is_named() {
    for (rule, finding) in [
        (
            "allways",
            "expected 'never', 'effects' or 'always', not 'allways'; did you mean 'always'?",
        ),
        ("{allow: [{}]}", "a rule names an 'export', 'args' or both"),
        ("{allow: [{argz: {a: b}}]}", "unknown key 'argz'"),
        ("{alow: []}", "unknown key 'alow'"),
        (
            "{allow: [{args: {a: {maximum: 100}}}]}",
            "a schema of 'allow' needs 'type', 'const' or 'enum'",
        ),
        (
            "{allow: [{args: {a: {type: object, properties: {b: {maximum: 1}}}}}]}",
            "a schema of 'allow' needs 'type', 'const' or 'enum'",
        ),
        (
            "{allow: [{args: {a: {type: object, anyOf: [{properties: {b: {maximum: 1}}}]}}}]}",
            "a schema of 'allow' needs 'type', 'const' or 'enum'",
        ),
        (
            "{allow: [{args: {a: {anyOf: [{type: string}, {maximum: 1}]}}}]}",
            "a schema of 'allow' needs 'type', 'const' or 'enum'",
        ),
        (
            "{deny: [{args: {a: 5}}]}",
            "expected a pattern such as \"docs/*\", or a JSON Schema",
        ),
        (
            "{deny: [{args: {a: \"\"}}]}",
            "it must have 1 to 1024 characters",
        ),
        ("{deny: [{args: {}}]}", "1 to 32 arguments are named"),
        ("{deny: [{args: {a: {type: strin}}}]}", "strin"),
        (
            "{deny: [{args: {/a/b: {type: string}}}]}",
            "a JSON Schema is for a top-level argument",
        ),
        ("{effects: {http: [POST x]}}", "invalid rule 'POST x'"),
        (
            "{effects: {workdir: all}}",
            "expected true, false, or a list of paths",
        ),
        ("{effects: {mail: true}}", "unknown key 'mail'"),
    ] {
        let findings = found(&format!("tools: {{fs: {{ask: {rule}}}}}"));
        assert!(
            findings.iter().any(|it| it.contains(finding)),
            "{rule}: {findings:?}"
        );
    }
}

#[test]
fn a_folder_or_a_link_counts_with_all_that_may_lie_beneath_it() {
    let asks = |pattern: &str, change: FileChange| {
        let policy = parse(&format!(
            "tools: {{fs: {{ask: {{effects: {{workdir: [\"{pattern}\"]}}}}}}}}"
        ));
        let rules = policy.ask_rules("a", &name("fs")).unwrap();
        rules.effects.asks_for_changes(&[change], true)
    };
    let moved = |from: &str, to: &str| {
        let from = from.to_owned();
        FileChange::new(to, FileChangeKind::Renamed { from })
    };
    // `src` is moved away, and another folder is moved there.
    assert!(asks("src/*", moved("src", "old")));
    assert!(asks("src/*", moved("evil", "src")));
    // Their parents.
    assert!(asks("app/src/*", moved("app", "old")));
    assert!(asks("app/src/*", moved("evil", "app")));
    assert!(asks("*.rs", moved("evil", "src")));
    assert!(!asks("src/*", moved("docs", "old")));
    // A link to a folder.
    let created = |path: &str| FileChange::new(path, FileChangeKind::Created);
    assert!(asks("src/*", created("src")));
    assert!(!asks("src/*", created("docs")));
    // A file has nothing beneath it.
    let digest = FileDigest::from_sha256([0; 32]);
    assert!(!asks("*.rs", created("notes").with_digest(digest)));
}

#[test]
fn a_request_with_a_path_that_servers_may_read_otherwise_is_asked_for() {
    let policy = parse(
        "tools: {fs: {ask: {effects: {http: [\"POST https://api.example.com/pay\", \"https://api.example.com/admin/*\"]}}}}",
    );
    let effects = &policy.ask_rules("a", &name("fs")).unwrap().effects;
    let origin = Origin::of(Scheme::Https, "api.example.com").unwrap();
    for path in [
        "/pay",
        "/x/../pay",
        "/%2e%2e/pay",
        "/x%2f..%2fpay",
        "\\pay",
        "/pay;a=1",
        "/pay%3ba",
        "/x;a/../pay",
        "//pay",
        "/pay/",
        "/%70ay",
        "/pay%00",
    ] {
        assert!(effects.asks_for_request("POST", &origin, path), "{path}");
    }
    assert!(effects.asks_for_request("post", &origin, "/pay"));
    assert!(effects.asks_for_request("GET", &origin, "/admin;a/users"));
    assert!(!effects.asks_for_request("POST", &origin, "/other"));
    assert!(!effects.asks_for_request("GET", &origin, "/"));
    let other = Origin::of(Scheme::Https, "example.com").unwrap();
    assert!(!effects.asks_for_request("POST", &other, "/x/../pay"));
}

#[test]
fn a_value_of_another_type_is_not_allowed_and_is_denied_as_a_text() {
    let policy = "
tools:
  fs:
    ask:
      default: always
      allow: [{args: {amount: {type: number, maximum: 100}}}]
      deny: [{args: {id: \"5\"}}, {args: {force: \"true\"}}, {args: {to: \"evil*\"}}]
";
    for (args, expected) in [
        (json!({"amount": 100}), "allowed"),
        (json!({"amount": "100000"}), "asks before it runs, as no"),
        (json!({"id": "5"}), "denied"),
        (json!({"id": 5}), "denied"),
        (json!({"id": 5.0}), "denied"),
        (json!({"id": [[5]]}), "denied"),
        (json!({"id": 50}), "asks before it runs, as no"),
        (json!({"force": true}), "denied"),
        (json!({"force": false}), "asks before it runs, as no"),
        (json!({"to": {"address": "evil@example.com"}}), "denied"),
    ] {
        let decision = decided(policy, "fs__x", &args);
        assert!(decision.starts_with(expected), "{args}: {decision}");
    }
}
