//! Reads `kind: OAuthApp`, and the references of Tools to them.

use std::collections::HashMap;

use toolhost_contract::{
    OAuthAppSpec, OAuthClientAuth, OAuthClientId, OAuthEndpoints, OAuthFlow, OAuthRedirect,
    ResourceName, SubjectMode, ToolErrorCode,
};

use super::reference;
use crate::command::is_variable_name;
use crate::diagnostic::{Diagnostic, Place};
use crate::oauth_values::{read_client_id, read_endpoint, read_origins, read_scopes, read_urls};
use crate::quote::short;
use crate::reader::{Cursor, Fields, Findings};
use crate::suggest::{closest, did_you_mean};
use crate::yaml::Value;

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

/// Reads `spec`; `None` if anything in it is invalid.
pub(super) fn read_spec(resource: &Fields<'_>, findings: &mut Findings) -> Option<OAuthAppSpec> {
    let known = [
        "provider",
        "flow",
        "subjectMode",
        "client",
        "endpoints",
        "scopes",
        "parameters",
        "origins",
        "redirect",
    ];
    let at = resource.required("spec", findings)?;
    let spec = at.known_fields(&known, findings)?;
    let provider = spec.optional("provider", findings, Cursor::text);
    let flow = spec.required("flow", findings);
    let flow = flow.and_then(|at| read_flow(&at, findings));
    let subject_mode = spec.required("subjectMode", findings);
    let subject_mode = subject_mode.and_then(|at| read_subject_mode(&at, findings));
    let client = spec.required("client", findings);
    let client = client.and_then(|at| read_client(&at, findings));
    let endpoints = spec.required("endpoints", findings);
    let endpoints = endpoints.and_then(|at| read_endpoints(&at, flow, findings));
    let scopes = spec.optional("scopes", findings, read_scopes);
    let redirect = spec.optional("redirect", findings, read_redirect);
    let parameters = spec.optional("parameters", findings, read_parameters);
    let origins = spec.required("origins", findings);
    let origins = origins.and_then(|at| read_origins(&at, findings));
    provider?;
    let client = client?;
    Some(OAuthAppSpec {
        flow: flow?,
        subject_mode: subject_mode?,
        client_id: client.id,
        client_secret: client.secret,
        client_auth: client.auth,
        endpoints: endpoints?,
        scopes: scopes?.unwrap_or_default(),
        parameters: parameters?.unwrap_or_default(),
        origins: origins?,
        redirect: redirect?.unwrap_or_else(|| OAuthRedirect::Loopback {
            path: CALLBACK_PATH.to_owned(),
        }),
    })
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
    findings.add(match help {
        Some(help) => error.with_help(help),
        None => error,
    });
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
struct Client {
    id: OAuthClientId,
    secret: Option<String>,
    auth: OAuthClientAuth,
}

fn read_client(at: &Cursor<'_>, findings: &mut Findings) -> Option<Client> {
    let fields = at.known_fields(&["clientId", "clientSecret", "auth"], findings)?;
    let secret = fields.optional("clientSecret", findings, read_secret);
    let auth = fields.optional("auth", findings, |at, findings| {
        let words = [
            ("basic", OAuthClientAuth::Basic),
            ("body", OAuthClientAuth::Body),
        ];
        read_word(at, words, findings)
    });
    let id = fields.required("clientId", findings)?;
    let id = if matches!(id.node.value, Value::Map(_)) {
        OAuthClientId::Env(read_value_from(&id, findings)?)
    } else {
        OAuthClientId::Text(read_client_id(&id, findings)?)
    };
    Some(Client {
        id,
        secret: secret?,
        auth: auth?.unwrap_or_default(),
    })
}

/// Reads parameters of authorization requests. Those of the flow itself are the host's.
fn read_parameters(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<(String, String)>> {
    let mut parameters = Vec::new();
    for (name, at_key, value) in at.fields(findings)?.entries() {
        let value = value.text(findings)?;
        if name.is_empty() || OF_THE_FLOW.contains(&name) {
            let message = format!("the host sets the parameter '{}' itself", short(name));
            return at_key.refused(message, findings);
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
    let from = at.known_fields(&["valueFrom"], findings)?;
    let from = from.required("valueFrom", findings)?;
    let from = from.known_fields(&["env"], findings)?;
    let at = from.required("env", findings)?;
    let name = at.text(findings)?;
    if is_variable_name(name) {
        return Some(name.to_owned());
    }
    let message = format!("'{}' cannot be the name of a variable", short(name));
    at.refused(message, findings)
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
        (key, true) => at.refused(format!("'{key}' is missing"), findings),
        (_, false) => Some(endpoints),
    }
}

fn read_redirect(at: &Cursor<'_>, findings: &mut Findings) -> Option<OAuthRedirect> {
    let fields = at.known_fields(&["url", "callbackPath"], findings)?;
    match (fields.get("url"), fields.get("callbackPath")) {
        (Some(url), None) => Some(OAuthRedirect::Url(read_endpoint(&url, findings)?)),
        (None, Some(at)) => {
            let path = at.text(findings)?;
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "/-_.~".contains(c);
            if path.starts_with('/') && path.chars().all(is_plain) {
                Some(OAuthRedirect::Loopback {
                    path: path.to_owned(),
                })
            } else {
                let message = format!("'{}' is not a path such as {CALLBACK_PATH}", short(path));
                at.refused(message, findings)
            }
        }
        _ => at.refused("a redirect has either 'url' or 'callbackPath'", findings),
    }
}

/// Reads the references of a Tool to OAuthApps.
pub(super) fn read_references(
    at: &Cursor<'_>,
    findings: &mut Findings,
) -> Option<Vec<(ResourceName, Place)>> {
    let items = at.items(findings)?;
    let parse = |kind: &str| (kind == "OAuthApp").then_some(());
    let mut names: Vec<(ResourceName, Place)> = Vec::new();
    for item in &items {
        let expected = "a Tool's oauthApps are of kind OAuthApp";
        let ((), name, place) = reference::read(item, parse, expected, findings)?;
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
        if declared.contains_key(app) {
            continue;
        }
        let mut known: Vec<&str> = declared.keys().map(ResourceName::as_str).collect();
        // Of two names at the same distance, the same one is suggested each time.
        known.sort_unstable();
        let message = format!("OAuthApp/{app} is not declared in this bundle");
        let code = ToolErrorCode::ConfigRefNotFound;
        let missing = Diagnostic::error(code, place.clone(), message);
        findings.add(match closest(app.as_str(), &known) {
            Some(close) => missing.with_help(format!("Did you mean OAuthApp/{close}?")),
            None => missing,
        });
    }
}
