//! Reads `mcpServers.NAME.oauth`: how the host is authorized at an MCP server.

use std::fmt;

use toolhost_contract::http::{Host, Origin, Scheme, non_public_block};
use toolhost_contract::{HttpCredential, HttpGrant};
use zeroize::Zeroizing;

use super::variable::{Secrets, Variable, read_variable};
use crate::oauth_values::{read_client_id, read_scopes, split_path};
use crate::reader::{Cursor, Findings, all};
use toolhost_contract::text::short;

/// How the host is authorized at an MCP server with OAuth. Everything has a default, so that an empty value
/// turns OAuth on.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct McpOAuth {
    /// The authorization server that may be used: its issuer identifier. Default: the one that the MCP
    /// server names. Always present with a client secret, so that the secret is sent nowhere else.
    pub issuer: Option<String>,
    /// The identifier of a client that was registered by hand. Default: the URL of the client's metadata
    /// or else dynamic registration, whichever the authorization server supports.
    pub client_id: Option<String>,
    /// The secret of that client.
    pub client_secret: Option<Zeroizing<String>>,
    /// An `https` URL at which the metadata of this client is published.
    pub client_metadata_url: Option<String>,
    /// The scopes to ask for. Default: those that the MCP server names.
    pub scopes: Vec<String>,
    /// Who grants access. Default: a person.
    pub grant: McpOAuthGrant,
}

/// Who grants access to an MCP server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum McpOAuthGrant {
    /// A person, in a browser: the authorization-code flow.
    #[default]
    AuthorizationCode,
    /// Nobody: the client's secret is enough.
    ClientCredentials,
}

/// Omits the secret.
impl fmt::Debug for McpOAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpOAuth")
            .field("issuer", &self.issuer)
            .field("client_id", &self.client_id)
            .field("client_metadata_url", &self.client_metadata_url)
            .field("scopes", &self.scopes)
            .field("grant", &self.grant)
            .finish_non_exhaustive()
    }
}

/// Reads the value of `oauth`.
pub(super) fn read(
    at: &Cursor<'_>,
    secrets: Secrets<'_>,
    findings: &mut Findings,
) -> Option<McpOAuth> {
    let oauth = at.mapping(findings, |fields| {
        all!(McpOAuth {
            issuer: fields.optional("issuer", |at, findings| {
                read_url(at, &[Scheme::Http, Scheme::Https], findings)
            }),
            client_id: fields.optional("clientId", read_client_id),
            client_secret: fields.optional("clientSecret", |at, findings| {
                match read_variable(at, secrets, findings)? {
                    Variable::Secret(secret) => Some(Zeroizing::new(secret)),
                    Variable::Plain(_) => {
                        let message = "the secret of a client is written as {secret: …}, {fromEnv: …} or {fromFile: …}";
                        at.refuse(message, findings)
                    }
                }
            }),
            client_metadata_url: fields.optional("clientMetadataUrl", |at, findings| {
                read_url(at, &[Scheme::Https], findings)
            }),
            scopes: fields.or_default("scopes", read_scopes),
            grant: fields.or_default("grant", read_grant),
        })
    })?;
    let is_complete = oauth.issuer.is_some() && oauth.client_id.is_some();
    if oauth.client_secret.is_some() && !is_complete {
        let message = "'clientSecret' needs 'clientId', and 'issuer': the authorization server that gets it, which the MCP server cannot choose";
        return at.refuse(message, findings);
    }
    if oauth.grant == McpOAuthGrant::ClientCredentials && oauth.client_secret.is_none() {
        return at.refuse("'grant: clientCredentials' needs 'clientSecret'", findings);
    }
    Some(oauth)
}

fn read_grant(at: &Cursor<'_>, findings: &mut Findings) -> Option<McpOAuthGrant> {
    match at.text(findings)? {
        "authorizationCode" => Some(McpOAuthGrant::AuthorizationCode),
        "clientCredentials" => Some(McpOAuthGrant::ClientCredentials),
        other => {
            let other = short(other);
            let message = format!("'{other}' is neither authorizationCode nor clientCredentials");
            at.refuse(message, findings)
        }
    }
}

/// Returns why a server cannot have OAuth, if it cannot.
pub(super) fn refusal(url: &str, grant: &HttpGrant) -> Option<&'static str> {
    let sets_token =
        |credential: &HttpCredential| credential.name().eq_ignore_ascii_case("authorization");
    if grant.credentials.iter().any(sets_token) {
        return Some("an MCP server has either 'oauth' or the credential 'authorization'");
    }
    let origin = Origin::parse(split_path(url).0).ok()?;
    let is_private = match &origin.host {
        Host::Address(address) => non_public_block(*address).is_some(),
        Host::Name(name) => name == "localhost" || !grant.private_networks.is_empty(),
    };
    let is_safe = origin.scheme == Scheme::Https || is_private;
    (!is_safe).then_some("an MCP server with 'oauth' on a public network has an https URL")
}

/// Reads a URL. It has neither a query nor a fragment, as an issuer must not have them.
fn read_url(at: &Cursor<'_>, schemes: &[Scheme], findings: &mut Findings) -> Option<String> {
    let url = at.text(findings)?;
    let (origin, path) = split_path(url);
    let is_valid = !path.contains(['?', '#', ' ', '*'])
        && path.chars().all(|c| c.is_ascii_graphic())
        && Origin::parse(origin).is_ok_and(|origin| schemes.contains(&origin.scheme));
    if is_valid {
        Some(url.to_owned())
    } else {
        let form = match schemes {
            [Scheme::Https] => "https://host/path",
            _ => "https://host[/path]",
        };
        let message = format!("'{}' is not a URL of the form {form}", short(url));
        at.refuse(message, findings)
    }
}
