//! What a policy grants as a whole, and to a tool.

use super::*;

#[test]
fn a_policy_says_what_it_grants_to_anybody() {
    let endpoints = "endpoints: {tokenUrl: 'https://a.example/t'}, origins: ['https://a.example']";
    let app = format!("oauthApps: {{a: {{{endpoints}}}}}");
    let rule = "http: {allow: ['https://a.example']}";
    for (text, [http, mcp, oauth, at_mcp, transactions]) in [
        ("", [false; 5]),
        ("tools: {t: {http: {}}}", [false; 5]),
        (
            &*format!("tools: {{t: {{{rule}}}}}"),
            [true, false, false, false, false],
        ),
        (
            &format!("agents: {{a: {{tools: {{t: {{{rule}}}}}}}}}"),
            [true, false, false, false, false],
        ),
        (
            "mcpServers: {s: {command: [a]}}",
            [false, true, false, false, false],
        ),
        (
            "mcpServers: {s: {url: 'https://a.example/'}}",
            [false, true, false, false, false],
        ),
        (
            "mcpServers: {s: {url: 'https://a.example/', oauth: {}}}",
            [false, true, false, true, false],
        ),
        (&app, [false, false, true, false, false]),
        (
            "defaults: {workdir: durable}",
            [false, false, false, false, true],
        ),
        (
            "tools: {t: {workdir: transactional}}",
            [false, false, false, false, true],
        ),
    ] {
        let policy = parse(text);
        assert_eq!(policy.grants_any_http(), http, "{text}");
        assert_eq!(policy.grants_any_mcp_server(), mcp, "{text}");
        assert_eq!(policy.grants_any_oauth_app(), oauth, "{text}");
        assert_eq!(policy.authorizes_at_any_mcp_server(), at_mcp, "{text}");
        assert_eq!(policy.has_transactions(), transactions, "{text}");
        let servers = policy.mcp_server_names().map(name);
        let granted = servers.map(|name| policy.mcp_grant(&name).is_some());
        assert_eq!(
            granted.collect::<Vec<_>>(),
            vec![true; usize::from(mcp)],
            "{text}"
        );
        assert!(policy.mcp_grant(&name("other")).is_none());
    }
}

