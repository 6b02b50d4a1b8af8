//! Gets tokens: from a person's authorization, or with a refresh token.

use rmcp::transport::auth::{
    AuthError, AuthorizationCallback, AuthorizationManager, AuthorizationMetadata,
    ClientCredentialsConfig, CredentialStore, InMemoryCredentialStore, OAuthClientConfig,
    StoredCredentials,
};
use serde_json::Value;
use tokio::time::timeout;
use toolhost::middleware::Redactor;
use toolhost::oauth::Secret;

use super::authorizer::{McpAuthorizationRequest, McpAuthorizer};
use super::discovery::{Discovered, discover, failed};
use super::record::{ClientRegistration, TokenRecord};
use super::settings::OAuthSettings;
use crate::challenge::Challenge;
use crate::unauthorized::{NextMove, Unauthorized};

/// The name of the client that is registered.
const CLIENT_NAME: &str = "toolhost";

/// Scopes of one authorization. A server that names more is refused.
const SCOPES_MAX: usize = 100;

/// Shortest secret that is removed from a reason, in bytes.
const SECRET_MIN: usize = 6;

/// Asks a person, and returns the new credentials. A client that is registered already is used again.
pub(super) async fn authorize(
    settings: &OAuthSettings,
    authorizer: &dyn McpAuthorizer,
    challenge: &Challenge,
    earlier: Option<&TokenRecord>,
) -> Result<TokenRecord, Unauthorized> {
    let Discovered {
        mut manager,
        metadata,
    } = discover(settings, Some(&challenge.header)).await?;
    let scopes = scopes(settings, &manager, &metadata, challenge, earlier).await?;
    let names: Vec<&str> = scopes.iter().map(String::as_str).collect();
    let redirect_uri = authorizer.redirect_uri();
    let client = client(
        settings,
        &mut manager,
        &metadata,
        &redirect_uri,
        &names,
        earlier,
    );
    let client = client.await?;
    let url = manager.get_authorization_url(&names).await;
    let request = McpAuthorizationRequest {
        server: settings.server.clone(),
        url: url.map_err(|error| failed(&error))?,
        within: settings.time,
    };
    let answer = match timeout(settings.time, authorizer.authorize(request)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(reason)) => return Err(refusal(format_args!("nobody authorized it: {reason}"))),
        Err(_) => {
            let seconds = settings.time.as_secs();
            return Err(refusal(format_args!(
                "nobody authorized it within {seconds} s"
            )));
        }
    };
    let callback = callback(&answer, &redirect_uri)?;
    let exchanged = manager.exchange_code_for_token_with_issuer(
        &callback.code,
        &callback.csrf_token,
        callback.issuer.as_deref(),
    );
    let token = exchanged.await.map_err(|error| {
        let secrets = [callback.code.as_str(), callback.csrf_token.as_str()];
        let secret = client.secret.as_ref().map(Secret::expose);
        let configured = settings.secret_of(&client.id);
        let secrets = secrets.into_iter().chain(secret).chain(configured);
        redacted(&failed(&error), secrets)
    })?;
    record(settings, metadata.issuer, &client, scopes, &token)
}

/// Exchanges the secret of the policy's client: no person is asked.
pub(super) async fn exchange_client_credentials(
    settings: &OAuthSettings,
    challenge: &Challenge,
    earlier: Option<&TokenRecord>,
) -> Result<TokenRecord, Unauthorized> {
    let Discovered {
        mut manager,
        metadata,
    } = discover(settings, Some(&challenge.header)).await?;
    let scopes = scopes(settings, &manager, &metadata, challenge, earlier).await?;
    let id = settings.config.client_id.clone().unwrap_or_default();
    let secret = settings.secret_of(&id).unwrap_or_default();
    let config = ClientCredentialsConfig::ClientSecret {
        client_id: id.clone(),
        client_secret: secret.to_owned(),
        scopes: scopes.clone(),
        resource: Some(settings.url.to_string()),
    };
    let fail = |error: &AuthError| redacted(&failed(error), [secret].into_iter());
    let configured = manager
        .validate_client_credentials_metadata(&config)
        .and_then(|()| manager.configure_client_credentials(&config));
    configured.map_err(|error| fail(&error))?;
    let token = manager.exchange_client_credentials(&config).await;
    let token = token.map_err(|error| fail(&error))?;
    let client = ClientRegistration {
        id,
        secret: None,
        redirect_uri: String::new(),
    };
    record(settings, metadata.issuer, &client, scopes, &token)
}

