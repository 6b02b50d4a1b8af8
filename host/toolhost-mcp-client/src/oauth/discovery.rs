//! Finds the authorization server of a server.

use std::sync::Arc;

use rmcp::transport::auth::{AuthError, AuthorizationManager, AuthorizationMetadata};

use super::egress::FlowEgress;
use super::settings::OAuthSettings;
use crate::unauthorized::{NextMove, Unauthorized};

/// An authorization server that may be used.
pub(super) struct Discovered {
    /// Knows the metadata.
    pub(super) manager: AuthorizationManager,
    pub(super) metadata: AuthorizationMetadata,
}

/// Reads the metadata of the server and of its authorization server, and checks that both belong together,
/// that the policy allows the issuer, and that every endpoint may be used.
pub(super) async fn discover(
    settings: &OAuthSettings,
    challenge: Option<&str>,
) -> Result<Discovered, Unauthorized> {
    let egress = FlowEgress::new(settings);
    let manager =
        AuthorizationManager::new_with_oauth_http_client(&*settings.url, Arc::new(egress));
    let mut manager = manager.await.map_err(|error| failed(&error))?;
    let challenge = challenge.filter(|header| !header.is_empty());
    let discovery = manager.resolve_metadata_from_challenge(challenge).await;
    let discovery = discovery.map_err(|error| failed(&error))?;
    if !discovery.source.is_discovered() {
        let reason =
            "it requires authorization, and publishes no metadata of an authorization server";
        return Err(Unauthorized::new(NextMove::ChangePolicy, reason));
    }
    let metadata = discovery.metadata;
    check(settings, &metadata)?;
    manager.set_metadata(metadata.clone());
    Ok(Discovered { manager, metadata })
}

fn check(settings: &OAuthSettings, metadata: &AuthorizationMetadata) -> Result<(), Unauthorized> {
    if let Some(expected) = &settings.config.issuer {
        let issuer = metadata.issuer.as_deref().unwrap_or_default();
        if issuer.trim_end_matches('/') != expected.trim_end_matches('/') {
            let reason = format!(
                "its authorization server is '{issuer}', and the policy has the issuer '{expected}'"
            );
            return Err(Unauthorized::new(NextMove::ChangePolicy, reason));
        }
    }
    let registration = metadata.registration_endpoint.as_ref();
    let urls = settings.check();
    let endpoints = [
        (
            "authorization_endpoint",
            Some(&metadata.authorization_endpoint),
        ),
        ("token_endpoint", Some(&metadata.token_endpoint)),
        ("registration_endpoint", registration),
    ];
    for (name, url) in endpoints {
        let Some(url) = url else { continue };
        urls.origin_of(url).map_err(|reason| {
            let reason =
                format!("the {name} of its authorization server may not be used: {reason}");
            Unauthorized::new(NextMove::ChangePolicy, reason)
        })?;
    }
    Ok(())
}

/// Turns an error of the protocol's SDK into ours, with its causes.
pub(super) fn failed(error: &AuthError) -> Unauthorized {
    let mut reason = format!("it requires authorization, which failed: {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        reason = format!("{reason}: {next}");
        cause = next.source();
    }
    Unauthorized::new(NextMove::Login, reason)
}
