//! The OAuth authorization server that the arguments name.

use std::fs;

use anyhow::Context;
use toolhost_mcp::{OAuthConfig, OAuthKeys};

use crate::args::ServeArgs;
use crate::failure::Failure;

/// Returns the configuration; none if the arguments name no authorization server.
pub(super) fn config(args: &ServeArgs) -> Result<Option<OAuthConfig>, Failure> {
    let Some((issuer, resource)) = args.oauth_issuer.as_ref().zip(args.oauth_resource.as_ref())
    else {
        return Ok(None);
    };
    let mut config = OAuthConfig::new(resource, issuer);
    config.scopes.clone_from(&args.oauth_scope);
    if let Some(keys) = &args.oauth_keys {
        config.keys = if keys.contains("://") {
            OAuthKeys::Url(keys.clone())
        } else {
            let text = fs::read_to_string(keys);
            OAuthKeys::Set(text.with_context(|| format!("the keys {keys} cannot be read"))?)
        };
    }
    Ok(Some(config))
}

/// Returns the origin of the resource, from which its own pages send requests, and the name of its host, which
/// clients send in `Host`.
pub(super) fn origin_and_host(config: &OAuthConfig) -> Option<(String, String)> {
    let (scheme, rest) = config.resource.split_once("://")?;
    let host = rest.split('/').next()?;
    Some((format!("{scheme}://{host}"), host.to_owned()))
}
