//! What a policy grants, a sentence each, without secrets: what a lock binds.

use serde_json::json;
use toolhost_contract::{Grants, ResourceName, ToolResource, WorkdirAccess, WorkdirChanges};
use toolhost_manifest::bundle::OpenBundle;
use toolhost_manifest::policy::{ChangesetGrant, McpOAuth, McpOAuthGrant, McpReach, Policy};
use toolhost_manifest::yaml::write;

use crate::loaded_bundle::GrantedMcpServer;

/// What the policy grants to a tool of an agent.
pub(super) fn of_tool(
    policy: &Policy,
    open: &OpenBundle,
    agent: &str,
    of: &ToolResource,
    grants: &Grants,
) -> Vec<String> {
    let tool = &of.metadata.name;
    let mut sentences = vec!["reads the workdir".to_owned()];
    match (grants.workdir, policy.workdir_changes(agent, tool)) {
        (WorkdirAccess::ReadOnly, _) => {}
        (WorkdirAccess::ReadWrite, WorkdirChanges::Direct) => {
            sentences.push("writes the workdir".to_owned());
        }
        (WorkdirAccess::ReadWrite, changes) => {
            let conditions = conditions(policy, agent, of);
            sentences.push(format!(
                "writes the workdir ({}{conditions})",
                changes.as_str()
            ));
        }
    }
    let mut with_secrets = grants.clone();
    policy
        .resolve_credentials(agent, tool)
        .add_to(&mut with_secrets);
    if let Some(http) = &with_secrets.http {
        sentences.extend(http.allow.iter().map(|rule| format!("sends {rule}")));
        let networks = http.private_networks.iter();
        sentences.extend(networks.map(|network| format!("reaches {network}")));
        let headers = http.credentials.iter();
        sentences.extend(headers.map(|credential| format!("sends the header {credential}")));
    }
    for (name, _) in &with_secrets.env {
        let is_plain = grants.env.iter().any(|(plain, _)| plain == name);
        let kind = if is_plain { "variable" } else { "secret" };
        sentences.push(format!("has the {kind} {name}"));
    }
    if policy.grants_agents(agent, tool) {
        sentences.push("asks other agents".to_owned());
    }
    let callable = policy
        .callable_tools(agent, tool)
        .into_iter()
        .flat_map(|it| it.iter());
    sentences.extend(callable.map(|pattern| format!("calls {pattern}")));
    for grant in policy.oauth_of(agent, tool) {
        let scopes = grant
            .scopes
            .as_ref()
            .map_or_else(String::new, |scopes| format!(" for {}", scopes.join(", ")));
        sentences.push(format!("uses accounts of {}{scopes}", grant.app));
        sentences.extend(of_app(policy, open, &grant.app));
    }
    sentences
}

/// Returns which outputs of each export mean that its changes are kept, such as ``, of exec if `/exitCode` is 0``.
fn conditions(policy: &Policy, agent: &str, tool: &ToolResource) -> String {
    let exports = tool.spec.exports.iter().filter_map(|export| {
        let of_export = export.commit_when.as_ref();
        let when = policy.commit_when(agent, &tool.metadata.name, of_export)?;
        Some(format!(", of {} if {when}", export.name))
    });
    exports.collect()
}

/// Where the tokens of an app come from and go to: the policy and the manifest may change both together.
fn of_app(policy: &Policy, open: &OpenBundle, name: &ResourceName) -> Vec<String> {
    let mut apps = open.bundle().oauth_apps().iter();
    let app = apps.find(|(app, _)| app.metadata.name == *name);
    let granted = app.filter(|(app, place)| policy.oauth_app(app, place).is_ok());
    let Some((app, _)) = granted else {
        return Vec::new();
    };
    let endpoints = &app.spec.endpoints;
    let others = [
        &endpoints.authorization_url,
        &endpoints.device_authorization_url,
        &endpoints.revocation_url,
    ];
    let others = others.into_iter().flatten();
    let mut sentences = vec![format!("gets tokens of {name} at {}", endpoints.token_url)];
    sentences.extend(others.map(|url| format!("asks for tokens of {name} at {url}")));
    let origins = app.spec.origins.iter();
    sentences.extend(origins.map(|origin| format!("sends tokens of {name} to {origin}")));
    sentences
}

/// What the policy grants to an agent beside its tools.
pub(super) fn of_agent(policy: &Policy, agent: &str) -> Vec<String> {
    let mut sentences = Vec::new();
    if policy.registry_direct_call() {
        sentences.push("calls tools outside its catalog".to_owned());
    }
    match policy.changesets(agent).map(ChangesetGrant::paths) {
        None => {}
        Some(None) => sentences.push("changes all files of the bundle".to_owned()),
        Some(Some(paths)) => {
            let changes = |path: &String| format!("changes {path} of the bundle");
            sentences.extend(paths.iter().map(changes));
        }
    }
    sentences
}

/// What the policy grants to an MCP server. The values of variables differ between machines.
pub(super) fn of_server(server: &GrantedMcpServer) -> Vec<String> {
    let mut sentences = match &server.grant.reach {
        McpReach::Process { command, env, dir } => {
            let command = write::inline(&json!(command));
            let mut sentences = vec![
                format!("starts {command}"),
                format!("runs in {}", dir.display()),
            ];
            sentences.extend(env.keys().map(|name| format!("has the variable {name}")));
            sentences
        }
        McpReach::Endpoint { url, grant, oauth } => {
            let mut sentences = vec![format!("sends calls to {url}")];
            let networks = grant.private_networks.iter();
            sentences.extend(networks.map(|network| format!("reaches {network}")));
            let headers = grant.credentials.iter();
            sentences.extend(headers.map(|credential| format!("sends the header {credential}")));
            sentences.extend(oauth.iter().map(authorized));
            sentences
        }
    };
    let agents = server.agents.iter();
    sentences.extend(agents.map(|agent| format!("agent {agent} has its tools")));
    sentences
}

fn authorized(oauth: &McpOAuth) -> String {
    let at = oauth.issuer.as_ref();
    let at = at.map_or_else(String::new, |issuer| format!(" at {issuer}"));
    let by = if oauth.grant == McpOAuthGrant::ClientCredentials {
        " without a person"
    } else {
        ""
    };
    let scopes = if oauth.scopes.is_empty() {
        String::new()
    } else {
        format!(" for {}", oauth.scopes.join(", "))
    };
    format!("is authorized with OAuth{at}{by}{scopes}")
}
