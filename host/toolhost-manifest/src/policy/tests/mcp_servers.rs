//! Rules for MCP servers.

use super::*;

fn server(spec: &str) -> (McpServerResource, Place) {
    let text = format!(
        "apiVersion: goondan.ai/v1\nkind: McpServer\nmetadata: {{name: srv}}\nspec: {spec}\n"
    );
    let bundle = Bundle::parse(&YamlSource::new("b.yaml", &text)).unwrap();
    bundle.mcp_servers()[0].clone()
}

#[test]
fn an_mcp_server_is_granted_only_if_it_is_exactly_the_one_of_the_policy() {
    let policy = parse(
        "mcpServers: {srv: {command: [npx, a], env: {LANG: C, TOKEN: {secret: s3cret}}, dir: /srv}}",
    );
    let granted = |spec: &str| {
        let (server, place) = server(spec);
        policy.mcp_server(&server, &place)
    };
    for spec in [
        "{transport: {stdio: {command: [npx, a]}}}",
        "{transport: {stdio: {command: [npx, a], env: {LANG: C}}}, tools: [x]}",
    ] {
        let McpReach::Process { command, env, dir } = granted(spec).unwrap().reach else {
            panic!("{spec}");
        };
        assert_eq!(command, ["npx", "a"]);
        let env: Vec<(&str, &str)> = env.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(env, [("LANG", "C"), ("TOKEN", "s3cret")]);
        assert_eq!(dir.to_str(), Some("/srv"));
    }
    for (spec, difference) in [
        (
            "{transport: {stdio: {command: [npx, a, b]}}}",
            "its command differs",
        ),
        (
            "{transport: {stdio: {command: [npx]}}}",
            "its command differs",
        ),
        (
            "{transport: {stdio: {command: [npx, a], env: {LANG: D}}}}",
            "its variable LANG differs",
        ),
        (
            "{transport: {stdio: {command: [npx, a], env: {TOKEN: s3cret}}}}",
            "its variable TOKEN differs",
        ),
        (
            "{transport: {stdio: {command: [npx, a], env: {X: y}}}}",
            "its variable X differs",
        ),
        (
            "{transport: {http: {url: https://a.example/}}}",
            "it is a URL, and a command is granted",
        ),
    ] {
        let error = granted(spec).unwrap_err();
        let expected = format!("McpServer/srv is not the one in the policy: {difference}");
        assert!(error.is_error(), "{spec}");
        assert_eq!(error.message, expected, "{spec}");
        assert_eq!(error.related[0].place.file, "p.yaml");
    }
    assert_eq!(policy.redactor().text("a s3cret"), "a [redacted:TOKEN]");
    assert!(!format!("{policy:?}").contains("s3cret"));
}

#[test]
fn the_help_about_an_mcp_server_is_a_policy_that_grants_it() {
    for spec in [
        "{transport: {stdio: {command: [npx, \"a b\", '\"']}}}",
        "{transport: {stdio: {command: [npx], env: {LANG: C}}}}",
        "{transport: {http: {url: https://a.example/mcp}}}",
    ] {
        let (server, place) = server(spec);
        let warning = Policy::default().mcp_server(&server, &place).unwrap_err();
        assert!(!warning.is_error());
        let lines = warning.help.split('`').nth(1).unwrap();
        assert!(parse(lines).mcp_server(&server, &place).is_ok(), "{lines}");
    }
}