/// Why a refresh token was not exchanged.
pub(super) enum NotRenewed {
    /// It is of no use any more.
    Rejected,
    /// It may be used later.
    Failed(Unauthorized),
}

/// Exchanges a refresh token.
pub(super) async fn refresh(
    settings: &OAuthSettings,
    record_: &TokenRecord,
) -> Result<TokenRecord, NotRenewed> {
    let discovered = discover(settings, None).await;
    let Discovered {
        mut manager,
        metadata,
    } = discovered.map_err(NotRenewed::Failed)?;
    // Tokens and clients of one authorization server are never sent to another.
    if metadata.issuer != record_.issuer {
        return Err(NotRenewed::Rejected);
    }
    let mut client = record_.client();
    if client.secret.is_none() {
        client.secret = settings.secret_of(&client.id).map(Secret::new);
    }
    let fail = |error: &AuthError| {
        let secret = client.secret.as_ref().map(Secret::expose);
        NotRenewed::Failed(redacted(&failed(error), record_.secrets().chain(secret)))
    };
    configure(&mut manager, &client).map_err(|error| fail(&error))?;
    let store = InMemoryCredentialStore::new();
    let token = serde_json::from_value(record_.as_answer()).ok();
    let credentials =
        StoredCredentials::new(client.id.clone(), token, record_.scopes.clone(), None);
    let credentials = credentials.with_issuer(record_.issuer.clone());
    store
        .save(credentials)
        .await
        .map_err(|error| fail(&error))?;
    manager.set_credential_store(store);
    match manager.refresh_token().await {
        Ok(token) => {
            let client = record_.client();
            let scopes = record_.scopes.clone();
            record(settings, metadata.issuer, &client, scopes, &token).map_err(NotRenewed::Failed)
        }
        Err(AuthError::TokenRefreshRejected(_) | AuthError::AuthorizationRequired) => {
            Err(NotRenewed::Rejected)
        }
        Err(error) => Err(fail(&error)),
    }
}

fn record(
    settings: &OAuthSettings,
    issuer: Option<String>,
    client: &ClientRegistration,
    scopes: Vec<String>,
    token: &impl serde::Serialize,
) -> Result<TokenRecord, Unauthorized> {
    let answer = serde_json::to_value(token).unwrap_or(Value::Null);
    TokenRecord::new(&settings.url, issuer, client, scopes, &answer)
        .ok_or_else(|| refusal("the access token cannot be sent in a header"))
}

/// The scopes to ask for: those of the policy, or those that the server names; for a step-up, the earlier ones
/// as well.
async fn scopes(
    settings: &OAuthSettings,
    manager: &AuthorizationManager,
    metadata: &AuthorizationMetadata,
    challenge: &Challenge,
    earlier: Option<&TokenRecord>,
) -> Result<Vec<String>, Unauthorized> {
    let configured = &settings.config.scopes;
    let mut scopes: Vec<String> = match (challenge.is_step_up(), configured.is_empty()) {
        (true, _) => {
            let earlier = earlier.into_iter().flat_map(|record| &record.scopes);
            earlier.chain(&challenge.scopes).cloned().collect()
        }
        (false, false) => configured.clone(),
        (false, true) => manager.select_initial_scopes(&[]).await,
    };
    if challenge.is_login {
        scopes.extend(challenge.scopes.iter().cloned());
    }
    let supported = metadata.scopes_supported.iter().flatten();
    let offline = supported.filter(|scope| *scope == "offline_access");
    if !scopes.is_empty() {
        scopes.extend(offline.cloned());
    }
    let mut unique: Vec<String> = Vec::new();
    for scope in scopes {
        if !unique.contains(&scope) {
            unique.push(scope);
        }
        if unique.len() > SCOPES_MAX {
            return Err(refusal(format_args!(
                "it names more than {SCOPES_MAX} scopes"
            )));
        }
    }
    Ok(unique)
}

