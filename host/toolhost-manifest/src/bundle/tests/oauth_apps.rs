//! The resource `kind: OAuthApp`.

use super::*;
use toolhost_contract::{OAuthClientId, OAuthFlow, OAuthRedirect, SubjectMode};

const ENDPOINTS: &str =
    "{authorizationUrl: 'https://a.example/authorize', tokenUrl: 'https://a.example/token'}";

fn app(spec: &str) -> String {
    format!(
        "apiVersion: goondan.ai/v1\nkind: OAuthApp\nmetadata: {{name: github}}\nspec: {spec}\n---\n{}",
        tool_spec("{entry: a.wasm, exports: [{name: x}]}")
    )
}

#[test]
fn an_oauth_app_names_its_client_its_endpoints_and_its_scopes() {
    // requirements-v1 §12.6.1(1)
    let text = app(&format!(
        "{{provider: github, flow: authorizationCode, subjectMode: user, client: {{clientId: Iv1, clientSecret: {{valueFrom: {{env: SECRET}}}}}}, origins: ['https://api.a.example'], endpoints: {ENDPOINTS}, scopes: [repo, 'user:email']}}"
    ));
    let bundle = parse(&text).unwrap();
    let [(github, place)] = bundle.oauth_apps() else {
        panic!("{bundle:?}");
    };
    assert_eq!(place.position.unwrap().line, 3);
    let spec = &github.spec;
    assert_eq!(spec.flow, OAuthFlow::AuthorizationCode);
    assert_eq!(spec.subject_mode, SubjectMode::User);
    assert_eq!(spec.client_id, OAuthClientId::Text("Iv1".to_owned()));
    assert_eq!(spec.client_secret.as_deref(), Some("SECRET"));
    assert_eq!(spec.endpoints.token_url, "https://a.example/token");
    assert_eq!(spec.scopes, ["repo", "user:email"]);
    let path = "/oauth/callback".to_owned();
    assert_eq!(spec.redirect, OAuthRedirect::Loopback { path });
}

#[test]
fn an_oauth_app_of_another_flow_is_refused_at_load() {
    // requirements-v1 §12.6.5(2)
    let with = |flow: &str| {
        app(&format!(
            "{{flow: {flow}, subjectMode: global, client: {{clientId: a}}, origins: ['https://api.a.example'], endpoints: {ENDPOINTS}}}"
        ))
    };
    let at = "4:14: error[E_CONFIG_SCHEMA_INVALID] documents[0].spec.flow: ";
    for (flow, expected) in [
        (
            "implicit",
            "'implicit' is neither authorizationCode nor deviceCode",
        ),
        (
            "password",
            "'password' is neither authorizationCode nor deviceCode",
        ),
        (
            "devicecode",
            "'devicecode' is neither authorizationCode nor deviceCode",
        ),
    ] {
        check(&with(flow), &[&format!("{at}{expected}")]);
    }
    let findings = parse(&with("devicecode")).unwrap_err();
    assert_eq!(findings[0].help, "Did you mean 'deviceCode'?");
    check(
        &with("deviceCode"),
        &[
            "4:117: error[E_CONFIG_SCHEMA_INVALID] documents[0].spec.endpoints: 'deviceAuthorizationUrl' is missing",
        ],
    );
}

#[test]
fn a_secret_in_a_bundle_is_refused_and_not_quoted() {
    // requirements-v1 §12.6.3(3)
    let text = app(&format!(
        "{{flow: authorizationCode, subjectMode: user, client: {{clientId: a, clientSecret: sk-12345}}, origins: ['https://api.a.example'], endpoints: {ENDPOINTS}}}"
    ));
    let findings = parse(&text).unwrap_err();
    let [finding] = findings.as_slice() else {
        panic!("{findings:?}");
    };
    assert_eq!(finding.message, "a client's secret must not be in a bundle");
    assert!(finding.help.contains("valueFrom: {env: NAME}"));
    assert!(!format!("{finding} {}", finding.help).contains("sk-12345"));
}

