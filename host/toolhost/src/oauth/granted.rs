//! Compares the OAuthApps of a bundle, and the tools that ask for them, with what the policy grants.

use std::sync::Arc;

use serde_json::json;
use toolhost_contract::{
    OAuthAppResource, OAuthRedirect, ResourceName, ToolErrorCode, ToolResource,
};
use toolhost_manifest::DiagnosticList;
use toolhost_manifest::bundle::{Bundle, Diagnostic, IMPLICIT_AGENT, Place};
use toolhost_manifest::policy::{OAuthAppGrant, Policy};
use toolhost_manifest::yaml::write;

use toolhost_oauth::{OAuthApp, Secret};

/// The port of 127.0.0.1 in the redirect URL of an OAuthApp without `redirect.url`. `toolhost auth login` listens
/// there.
pub const LOOPBACK_PORT: u16 = 8697;

/// An OAuthApp that a tool may use.
#[derive(Debug, Clone)]
pub(crate) struct OAuthUse {
    pub(crate) app: Arc<OAuthApp>,
    /// The scopes that the token must have. None: those of the app.
    pub(crate) scopes: Option<Vec<String>>,
}

/// Returns an OAuthApp of a bundle with what the policy gives to it. This needs no component of the bundle.
///
/// # Errors
/// The finding of [`Policy::oauth_app`].
pub fn granted_app(
    policy: &Policy,
    app: &OAuthAppResource,
    place: &Place,
) -> Result<OAuthApp, Box<Diagnostic>> {
    policy.oauth_app(app, place).map(|grant| app_of(app, grant))
}

/// Returns the apps that the policy grants, and adds a finding for each other one, for each tool that asks for
/// one in vain, and for scopes that an app does not have.
pub(crate) fn granted(
    policy: &Policy,
    bundle: &Bundle,
    findings: &mut DiagnosticList,
) -> Vec<Arc<OAuthApp>> {
    let mut granted = Vec::new();
    for (app, place) in bundle.oauth_apps() {
        match granted_app(policy, app, place) {
            Ok(app) => granted.push(Arc::new(app)),
            Err(finding) => findings.add(*finding),
        }
        let unknown = scope_of_policy(policy, bundle, app);
        findings.extend(unknown.map(|(tool, scope)| {
            let app = &app.metadata.name;
            let message = format!(
                "the policy requires the scope '{scope}' of OAuthApp/{app} for tool {tool}, and the app has no such scope"
            );
            let error = Diagnostic::error(ToolErrorCode::ConfigSchema, place.clone(), message);
            error.with_help("Add the scope to spec.scopes of the OAuthApp, or remove it in the policy.")
        }));
    }
    for tool in bundle.tools() {
        findings.extend(not_granted(policy, bundle, tool));
    }
    granted
}

/// Returns the apps that a tool of an agent may use.
pub(crate) fn uses(
    policy: &Policy,
    apps: &[Arc<OAuthApp>],
    agent: &str,
    tool: &ResourceName,
) -> Arc<[OAuthUse]> {
    let granted = policy.oauth_of(agent, tool).into_iter();
    let granted = granted.filter_map(|grant| {
        let app = apps.iter().find(|app| app.name == grant.app)?;
        Some(OAuthUse {
            app: Arc::clone(app),
            scopes: grant.scopes,
        })
    });
    granted.collect()
}

fn agents(bundle: &Bundle) -> Vec<&str> {
    let agents = bundle.agents().iter();
    let agents: Vec<&str> = agents.map(|agent| agent.metadata.name.as_str()).collect();
    if agents.is_empty() {
        vec![IMPLICIT_AGENT]
    } else {
        agents
    }
}

/// Returns a tool whose rule has a scope that the app does not have, and the scope.
fn scope_of_policy(
    policy: &Policy,
    bundle: &Bundle,
    app: &OAuthAppResource,
) -> Option<(ResourceName, String)> {
    let agents = agents(bundle);
    bundle.tools().iter().find_map(|tool| {
        let tool = &tool.metadata.name;
        let rules = agents.iter().flat_map(|agent| policy.oauth_of(agent, tool));
        let mut rules = rules.filter(|rule| rule.app == app.metadata.name);
        let scope = rules.find_map(|rule| {
            let mut scopes = rule.scopes.into_iter().flatten();
            scopes.find(|scope| !app.spec.scopes.contains(scope))
        })?;
        Some((tool.clone(), scope))
    })
}

/// Returns a warning for each app that a tool asks for and that the policy grants it under none of the agents.
fn not_granted(policy: &Policy, bundle: &Bundle, tool: &ToolResource) -> Vec<Diagnostic> {
    let name = &tool.metadata.name;
    let agents = agents(bundle);
    let is_granted = |app: &ResourceName| {
        let mut rules = agents.iter().flat_map(|agent| policy.oauth_of(agent, name));
        rules.any(|rule| rule.app == *app)
    };
    let places = bundle.places(name).map(|places| &places.oauth_apps);
    let references = tool
        .spec
        .oauth_apps
        .iter()
        .zip(places.into_iter().flatten());
    let missing = references.filter(|(app, _)| !is_granted(app));
    let warning = |(app, place): (&ResourceName, &_)| {
        let message =
            format!("tool {name}: it asks for OAuthApp/{app}, which the policy does not grant");
        let line = write::inline(&json!({name.as_str(): {"oauth": {app.as_str(): {}}}}));
        let warning = Diagnostic::warning(ToolErrorCode::Denied, Clone::clone(place), message);
        warning.with_help(format!("Write `tools: {line}` in the policy to grant it."))
    };
    missing.map(warning).collect()
}

/// Returns an app as the flows use it.
fn app_of(app: &OAuthAppResource, grant: OAuthAppGrant) -> OAuthApp {
    let spec = &app.spec;
    let redirect = match &spec.redirect {
        OAuthRedirect::Loopback { path } => format!("http://127.0.0.1:{LOOPBACK_PORT}{path}"),
        OAuthRedirect::Url(url) => url.clone(),
    };
    OAuthApp {
        name: app.metadata.name.clone(),
        flow: spec.flow,
        authorization_url: spec.endpoints.authorization_url.clone(),
        token_url: spec.endpoints.token_url.clone(),
        device_authorization_url: spec.endpoints.device_authorization_url.clone(),
        revocation_url: spec.endpoints.revocation_url.clone(),
        issuer: spec.endpoints.issuer.clone(),
        client_id: grant.client_id,
        client_secret: grant
            .client_secret
            .map(|secret| Secret::new(secret.as_str())),
        client_auth: spec.client_auth,
        scopes: spec.scopes.clone(),
        subject_mode: spec.subject_mode,
        redirect: Some(redirect),
        parameters: spec.parameters.iter().cloned().collect(),
        origins: spec.origins.clone(),
    }
}