#[test]
fn each_grant_of_a_tool_is_set_by_its_key() {
    for (rule, expected) in [
        ("", ""),
        ("readOnly: true", ""),
        ("agents: false", ""),
        ("agents: true", "agents"),
        ("tools: []", ""),
        ("tools: ['a__*', b__c]", "tools"),
        ("http: {allow: []}", ""),
        ("http: {allow: ['https://a.example']}", "http"),
        ("oauth: {a: {}}", "oauth"),
        ("env: {A: plain}", "env"),
        ("env: {A: {secret: s3cret}}", "env"),
    ] {
        let policy = parse(&format!("tools: {{t: {{{rule}}}}}"));
        let set = |tool: &str| {
            let set = Policy::grants().iter();
            let set = set.filter(|grant| grant.is_set(&policy, "a", &name(tool)));
            set.map(|grant| grant.key).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(set("t"), expected, "{rule}");
        assert_eq!(set("other"), "", "{rule}");
    }
}

#[test]
fn a_policy_names_the_tools_of_its_rules_and_says_whether_it_sets_their_deadlines() {
    let policy = parse(
        "tools: {slow: {limits: {deadlineMs: 5}}, t: {limits: {files: 5}}}
agents: {a: {tools: {t: {limits: {deadlineMs: 5}}, u: {}}}}",
    );
    for (tool, is_named, by_all, by_agent) in [
        ("slow", true, true, true),
        ("t", true, false, true),
        ("u", true, false, false),
        ("other", false, false, false),
    ] {
        assert_eq!(policy.names_tool(tool), is_named, "{tool}");
        assert_eq!(policy.sets_deadline("b", &name(tool)), by_all, "{tool}");
        assert_eq!(policy.sets_deadline("a", &name(tool)), by_agent, "{tool}");
    }
    let of_all = parse("defaults: {limits: {deadlineMs: 5}}");
    assert!(of_all.sets_deadline("a", &name("t")) && !of_all.names_tool("t"));
    let others = parse("defaults: {limits: {files: 5}}");
    assert!(!others.sets_deadline("a", &name("t")));
}

#[test]
fn a_policy_that_comes_with_the_tools_raises_no_limit_beyond_the_operators_and_the_default() {
    let defaults = Limits::default();
    let files = |text: &str, operators: &str| {
        let policy = parse(text).within(&parse(operators));
        policy.resolve("a", &name("t")).1.files
    };
    let tool = |files: u64| format!("tools: {{t: {{limits: {{files: {files}}}}}}}");
    for (own, operators, expected) in [
        (defaults.files + 9, None, defaults.files),
        (defaults.files - 9, None, defaults.files - 9),
        (defaults.files + 9, Some(5), defaults.files),
        (
            defaults.files + 9,
            Some(defaults.files + 5),
            defaults.files + 5,
        ),
        (
            defaults.files + 2,
            Some(defaults.files + 5),
            defaults.files + 2,
        ),
    ] {
        let operators = operators.map(tool).unwrap_or_default();
        assert_eq!(files(&tool(own), &operators), expected, "{own} {operators}");
    }
}

#[test]
fn a_limit_has_a_name_a_range_and_values_as_policies_write_them() {
    let info = |name: &str| {
        let limit = Policy::limits().iter().find(|limit| limit.name == name);
        limit.unwrap()
    };
    let (_, limits) =
        parse("defaults: {limits: {memoryBytes: 96MiB, files: 7}}").resolve("a", &name("t"));
    assert_eq!(info("memoryBytes").value_of(&limits), "96MiB");
    assert_eq!(info("memoryBytes").range(), "64KiB to 4GiB");
    assert_eq!(info("files").value_of(&limits), "7");
    assert_eq!(info("files").range(), "0 to 10000000");
    for limit in Policy::limits() {
        assert_eq!(limit.default_value(), limit.value_of(&Limits::default()));
    }
}

#[test]
fn a_policy_in_another_document_has_nothing_that_is_the_operators() {
    let endpoints = "endpoints: {tokenUrl: 'https://a.example/t'}, origins: ['https://a.example']";
    for (text, says) in [
        ("mcpServers: {}", "grant MCP servers"),
        (
            &*format!("oauthApps: {{a: {{{endpoints}}}}}"),
            "grant OAuthApps",
        ),
        ("packages: {}", "name signers of packages"),
        (
            "lock: none",
            "change which differences from the lock stop a load",
        ),
        ("workspace: a", "name the workspaces of instances"),
        ("calls: off", "say what is kept of calls"),
        (
            "tools: {t: {env: {A: {fromEnv: A}}}}",
            "write it as {secret: …}",
        ),
        ("tools: {t: {env: {A: plain}}}", ""),
    ] {
        let mut findings = Findings::new(&YamlSource::new("cases.yaml", text));
        let node = findings.only_document(1 << 20, "one", None).unwrap();
        read_at(&Cursor::new(&node.unwrap(), "policy"), &mut findings);
        let messages = findings
            .into_list()
            .into_iter()
            .map(|finding| finding.message);
        let messages: Vec<_> = messages.collect();
        assert_eq!(messages.is_empty(), says.is_empty(), "{text}: {messages:?}");
        assert!(
            messages.iter().all(|message| message.contains(says)),
            "{messages:?}"
        );
    }
}

#[test]
fn the_tools_that_a_tool_may_call_are_those_of_its_last_rule() {
    let policy = parse(
        "tools: {t: {tools: ['a__*', b__c]}}
agents: {x: {tools: {t: {tools: [d__e]}}}, y: {tools: {t: {tools: []}}}}",
    );
    let may = |agent: &str, tool: &str, called: &str| {
        let patterns = policy.callable_tools(agent, &name(tool));
        patterns.is_some_and(|patterns| patterns.iter().any(|pattern| pattern.matches(called)))
    };
    assert!(may("z", "t", "a__b") && may("z", "t", "b__c") && !may("z", "t", "b__d"));
    assert!(may("x", "t", "d__e") && !may("x", "t", "a__b"));
    assert!(!may("y", "t", "a__b"));
    assert!(!may("z", "other", "a__b"));
    for (text, finding) in [
        ("tools: [read]", "'read' names no tool"),
        ("tools: ['*__read']", "'*__read' names no tool"),
        ("tools: 'a__*'", "a list"),
        ("tools: [1]", "a string"),
    ] {
        let text = format!("tools: {{t: {{{text}}}}}");
        let error = Policy::parse(&text, "policy.yaml").unwrap_err();
        let shown = format!("{error:?}");
        assert!(shown.contains(finding), "{shown}");
    }
}
