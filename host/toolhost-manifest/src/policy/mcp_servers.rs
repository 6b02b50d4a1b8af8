//! Reads `mcpServers`: the MCP servers that may be started or connected to. Each is compared exactly with
//! the resource of a bundle, which a stranger may have written.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde_json::json;
use toolhost_contract::{
    HttpGrant, HttpRule, McpServerResource, McpTransportSpec, ToolErrorCode, text,
};

use super::http::read_reach;
use super::mcp_oauth::{self, McpOAuth};
use super::variable::{Environment, SecretSource, Secrets, read_env};
use crate::command::{is_variable_name, read_command, read_texts};
use crate::diagnostic::{Diagnostic, Place};
use crate::reader::{Cursor, Fields, Findings};
use crate::yaml::write;
use toolhost_contract::text::short;

/// A server that the policy grants, and what only the policy sets.
#[derive(Clone, PartialEq, Eq)]
pub struct McpGrant {
    /// How the server is reached.
    pub reach: McpReach,
}

/// How a granted server is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum McpReach {
    /// A process.
    Process {
        /// The program and its arguments; not empty.
        command: Vec<String>,
        /// Its whole environment.
        env: BTreeMap<String, String>,
        /// Its working directory.
        dir: PathBuf,
    },
    /// A Streamable HTTP endpoint.
    Endpoint {
        /// Its URL.
        url: String,
        /// The networks and the credentials; it has no rules, as the URL is the only one.
        grant: HttpGrant,
        /// How the host is authorized. None: OAuth is off.
        oauth: Option<McpOAuth>,
    },
}

/// Omits variables and credentials.
impl fmt::Debug for McpGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reach {
            McpReach::Process { command, .. } => f.debug_tuple("McpGrant").field(command).finish(),
            McpReach::Endpoint { url, .. } => f.debug_tuple("McpGrant").field(url).finish(),
        }
    }
}

/// The rule for a server.
#[derive(Debug, Clone)]
pub(super) struct McpRule {
    pub(super) place: Place,
    grant: McpGrant,
    /// The variables of a process, with those that it inherits.
    env: Environment,
}

impl McpRule {
    pub(super) fn has_oauth(&self) -> bool {
        matches!(&self.grant.reach, McpReach::Endpoint { oauth: Some(_), .. })
    }

    /// Lists the secrets, each with its name.
    pub(super) fn secrets(&self) -> Vec<(&str, &str)> {
        let env = self.env.secret.iter();
        let env = env.map(|(name, secret)| (name.as_str(), secret.as_str()));
        let McpReach::Endpoint { grant, oauth, .. } = &self.grant.reach else {
            return env.collect();
        };
        let credentials = grant.credentials.iter();
        let credentials = credentials.map(|credential| (credential.name(), credential.secret()));
        let client = oauth.iter().filter_map(|it| it.client_secret.as_deref());
        let client = client.map(|secret| ("clientSecret", secret.as_str()));
        env.chain(credentials).chain(client).collect()
    }
}

/// Reads the value of one server.
pub(super) fn read(
    fields: &mut Fields<'_, '_>,
    place: Place,
    secrets: Secrets<'_>,
) -> Option<McpRule> {
    let has = |key| fields.at.node.get(key).is_some();
    let (reach, env) = match (has("command"), has("url")) {
        (true, false) => read_process(fields, secrets)?,
        (false, true) => (read_endpoint(fields, secrets)?, Environment::default()),
        _ => {
            fields.allow_others();
            return fields.refuse("an MCP server has either 'command' or 'url'");
        }
    };
    let grant = McpGrant { reach };
    Some(McpRule { place, grant, env })
}

fn read_process(
    fields: &mut Fields<'_, '_>,
    secrets: Secrets<'_>,
) -> Option<(McpReach, Environment)> {
    let command = fields.required("command", read_command);
    let env = fields.or_default("env", |at, findings| read_env(at, secrets, findings));
    let inherited = fields.or_default("inheritEnv", |at, findings| {
        read_inherited(at, secrets, findings)
    });
    let dir = fields.optional("dir", read_dir);
    let (mut env, inherited) = (env?, inherited?);
    let names = inherited.iter().chain(&env.plain).chain(&env.secret);
    let reach = McpReach::Process {
        command: command?,
        env: names.cloned().collect(),
        dir: dir?.unwrap_or_else(|| PathBuf::from("/")),
    };
    env.plain.extend(inherited);
    Some((reach, env))
}

fn read_endpoint(fields: &mut Fields<'_, '_>, secrets: Secrets<'_>) -> Option<McpReach> {
    let url = fields.required("url", read_url);
    let (private_networks, credentials) = read_reach(fields, secrets);
    let oauth = fields.optional("oauth", |at, findings| {
        mcp_oauth::read(at, secrets, findings)
    });
    let (url, oauth) = (url?, oauth?);
    let grant = HttpGrant {
        private_networks,
        credentials,
        ..HttpGrant::default()
    };
    match oauth.as_ref().and(mcp_oauth::refusal(&url, &grant)) {
        Some(message) => fields.refuse(message),
        None => Some(McpReach::Endpoint { url, grant, oauth }),
    }
}

