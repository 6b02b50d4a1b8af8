//! Rules for OAuthApps.

use super::*;

const SPEC: &str = "{flow: authorizationCode, subjectMode: user, client: {clientId: {valueFrom: {env: ID}}, clientSecret: {valueFrom: {env: SECRET}}}, endpoints: {authorizationUrl: 'https://a.example/authorize', tokenUrl: 'https://a.example/token'}, origins: ['https://api.a.example']}";

fn app(spec: &str) -> (OAuthAppResource, Place) {
    let text = format!(
        "apiVersion: goondan.ai/v1\nkind: OAuthApp\nmetadata: {{name: github}}\nspec: {spec}\n---\napiVersion: goondan.ai/v1\nkind: Tool\nmetadata: {{name: t}}\nspec: {{entry: a.wasm, exports: [{{name: x}}]}}\n"
    );
    let bundle = Bundle::parse(&YamlSource::new("b.yaml", &text)).unwrap();
    bundle.oauth_apps()[0].clone()
}

fn policy(endpoints: &str, env: &str) -> Policy {
    parse(&format!(
        "oauthApps: {{github: {{endpoints: {endpoints}, env: {env}, origins: ['https://api.a.example']}}}}"
    ))
}

const ENDPOINTS: &str =
    "{authorizationUrl: 'https://a.example/authorize', tokenUrl: 'https://a.example/token'}";

#[test]
fn an_oauth_app_is_granted_only_with_exactly_the_endpoints_of_the_policy() {
    let policy_of = |endpoints| policy(endpoints, "{ID: client-1, SECRET: {secret: s3cret}}");
    let (app_of_bundle, place) = app(SPEC);
    let granted = policy_of(ENDPOINTS)
        .oauth_app(&app_of_bundle, &place)
        .unwrap();
    assert_eq!(granted.client_id, "client-1");
    assert_eq!(
        granted.client_secret.as_deref().map(String::as_str),
        Some("s3cret")
    );
    for (endpoints, key) in [
        (
            "{authorizationUrl: 'https://b.example/authorize', tokenUrl: 'https://a.example/token'}",
            "authorizationUrl",
        ),
        (
            "{authorizationUrl: 'https://a.example/authorize', tokenUrl: 'https://a.example/other'}",
            "tokenUrl",
        ),
        (
            "{authorizationUrl: 'https://a.example/authorize', tokenUrl: 'https://a.example/token', revocationUrl: 'https://a.example/r'}",
            "revocationUrl",
        ),
    ] {
        let error = policy_of(endpoints)
            .oauth_app(&app_of_bundle, &place)
            .unwrap_err();
        assert!(error.is_error());
        let expected = format!("OAuthApp/github is not the one in the policy: its {key} differs");
        assert_eq!(error.message, expected);
        assert_eq!(error.related[0].place.file, "p.yaml");
    }
    let policy = policy_of(ENDPOINTS);
    let (other, place) = app(&SPEC.replace("api.a.example", "b.example"));
    let error = policy.oauth_app(&other, &place).unwrap_err();
    assert!(error.message.ends_with("its origins differ"), "{error}");
    assert_eq!(policy.redactor().text("a s3cret"), "a [redacted:SECRET]");
    let shown = format!("{policy:?} {granted:?}");
    assert!(!shown.contains("s3cret"), "{shown}");
    let expected = r#"OAuthAppGrant { client_id: "client-1", .. }"#;
    assert_eq!(format!("{granted:?}"), expected);
}

#[test]
fn an_oauth_app_reads_only_the_variables_that_the_policy_gives_to_it() {
    let (app, place) = app(SPEC);
    for (env, difference) in [
        ("{}", "it reads the variable ID, which is not in 'env'"),
        (
            "{ID: client-1}",
            "it reads the variable SECRET, which is not in 'env'",
        ),
        (
            "{ID: client-1, SECRET: plain}",
            "the variable SECRET of its 'env' is not written as a secret",
        ),
    ] {
        let error = policy(ENDPOINTS, env).oauth_app(&app, &place).unwrap_err();
        assert!(error.is_error());
        let expected = format!("OAuthApp/github is not the one in the policy: {difference}");
        assert_eq!(error.message, expected);
    }
}

#[test]
fn the_help_about_an_oauth_app_is_a_policy_that_grants_it() {
    let (app, place) = app(SPEC);
    let warning = Policy::default().oauth_app(&app, &place).unwrap_err();
    assert!(!warning.is_error());
    let lines = warning.help.split('`').nth(1).unwrap();
    let secrets = |source: SecretSource<'_>| match source {
        SecretSource::Env(name) => Ok(format!("value of {name}")),
        SecretSource::File(_) => Err("no file".to_owned()),
    };
    let policy = Policy::parse_with(lines, "p.yaml", &secrets).unwrap();
    assert!(policy.oauth_app(&app, &place).is_ok(), "{lines}");
}

#[test]
fn a_tool_may_use_the_oauth_apps_of_its_rule() {
    let policy = parse(
        "tools: {t: {oauth: {github: {scopes: [repo]}}}}\nagents: {a: {tools: {t: {oauth: {}}}}}",
    );
    let tool = ResourceName::parse("t").unwrap();
    let granted = policy.oauth_of("default", &tool);
    assert_eq!(
        granted,
        [ToolOAuthGrant {
            app: ResourceName::parse("github").unwrap(),
            scopes: Some(vec!["repo".to_owned()]),
        }]
    );
    // The rule of an agent replaces the tool's as a whole.
    assert_eq!(policy.oauth_of("a", &tool), []);
    assert_eq!(Policy::default().oauth_of("a", &tool), []);
}

#[test]
fn an_endpoint_of_this_machine_opens_loopback_to_the_host_and_no_other_does() {
    let networks = |url: &str| {
        let endpoints = format!("{{tokenUrl: '{url}'}}");
        let networks = policy(&endpoints, "{}").oauth_networks();
        networks.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        networks("http://127.0.0.1:8080/token"),
        ["127.0.0.0/8", "::1"]
    );
    assert!(networks("https://a.example/token").is_empty());
}
