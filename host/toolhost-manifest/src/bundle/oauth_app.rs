//! Reads `kind: OAuthApp`, and the references of Tools to them.

use std::collections::HashMap;

use toolhost_contract::{
    OAuthAppSpec, OAuthClientAuth, OAuthClientId, OAuthEndpoints, OAuthFlow, OAuthRedirect,
    ResourceName, SubjectMode, ToolErrorCode,
};

use super::kind::ResourceKind;
use super::reference;
use crate::command::is_variable_name;
use crate::diagnostic::{Diagnostic, Place};
use crate::oauth_values::{read_client_id, read_endpoint, read_origins, read_scopes, read_urls};
use crate::reader::{Cursor, Fields, Findings, all};
use crate::yaml::Value;
use toolhost_contract::suggest::did_you_mean;
use toolhost_contract::text::short;

/// The path of the redirect of an app without `redirect`.
const CALLBACK_PATH: &str = "/oauth/callback";

/// The parameters of authorization requests that the host sets.
const OF_THE_FLOW: [&str; 9] = [
    "client_id",
    "client_secret",
    "code_challenge",
    "code_challenge_method",
    "grant_type",
    "redirect_uri",
    "response_type",
    "scope",
    "state",
];

/// How a secret is written.
const VALUE_FROM: &str = "Write {valueFrom: {env: NAME}}, and give the app the variable NAME in the policy: `oauthApps: {APP: {env: {NAME: {fromEnv: NAME}}}}`.";

pub(super) fn read_spec(fields: &mut Fields<'_, '_>) -> Option<OAuthAppSpec> {
    let provider = fields.optional("provider", Cursor::text);
    let client = fields.required("client", read_client);
    let spec = all!(OAuthAppSpec {
        flow: fields.required("flow", read_flow),
        subject_mode: fields.required("subjectMode", read_subject_mode),
        client_id: client.as_ref().map(|client| client.id.clone()),
        client_secret: client.as_ref().map(|client| client.secret.clone()),
        client_auth: client.map(|client| client.auth),
        endpoints: fields.required("endpoints", |at, findings| {
            read_endpoints(at, flow, findings)
        }),
        scopes: fields.or_default("scopes", read_scopes),
        parameters: fields.or_default("parameters", read_parameters),
        origins: fields.required("origins", read_origins),
        redirect: fields
            .optional("redirect", read_redirect)
            .map(|redirect| redirect.unwrap_or_else(default_redirect)),
    });
    provider.and(spec)
}

fn default_redirect() -> OAuthRedirect {
    OAuthRedirect::Loopback {
        path: CALLBACK_PATH.to_owned(),
    }
}

/// Reads a word that is one of several.
fn read_word<T: Copy>(
    at: &Cursor<'_>,
    words: [(&str, T); 2],
    findings: &mut Findings,
) -> Option<T> {
    let text = at.text(findings)?;
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == text) {
        return Some(*value);
    }
    let [first, second] = words.map(|(word, _)| word);
    let message = format!("'{}' is neither {first} nor {second}", short(text));
    let error = Diagnostic::error(ToolErrorCode::ConfigSchema, findings.place(at), message);
    let help = did_you_mean(text, &[first, second]);
    findings.add(error.with_help_if(help));
    None
}

/// Reads the flow. Others, such as the implicit grant, are refused.
///
/// Spec: requirements-v1 §12.6.5(2).
fn read_flow(at: &Cursor<'_>, findings: &mut Findings) -> Option<OAuthFlow> {
    let words = [
        ("authorizationCode", OAuthFlow::AuthorizationCode),
        ("deviceCode", OAuthFlow::DeviceCode),
    ];
    read_word(at, words, findings)
}

fn read_subject_mode(at: &Cursor<'_>, findings: &mut Findings) -> Option<SubjectMode> {
    let words = [("global", SubjectMode::Global), ("user", SubjectMode::User)];
    read_word(at, words, findings)
}

/// The client of an app.
struct OAuthClient {
    id: OAuthClientId,
    secret: Option<String>,
    auth: OAuthClientAuth,
}

fn read_client(at: &Cursor<'_>, findings: &mut Findings) -> Option<OAuthClient> {
    at.mapping(findings, |fields| {
        all!(OAuthClient {
            id: fields.required("clientId", |at, findings| {
                Some(if let Value::Map(_) = at.node.value {
                    OAuthClientId::Env(read_value_from(at, findings)?)
                } else {
                    OAuthClientId::Text(read_client_id(at, findings)?)
                })
            }),
            secret: fields.optional("clientSecret", read_secret),
            auth: fields.or_default("auth", |at, findings| {
                let words = [
                    ("basic", OAuthClientAuth::Basic),
                    ("body", OAuthClientAuth::Body),
                ];
                read_word(at, words, findings)
            }),
        })
    })
}

