//! Reads `oauthApps`: the OAuthApps of bundles that may be used, and `oauth` of tools: for which origins the
//! host sets their tokens. An app is compared exactly with the resource of a bundle, which a stranger may have
//! written.

use std::fmt;

use serde_json::{Map, Value, json};
use toolhost_contract::{
    AddressBlock, OAuthAppResource, OAuthClientId, OAuthEndpoints, OAuthFlow, ResourceName,
    ToolErrorCode,
};
use zeroize::Zeroizing;

use super::http::read_networks;
use super::variable::{Environment, Secrets, read_env};
use crate::diagnostic::{Diagnostic, Place};
use crate::oauth_values::{is_of_loopback, read_origins, read_scopes, read_urls};
use crate::reader::{Fields, all};
use crate::yaml::write;

/// The addresses of this machine.
const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1/128"];

/// What the policy gives to an OAuthApp.
#[derive(Clone, PartialEq, Eq)]
pub struct OAuthAppGrant {
    /// The identifier of the client.
    pub client_id: String,
    /// The secret of the client. None: a public client.
    pub client_secret: Option<Zeroizing<String>>,
}

/// Omits the secret.
impl fmt::Debug for OAuthAppGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthAppGrant")
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}

/// An OAuthApp that a tool may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOAuthGrant {
    /// The OAuthApp.
    pub app: ResourceName,
    /// The scopes that the token must have. None: those of the app.
    pub scopes: Option<Vec<String>>,
}

/// The rule for an app.
#[derive(Debug, Clone)]
pub(super) struct OAuthAppRule {
    pub(super) place: Place,
    endpoints: OAuthEndpoints,
    origins: Vec<String>,
    env: Environment,
    private_networks: Vec<AddressBlock>,
}

/// The rule for a tool's use of an app.
#[derive(Debug, Clone)]
pub(super) struct ToolOAuthRule {
    pub(super) place: Place,
    scopes: Option<Vec<String>>,
}

/// Returns the addresses of this machine if one of these URLs is there.
pub(super) fn local_networks<'a>(urls: impl IntoIterator<Item = &'a str>) -> Vec<AddressBlock> {
    let is_local = urls.into_iter().any(is_of_loopback);
    let loopback = LOOPBACK.iter().filter(|_| is_local);
    loopback
        .filter_map(|block| AddressBlock::parse(block).ok())
        .collect()
}

/// Reads the value of one app.
pub(super) fn read(
    fields: &mut Fields<'_, '_>,
    place: Place,
    secrets: Secrets<'_>,
) -> Option<OAuthAppRule> {
    all!(OAuthAppRule {
        place: Some(place),
        endpoints: fields.required("endpoints", read_urls),
        origins: fields.required("origins", read_origins),
        env: fields.or_default("env", |at, findings| read_env(at, secrets, findings)),
        private_networks: Some(read_networks(fields)),
    })
}

/// Reads a tool's use of one app.
pub(super) fn read_use(fields: &mut Fields<'_, '_>, place: Place) -> Option<ToolOAuthRule> {
    let scopes = fields.read("scopes", read_scopes);
    Some(ToolOAuthRule { place, scopes })
}

impl ToolOAuthRule {
    pub(super) fn grant(&self, app: &ResourceName) -> ToolOAuthGrant {
        ToolOAuthGrant {
            app: app.clone(),
            scopes: self.scopes.clone(),
        }
    }
}

impl OAuthAppRule {
    /// Lists the non-public addresses at which the endpoints may be. An endpoint at this machine needs no rule.
    pub(super) fn networks(&self) -> Vec<AddressBlock> {
        let endpoints = &self.endpoints;
        let urls = [
            endpoints.authorization_url.as_deref(),
            endpoints.device_authorization_url.as_deref(),
            endpoints.revocation_url.as_deref(),
            Some(endpoints.token_url.as_str()),
        ];
        let loopback = local_networks(urls.into_iter().flatten());
        self.private_networks
            .iter()
            .copied()
            .chain(loopback)
            .collect()
    }

    /// Lists the secrets, each with its name.
    pub(super) fn secrets(&self) -> Vec<(&str, &str)> {
        let secrets = self.env.secret.iter();
        secrets
            .map(|(name, it)| (name.as_str(), it.as_str()))
            .collect()
    }

