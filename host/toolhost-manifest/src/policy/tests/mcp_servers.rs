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
        assert_eq!(lines.contains("env"), spec.contains("env"), "{lines}");
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
fn an_mcp_server_on_a_private_network_may_have_oauth_without_tls() {
    let private = "privateNetworks: [10.0.0.0/8]";
    for (url, more, is_allowed) in [
        ("https://a.example/", "", true),
        ("http://a.example/", "", false),
        ("http://a.example/", private, true),
        ("http://localhost/", "", true),
        ("http://127.0.0.1:1/mcp", "", true),
        ("http://10.0.0.1/", "", true),
        ("http://93.184.216.34/", private, false),
    ] {
        let text = format!("mcpServers: {{srv: {{url: '{url}', oauth: {{}}, {more}}}}}");
        let is_read = Policy::parse(&text, "p.yaml").is_ok();
        assert_eq!(is_read, is_allowed, "{url} {more}");
    }
}

#[test]
fn urls_of_oauth_have_no_query_fragment_blank_or_star() {
    for (url, is_valid) in [
        ("https://b.example", true),
        ("https://b.example/x", true),
        ("https://b.example/x?y", false),
        ("https://b.example/x#y", false),
        ("https://b.example/x y", false),
        ("https://b.example/*", false),
        ("https://b.example/ü", false),
        ("https://*.example/x", false),
        ("ftp://b.example/x", false),
    ] {
        let text = format!(
            "mcpServers: {{srv: {{url: 'https://a.example/', oauth: {{issuer: '{url}'}}}}}}"
        );
        assert_eq!(Policy::parse(&text, "p.yaml").is_ok(), is_valid, "{url}");
    }
}

#[test]
fn a_process_gets_the_variables_of_the_host_that_the_policy_names() {
    let secrets = |source: SecretSource<'_>| match source {
        SecretSource::Env("PATH") => Ok("/usr/bin".to_owned()),
        SecretSource::Env(other) | SecretSource::File(other) => Err(format!("no {other}")),
    };
    let read = |rule: &str| {
        let text = format!("mcpServers: {{srv: {{command: [a], {rule}}}}}");
        Policy::parse_with(&text, "p.yaml", &secrets)
    };
    let policy = read("inheritEnv: [PATH], env: {A: b}").unwrap();
    let McpReach::Process { env, dir, .. } = policy.mcp_grant(&name("srv")).unwrap().reach else {
        panic!("it is a process");
    };
    let env: Vec<(&str, &str)> = env.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    assert_eq!(env, [("A", "b"), ("PATH", "/usr/bin")]);
    assert_eq!(dir.to_str(), Some("/"));
    for (rule, says) in [
        (
            "inheritEnv: [HOME]",
            "the variable HOME cannot be read: no HOME",
        ),
        (
            "inheritEnv: ['A=B']",
            "'A=B' cannot be the name of a variable",
        ),
        ("dir: \"/a\\0\"", "'dir' is an absolute path"),
    ] {
        let error = read(rule).unwrap_err().to_string();
        assert!(error.contains(says), "{rule}: {error}");
    }
}

#[test]
fn a_grant_of_an_mcp_server_is_shown_without_its_variables_and_credentials() {
    let policy = parse(
        "mcpServers: {p: {command: [a, b], env: {T: {secret: s3cret}}}, u: {url: 'https://a.example/', credentials: [{origin: 'https://a.example', header: x-key, value: {secret: s3cret-2}}], privateNetworks: [10.0.0.0/8]}}",
    );
    let grant = |server: &str| policy.mcp_grant(&name(server)).unwrap();
    assert_eq!(format!("{:?}", grant("p")), r#"McpGrant(["a", "b"])"#);
    assert_eq!(
        format!("{:?}", grant("u")),
        r#"McpGrant("https://a.example/")"#
    );
    let McpReach::Endpoint { grant, oauth, .. } = grant("u").reach else {
        panic!("it is a URL");
    };
    assert_eq!(
        (grant.credentials.len(), grant.private_networks.len()),
        (1, 1)
    );
    assert!(oauth.is_none() && grant.allow.is_empty());
    let redacted = policy.redactor().text("s3cret s3cret-2").into_owned();
    assert_eq!(redacted, "[redacted:T] [redacted:x-key]");
}

#[test]
fn the_url_of_an_mcp_server_is_compared_exactly() {
    let policy = parse("mcpServers: {srv: {url: 'https://a.example/mcp'}}");
    for (spec, difference) in [
        ("{transport: {http: {url: 'https://a.example/mcp'}}}", None),
        (
            "{transport: {http: {url: 'https://a.example/mcp2'}}}",
            Some("its URL differs"),
        ),
        (
            "{transport: {stdio: {command: [a]}}}",
            Some("it is a command, and a URL is granted"),
        ),
    ] {
        let (server, place) = server(spec);
        let message = policy
            .mcp_server(&server, &place)
            .err()
            .map(|error| error.message);
        let is_expected = match difference {
            None => message.is_none(),
            Some(says) => message
                .as_ref()
                .is_some_and(|message| message.ends_with(says)),
        };
        assert!(is_expected, "{spec}: {message:?}");
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
    assert_eq!(all.grant, McpOAuthGrant::AuthorizationCode);
    let shown = format!("{all:?}");
    assert!(shown.contains("https://b.example/x") && !shown.contains("s3cret"));
    let of_nobody = granted(
        ", oauth: {issuer: 'https://b.example', clientId: a, clientSecret: {secret: s3cret}, grant: clientCredentials}",
    );
    assert_eq!(of_nobody.unwrap().grant, McpOAuthGrant::ClientCredentials);
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