#[test]
fn a_rule_for_an_mcp_server_has_a_command_or_a_url() {
    for (rule, message) in [
        ("{}", "an MCP server has either 'command' or 'url'"),
        (
            "{command: [a], url: 'https://a.example/'}",
            "an MCP server has either 'command' or 'url'",
        ),
        (
            "{command: []}",
            "'command' is empty: its first item is the program",
        ),
        ("{command: [a], dir: srv}", "'dir' is an absolute path"),
        (
            "{command: [a], credentials: []}",
            "unknown key 'credentials'",
        ),
        (
            "{command: [a], inheritEnv: [HOME]}",
            "the variable HOME cannot be read: it is not read",
        ),
        (
            "{url: 'https://*.example/'}",
            "the URL of an MCP server has no '*'",
        ),
        (
            "{url: 'ftp://a.example/'}",
            "invalid URL 'ftp://a.example/'",
        ),
        (
            "{url: 'https://a.example/?q'}",
            "invalid URL 'https://a.example/?q'",
        ),
        ("{url: 'https://a.example/', env: {}}", "unknown key 'env'"),
        ("{command: [a], oauth: {}}", "unknown key 'oauth'"),
        (
            "{url: 'https://a.example/', oauth: {token: x}}",
            "unknown key 'token'",
        ),
        (
            "{url: 'https://a.example/', oauth: {}, credentials: [{origin: 'https://a.example', header: Authorization, value: {secret: s3cret}}]}",
            "an MCP server has either 'oauth' or the credential 'authorization'",
        ),
        (
            "{url: 'http://a.example/', oauth: {}}",
            "an MCP server with 'oauth' on a public network has an https URL",
        ),
        (
            "{url: 'https://a.example/', oauth: {clientId: a, clientSecret: {secret: s3cret}}}",
            "'clientSecret' needs 'clientId', and 'issuer'",
        ),
        (
            "{url: 'https://a.example/', oauth: {issuer: 'https://b.example', clientSecret: {secret: s3cret}}}",
            "'clientSecret' needs 'clientId', and 'issuer'",
        ),
        (
            "{url: 'https://a.example/', oauth: {issuer: 'https://b.example', clientId: a, clientSecret: b}}",
            "the secret of a client is written as {secret: …}",
        ),
        (
            "{url: 'https://a.example/', oauth: {issuer: 'b.example'}}",
            "'b.example' is not a URL of the form https://host[/path]",
        ),
        (
            "{url: 'https://a.example/', oauth: {clientMetadataUrl: 'http://b.example/x'}}",
            "'http://b.example/x' is not a URL of the form https://host/path",
        ),
        (
            "{url: 'https://a.example/', oauth: {grant: clientCredentials, clientId: a}}",
            "'grant: clientCredentials' needs 'clientSecret'",
        ),
        (
            "{url: 'https://a.example/', oauth: {grant: implicit}}",
            "'implicit' is neither authorizationCode nor clientCredentials",
        ),
        (
            "{url: 'https://a.example/', oauth: {scopes: ['a b']}}",
            "'a b' is not an OAuth scope",
        ),
        (
            "{url: 'https://a.example/', oauth: {clientId: ''}}",
            "'clientId' has 1 to 2048 visible ASCII characters",
        ),
    ] {
        let lines = found(&format!("mcpServers: {{srv: {rule}}}"));
        assert_eq!(lines.len(), 1, "{rule}: {lines:?}");
        assert!(lines[0].contains(message), "{rule}: {lines:?}");
    }
}

#[test]
fn oauth_of_an_mcp_server_is_off_unless_the_policy_has_it() {
    let granted = |oauth: &str| {
        let policy = parse(&format!(
            "mcpServers: {{srv: {{url: 'https://a.example/'{oauth}}}}}"
        ));
        let (server, place) = server("{transport: {http: {url: 'https://a.example/'}}}");
        let McpReach::Endpoint { oauth, .. } = policy.mcp_server(&server, &place).unwrap().reach
        else {
            panic!("it is a URL");
        };
        oauth
    };
    assert_eq!(granted(""), None);
    assert_eq!(granted(", oauth: {}"), Some(McpOAuth::default()));
    let all = granted(
        ", oauth: {issuer: 'https://b.example/x', clientId: a, clientSecret: {secret: s3cret}, scopes: [read, 'a:b/c']}",
    );
    let all = all.unwrap();
    assert_eq!(all.issuer.as_deref(), Some("https://b.example/x"));
    assert_eq!(all.client_id.as_deref(), Some("a"));
    assert_eq!(all.client_secret.as_ref().unwrap().as_str(), "s3cret");
    assert_eq!(all.scopes, ["read", "a:b/c"]);
    assert!(!format!("{all:?}").contains("s3cret"));
    let policy = parse(
        "mcpServers: {srv: {url: 'https://a.example/', oauth: {issuer: 'https://b.example', clientId: a, clientSecret: {secret: s3cret}}}}",
    );
    let redacted = policy.redactor().text("s3cret").into_owned();
    assert_eq!(redacted, "[redacted:clientSecret]");
}

#[test]
fn a_policy_in_another_document_grants_no_mcp_server() {
    let source = YamlSource::new("cases.yaml", "mcpServers: {srv: {command: [sh]}}\n");
    let mut findings = Findings::new(&source);
    let node = findings
        .only_document(1 << 20, "one", None)
        .unwrap()
        .unwrap();
    let policy = read_at(&Cursor::new(&node, "policy"), &mut findings).unwrap();
    let findings = findings.into_list();
    assert_eq!(findings.len(), 1);
    assert_eq!(
        findings[0].message,
        "only the operator's policy may grant MCP servers"
    );
    // Even if it were read.
    let (server, place) = server("{transport: {stdio: {command: [sh]}}}");
    assert!(policy.mcp_server(&server, &place).is_ok());
    let policy = policy.within(&Policy::default());
    assert!(policy.mcp_server(&server, &place).is_err() && !policy.grants_any_mcp_server());
}