    /// Returns what is granted to an app, if it is the one of this rule; otherwise an error.
    pub(super) fn check(
        &self,
        app: &OAuthAppResource,
        place: &Place,
    ) -> Result<OAuthAppGrant, Box<Diagnostic>> {
        let name = &app.metadata.name;
        let refusal = |difference: String| {
            let message = format!("OAuthApp/{name} is not the one in the policy: {difference}");
            let error = Diagnostic::error(ToolErrorCode::Denied, place.clone(), message);
            let error = error.with_help(help(app));
            Box::new(error.with_related("granted here", self.place.clone()))
        };
        if let Some(key) = self.differing_endpoint(&app.spec.endpoints) {
            return Err(refusal(format!("its {key} differs")));
        }
        if self.origins != app.spec.origins {
            return Err(refusal("its origins differ".to_owned()));
        }
        let missing = |name: &str| {
            refusal(format!(
                "it reads the variable {name}, which is not in 'env'"
            ))
        };
        let client_id = match &app.spec.client_id {
            OAuthClientId::Text(id) => id.clone(),
            OAuthClientId::Env(name) => self.value(name).ok_or_else(|| missing(name))?.to_owned(),
        };
        let client_secret = match &app.spec.client_secret {
            None => None,
            Some(name) => {
                let secret = self
                    .env
                    .secret
                    .iter()
                    .find(|(variable, _)| variable == name);
                let (_, secret) = secret.ok_or_else(|| match self.value(name) {
                    None => missing(name),
                    Some(_) => refusal(format!(
                        "the variable {name} of its 'env' is not written as a secret"
                    )),
                })?;
                Some(Zeroizing::new(secret.clone()))
            }
        };
        Ok(OAuthAppGrant {
            client_id,
            client_secret,
        })
    }

    fn value(&self, name: &str) -> Option<&str> {
        let mut variables = self.env.plain.iter().chain(&self.env.secret);
        let (_, value) = variables.find(|(variable, _)| variable == name)?;
        Some(value)
    }

    /// Returns the key of an endpoint in which an app differs.
    fn differing_endpoint(&self, endpoints: &OAuthEndpoints) -> Option<String> {
        if self.endpoints == *endpoints {
            return None;
        }
        let [own, endpoints] =
            [&self.endpoints, endpoints].map(|urls| serde_json::to_value(urls).unwrap_or_default());
        let keys = [&own, &endpoints].into_iter().filter_map(Value::as_object);
        let mut keys = keys.flat_map(Map::keys);
        let key = keys.find(|key| own.get(key) != endpoints.get(key)).cloned();
        Some(key.unwrap_or_default())
    }
}

/// Returns the warning about an app that the policy does not have.
pub(super) fn not_granted(app: &OAuthAppResource, place: &Place) -> Box<Diagnostic> {
    let name = &app.metadata.name;
    let message = format!("OAuthApp/{name} is not granted by the policy, and no tool can use it");
    let warning = Diagnostic::warning(ToolErrorCode::Denied, place.clone(), message);
    Box::new(warning.with_help(help(app)))
}

/// Returns the help that grants an app: lines for a policy.
fn help(app: &OAuthAppResource) -> String {
    let endpoints = serde_json::to_value(&app.spec.endpoints).unwrap_or_default();
    let mut env = Map::new();
    if let OAuthClientId::Env(name) = &app.spec.client_id {
        env.insert(name.clone(), json!({"fromEnv": name}));
    }
    if let Some(name) = &app.spec.client_secret {
        env.insert(name.clone(), json!({"fromEnv": name}));
    }
    let mut grant = json!({"endpoints": endpoints, "origins": app.spec.origins});
    if let Some(grant) = grant.as_object_mut().filter(|_| !env.is_empty()) {
        grant.insert("env".to_owned(), env.into());
    }
    let lines = write::inline(&json!({app.metadata.name.as_str(): grant}));
    let how = match app.spec.flow {
        OAuthFlow::AuthorizationCode => "in a browser",
        OAuthFlow::DeviceCode => "with a device code",
    };
    format!("Write `oauthApps: {lines}` in the policy so that users can grant access {how}.")
}