/// Reads parameters of authorization requests. Those of the flow itself are the host's.
fn read_parameters(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<(String, String)>> {
    let mut parameters = Vec::new();
    for (name, at_key, value) in at.entries(findings)? {
        let value = value.text(findings)?;
        if name.is_empty() || OF_THE_FLOW.contains(&name) {
            let message = format!("the host sets the parameter '{}' itself", short(name));
            return at_key.refuse(message, findings);
        }
        parameters.push((name.to_owned(), value.to_owned()));
    }
    parameters.sort();
    Some(parameters)
}

/// Reads the name of the variable with the client's secret. Findings do not quote a literal secret.
fn read_secret(at: &Cursor<'_>, findings: &mut Findings) -> Option<String> {
    if let Value::Map(_) = &at.node.value {
        return read_value_from(at, findings);
    }
    let message = "a client's secret must not be in a bundle";
    let place = findings.place(at);
    let error = Diagnostic::error(ToolErrorCode::ConfigSchema, place, message);
    findings.add(error.with_help(VALUE_FROM));
    None
}

/// Reads `{valueFrom: {env: NAME}}`.
fn read_value_from(at: &Cursor<'_>, findings: &mut Findings) -> Option<String> {
    let env = |at: &Cursor<'_>, findings: &mut Findings| {
        let name = at.text(findings)?;
        if is_variable_name(name) {
            return Some(name.to_owned());
        }
        let message = format!("'{}' cannot be the name of a variable", short(name));
        at.refuse(message, findings)
    };
    at.mapping(findings, |fields| {
        fields.required("valueFrom", |at, findings| {
            at.mapping(findings, |from| from.required("env", env))
        })
    })
}

fn read_endpoints(
    at: &Cursor<'_>,
    flow: Option<OAuthFlow>,
    findings: &mut Findings,
) -> Option<OAuthEndpoints> {
    let endpoints = read_urls(at, findings)?;
    let needed = match flow {
        Some(OAuthFlow::AuthorizationCode) => {
            ("authorizationUrl", endpoints.authorization_url.is_none())
        }
        Some(OAuthFlow::DeviceCode) => {
            let is_missing = endpoints.device_authorization_url.is_none();
            ("deviceAuthorizationUrl", is_missing)
        }
        None => return Some(endpoints),
    };
    match needed {
        (key, true) => at.refuse(format!("'{key}' is missing"), findings),
        (_, false) => Some(endpoints),
    }
}

fn read_redirect(at: &Cursor<'_>, findings: &mut Findings) -> Option<OAuthRedirect> {
    let message = "a redirect has either 'url' or 'callbackPath'";
    let (key, at) = at.mapping(findings, |fields| {
        fields.one_of(&["url", "callbackPath"], message)
    })?;
    if key == "url" {
        return read_endpoint(&at, findings).map(OAuthRedirect::Url);
    }
    let path = at.text(findings)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_.~".contains(c);
    if path.starts_with('/') && path.chars().all(is_plain) {
        let path = path.to_owned();
        Some(OAuthRedirect::Loopback { path })
    } else {
        let message = format!("'{}' is not a path such as {CALLBACK_PATH}", short(path));
        at.refuse(message, findings)
    }
}

/// Reads the references of a Tool to OAuthApps.
pub(super) fn read_references(
    at: &Cursor<'_>,
    findings: &mut Findings,
) -> Option<Vec<(ResourceName, Place)>> {
    let items = at.items(findings)?;
    let mut names: Vec<(ResourceName, Place)> = Vec::new();
    for item in &items {
        let expected = "a Tool's oauthApps are of kind OAuthApp";
        let (_, name, place) =
            reference::read(item, &[ResourceKind::OAuthApp], expected, findings)?;
        if names.iter().all(|(known, _)| *known != name) {
            names.push((name, place));
        }
    }
    Some(names)
}

/// Records an error for each reference of a Tool to an OAuthApp that is not declared.
pub(super) fn check_references(
    (apps, places): (&[ResourceName], &[Place]),
    declared: &HashMap<ResourceName, Place>,
    findings: &mut Findings,
) {
    for (app, place) in apps.iter().zip(places) {
        if !declared.contains_key(app) {
            reference::add_undeclared(
                ResourceKind::OAuthApp,
                app,
                place.clone(),
                declared,
                findings,
            );
        }
    }
}