#[test]
fn an_oauth_app_that_is_not_complete_is_refused_with_its_place() {
    let whole = "flow: authorizationCode, subjectMode: user";
    let client = "client: {clientId: a}";
    let with_url = |url: &str| {
        format!(
            "{{{whole}, {client}, origins: ['https://api.a.example'], endpoints: {{authorizationUrl: 'https://a.example/', tokenUrl: '{url}'}}}}"
        )
    };
    for (spec, path, message) in [
        (
            format!("{{{whole}, {client}, origins: ['https://api.a.example']}}"),
            "",
            "'endpoints' is missing",
        ),
        (
            format!(
                "{{{whole}, {client}, origins: ['https://api.a.example'], endpoints: {{tokenUrl: 'https://a.example/'}}}}"
            ),
            ".endpoints",
            "'authorizationUrl' is missing",
        ),
        (
            format!(
                "{{{whole}, client: {{}}, origins: ['https://api.a.example'], endpoints: {ENDPOINTS}}}"
            ),
            ".client",
            "'clientId' is missing",
        ),
        (
            format!(
                "{{flow: authorizationCode, {client}, origins: ['https://api.a.example'], endpoints: {ENDPOINTS}}}"
            ),
            "",
            "'subjectMode' is missing",
        ),
        (
            with_url("http://a.example/token"),
            ".endpoints.tokenUrl",
            "'http://a.example/token' is not an https URL",
        ),
        (
            with_url("a.example"),
            ".endpoints.tokenUrl",
            "'a.example' is not a URL of the form https://host/path",
        ),
        (
            format!(
                "{{{whole}, {client}, origins: ['https://api.a.example'], endpoints: {ENDPOINTS}, scopes: ['a b']}}"
            ),
            ".scopes",
            "'a b' is not an OAuth scope",
        ),
        (
            format!(
                "{{{whole}, {client}, origins: ['https://api.a.example'], endpoints: {ENDPOINTS}, redirect: {{}}}}"
            ),
            ".redirect",
            "a redirect has either 'url' or 'callbackPath'",
        ),
        (
            format!(
                "{{{whole}, {client}, origins: ['https://api.a.example'], endpoints: {ENDPOINTS}, redirect: {{callbackPath: x}}}}"
            ),
            ".redirect.callbackPath",
            "'x' is not a path such as /oauth/callback",
        ),
        (
            format!(
                "{{{whole}, client: {{clientId: {{valueFrom: {{env: 'A=B'}}}}}}, origins: ['https://api.a.example'], endpoints: {ENDPOINTS}}}"
            ),
            ".client.clientId.valueFrom.env",
            "'A=B' cannot be the name of a variable",
        ),
        (
            format!("{{{whole}, {client}, endpoints: {ENDPOINTS}}}"),
            "",
            "'origins' is missing",
        ),
        (
            format!("{{{whole}, {client}, endpoints: {ENDPOINTS}, origins: []}}"),
            ".origins",
            "'origins' has 1 to 100 origins",
        ),
        (
            format!("{{{whole}, {client}, endpoints: {ENDPOINTS}, origins: ['http://a.example']}}"),
            ".origins",
            "invalid origin 'http://a.example': a token is sent over https alone",
        ),
        (
            format!(
                "{{{whole}, {client}, origins: ['https://api.a.example'], endpoints: {ENDPOINTS}, parameters: {{state: x}}}}"
            ),
            ".parameters.state",
            "the host sets the parameter 'state' itself",
        ),
        (
            format!(
                "{{{whole}, {client}, origins: ['https://api.a.example'], endpoints: {ENDPOINTS}, scope: [a]}}"
            ),
            ".scope",
            "unknown key 'scope'",
        ),
    ] {
        let lines = found(&app(&spec));
        let at = format!("error[E_CONFIG_SCHEMA_INVALID] documents[0].spec{path}");
        assert_eq!(lines.len(), 1, "{spec}: {lines:?}");
        assert!(
            lines[0].ends_with(&format!("{at}: {message}")),
            "{spec}: {lines:?}"
        );
    }
    // A loopback address needs no TLS: nothing leaves the machine.
    let local = with_url("http://127.0.0.1:8080/token?tenant=a");
    assert!(parse(&app(&local)).is_ok());
}

#[test]
fn a_tool_asks_for_the_oauth_apps_of_its_bundle() {
    let whole = format!(
        "{{flow: authorizationCode, subjectMode: user, client: {{clientId: a}}, origins: ['https://api.a.example'], endpoints: {ENDPOINTS}}}"
    );
    let with = |references: &str| {
        let app = app(&whole);
        app.replace("exports:", &format!("oauthApps: {references}, exports:"))
    };
    for references in [
        "[OAuthApp/github]",
        "[{kind: OAuthApp, name: github}]",
        "[OAuthApp/github, {ref: OAuthApp/github}]",
    ] {
        let bundle = parse(&with(references)).unwrap();
        let apps = &bundle.tools()[0].spec.oauth_apps;
        assert_eq!(apps.len(), 1, "{references}");
        assert_eq!(apps[0].as_str(), "github");
    }
    let findings = parse(&with("[OAuthApp/gitub]")).unwrap_err();
    let missing = "OAuthApp/gitub is not declared in this bundle";
    assert_eq!(findings[0].message, missing);
    assert_eq!(findings[0].help, "Did you mean OAuthApp/github?");
    let findings = parse(&with("[Tool/github]")).unwrap_err();
    let wrong = "a Tool's oauthApps are of kind OAuthApp, not 'Tool'";
    assert_eq!(findings[0].message, wrong);
}