/// Configures the client: that of the policy, the one that is registered, the one whose metadata are
/// published, or a new one.
async fn client(
    settings: &OAuthSettings,
    manager: &mut AuthorizationManager,
    metadata: &AuthorizationMetadata,
    redirect_uri: &str,
    scopes: &[&str],
    earlier: Option<&TokenRecord>,
) -> Result<ClientRegistration, Unauthorized> {
    let is_same = |record: &&TokenRecord| {
        record.issuer == metadata.issuer && record.redirect_uri == redirect_uri
    };
    let of_metadata = settings.config.client_metadata_url.as_ref();
    let of_metadata = of_metadata.filter(|_| supports_client_metadata(metadata));
    let public = |id: &String| ClientRegistration {
        id: id.clone(),
        secret: None,
        redirect_uri: redirect_uri.to_owned(),
    };
    let client = match (
        &settings.config.client_id,
        of_metadata,
        earlier.filter(is_same),
    ) {
        (Some(id), _, _) | (None, Some(id), _) => Some(public(id)),
        (None, None, Some(record)) => Some(record.client()),
        (None, None, None) => None,
    };
    if let Some(client) = client {
        let mut configured = client.clone();
        if let Some(secret) = settings.secret_of(&client.id) {
            configured.secret = Some(Secret::new(secret));
        }
        configure(manager, &configured).map_err(|error| failed(&error))?;
        return Ok(client);
    }
    if metadata.registration_endpoint.is_none() {
        let reason = "its authorization server registers no clients: register one there, and write its 'clientId' in the policy";
        return Err(Unauthorized::new(NextMove::ChangePolicy, reason));
    }
    let registered = manager
        .register_client(CLIENT_NAME, redirect_uri, scopes)
        .await;
    let registered = registered.map_err(|error| failed(&error))?;
    Ok(ClientRegistration {
        secret: registered.client_secret.map(Secret::new),
        ..public(&registered.client_id)
    })
}

fn configure(
    manager: &mut AuthorizationManager,
    client: &ClientRegistration,
) -> Result<(), AuthError> {
    let config = OAuthClientConfig::new(&client.id, &client.redirect_uri);
    manager.configure_client(match &client.secret {
        Some(secret) => config.with_client_secret(secret.expose()),
        None => config,
    })
}

fn supports_client_metadata(metadata: &AuthorizationMetadata) -> bool {
    let key = "client_id_metadata_document_supported";
    metadata.additional_fields.get(key).and_then(Value::as_bool) == Some(true)
}

/// Reads the URL to which the browser was sent.
fn callback(answer: &str, redirect_uri: &str) -> Result<AuthorizationCallback, Unauthorized> {
    let (place, query) = answer.split_once('?').unwrap_or((answer, ""));
    if place != redirect_uri {
        return Err(refusal(
            "the browser was sent to another URL than the redirect URI",
        ));
    }
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    if let Some((_, error)) = pairs.find(|(key, _)| *key == "error") {
        return Err(refusal(format_args!(
            "the authorization server refused: {error}"
        )));
    }
    AuthorizationCallback::from_redirect_url(answer).map_err(|error| failed(&error))
}

fn refusal(reason: impl std::fmt::Display) -> Unauthorized {
    let reason = format!("it requires authorization, which failed: {reason}");
    Unauthorized::new(NextMove::Login, reason)
}

/// A reason may hold what an authorization server repeated.
fn redacted<'a>(error: &Unauthorized, secrets: impl Iterator<Item = &'a str>) -> Unauthorized {
    // Short ones would hit ordinary words.
    let secrets = secrets.filter(|secret| secret.len() >= SECRET_MIN);
    let redactor = Redactor::new(secrets.map(|secret| ("secret", secret)));
    error.with_reason(&redactor.text(&error.to_string()))
}