fn read_url(at: &Cursor<'_>, findings: &mut Findings) -> Option<String> {
    let url = at.text(findings)?;
    if url.contains('*') {
        return at.refuse("the URL of an MCP server has no '*'", findings);
    }
    match HttpRule::parse(&format!("POST {url}")) {
        Ok(_) => Some(url.to_owned()),
        Err(error) => {
            let message = format!("invalid URL '{}': {error}", short(url));
            at.refuse(message, findings)
        }
    }
}

fn read_dir(at: &Cursor<'_>, findings: &mut Findings) -> Option<PathBuf> {
    let dir = at.text(findings)?;
    if dir.starts_with('/') && !dir.contains('\0') {
        Some(dir.into())
    } else {
        at.refuse("'dir' is an absolute path", findings)
    }
}

/// Reads the names of variables of the host, and their values. They are not secret, such as `PATH`.
fn read_inherited(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<Vec<(String, String)>> {
    let mut variables = Vec::new();
    for name in read_texts(at, findings)? {
        if !is_variable_name(&name) {
            let message = format!("'{}' cannot be the name of a variable", short(&name));
            findings.invalid(at, message);
            continue;
        }
        match secrets(SecretSource::Env(&name)) {
            Ok(value) => variables.push((name, value)),
            Err(reason) => {
                let message = format!("the variable {} cannot be read: {reason}", short(&name));
                findings.invalid(at, text::shorten(&message, 300));
            }
        }
    }
    Some(variables)
}

impl McpRule {
    /// Returns what is granted.
    pub(super) fn grant(&self) -> McpGrant {
        self.grant.clone()
    }

    /// Returns the grant for a server, if it is the one of this rule; otherwise an error.
    pub(super) fn check(
        &self,
        server: &McpServerResource,
        place: &Place,
    ) -> Result<McpGrant, Box<Diagnostic>> {
        let Some(difference) = self.difference(&server.spec.transport) else {
            return Ok(self.grant());
        };
        let name = &server.metadata.name;
        let message = format!("McpServer/{name} is not the one in the policy: {difference}");
        let error = Diagnostic::error(ToolErrorCode::Denied, place.clone(), message);
        let error = error.with_help(help(server));
        Err(Box::new(
            error.with_related("granted here", self.place.clone()),
        ))
    }

    /// Returns in what a server of a bundle differs from what is granted.
    fn difference(&self, spec: &McpTransportSpec) -> Option<String> {
        match (&self.grant.reach, spec) {
            (
                McpReach::Process { command, .. },
                McpTransportSpec::Stdio {
                    command: asked,
                    env,
                },
            ) => {
                if command != asked {
                    return Some("its command differs".to_owned());
                }
                let (name, _) = env.iter().find(|pair| !self.env.plain.contains(pair))?;
                Some(format!("its variable {} differs", short(name)))
            }
            (McpReach::Endpoint { url, .. }, McpTransportSpec::Http { url: asked }) => {
                (url != asked).then(|| "its URL differs".to_owned())
            }
            (McpReach::Process { .. }, McpTransportSpec::Http { .. }) => {
                Some("it is a URL, and a command is granted".to_owned())
            }
            (McpReach::Endpoint { .. }, McpTransportSpec::Stdio { .. }) => {
                Some("it is a command, and a URL is granted".to_owned())
            }
        }
    }
}

/// Returns the warning about a server that the policy does not have.
pub(super) fn not_granted(server: &McpServerResource, place: &Place) -> Box<Diagnostic> {
    let name = &server.metadata.name;
    let message = format!("McpServer/{name} is not granted by the policy, and not started");
    let warning = Diagnostic::warning(ToolErrorCode::Denied, place.clone(), message);
    Box::new(warning.with_help(help(server)))
}

/// Returns the help that grants a server: lines for a policy.
fn help(server: &McpServerResource) -> String {
    let grant = match &server.spec.transport {
        McpTransportSpec::Stdio { command, env } if env.is_empty() => json!({"command": command}),
        McpTransportSpec::Stdio { command, env } => {
            let env: serde_json::Map<_, _> = env
                .iter()
                .map(|(name, value)| (name.clone(), value.as_str().into()))
                .collect();
            json!({"command": command, "env": env})
        }
        McpTransportSpec::Http { url } => json!({"url": url}),
    };
    let what = match &server.spec.transport {
        McpTransportSpec::Stdio { .. } => "start this process, which has your rights",
        McpTransportSpec::Http { .. } => "send the calls of its tools there",
    };
    let lines = write::inline(&json!({server.metadata.name.as_str(): grant}));
    format!("Write `mcpServers: {lines}` in the policy to {what}.")
}
