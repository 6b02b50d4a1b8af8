//! The messages of OAuth, built and read by the crate `oauth2`.

use std::borrow::Cow;
use std::future::pending;
use std::sync::Mutex;
use std::time::Duration;

use http::StatusCode;
use oauth2::basic::{
    BasicErrorResponse, BasicErrorResponseType, BasicRevocationErrorResponse,
    BasicTokenIntrospectionResponse,
};
use oauth2::{
    AccessToken, AuthType, AuthUrl, AuthorizationCode, Client, ClientId, ClientSecret, CsrfToken,
    DeviceAuthorizationUrl, DeviceCodeErrorResponseType, EndpointNotSet, EndpointSet,
    ErrorResponse, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, RefreshToken,
    RequestTokenError, RevocationUrl, Scope, StandardDeviceAuthorizationResponse,
    StandardRevocableToken, TokenUrl,
};
use tokio::sync::oneshot;
use toolhost_contract::OAuthClientAuth;

use crate::answer::{TokenAnswer, Tokens};
use crate::app::{Endpoints, OAuthApp};
use crate::egress::{Exchange, NoAnswer, OAuthEgress};
use crate::endpoint::Endpoint;
use crate::secret::Secret;

/// Longest error code of a server that is repeated.
const CODE_MAX: usize = 40;

type AppClient = Client<
    BasicErrorResponse,
    TokenAnswer,
    BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    BasicRevocationErrorResponse,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointSet,
>;

/// Why a request gave no tokens.
#[derive(Debug, Clone)]
pub(crate) enum Failure {
    /// `invalid_grant`: the code or the token that was sent is of no use any more.
    Rejected,
    /// Another error of the client or its request.
    Refused { code: String },
    /// No answer, or not one that OAuth has: the same request may succeed later.
    Unavailable {
        reason: String,
        retry_after: Option<Duration>,
    },
}

/// What a token endpoint answers to a device code.
#[derive(Debug)]
pub(crate) enum DeviceAnswer {
    Granted(Tokens),
    /// Nobody has decided. The next request after this interval.
    Pending(Duration),
    Denied,
    Expired,
}

/// One app's requests.
pub(crate) struct Protocol<'a> {
    pub(crate) app: &'a OAuthApp,
    pub(crate) endpoints: &'a Endpoints,
    pub(crate) egress: &'a OAuthEgress,
}

impl Protocol<'_> {
    /// Returns the URL that a browser opens. Spec: requirements-v1 §12.6.4 (2).
    pub(crate) fn authorization_url(
        &self,
        authorization: &Endpoint,
        redirect: &str,
        scopes: &[String],
        state: &Secret,
        verifier: &Secret,
    ) -> Option<String> {
        let client = self.client();
        let client = client.set_auth_uri(AuthUrl::from_url(authorization.url.clone()));
        let verifier = PkceCodeVerifier::new(verifier.expose().to_owned());
        let mut request = client
            .authorize_url(|| CsrfToken::new(state.expose().to_owned()))
            .set_redirect_uri(Cow::Owned(RedirectUrl::new(redirect.to_owned()).ok()?))
            .set_pkce_challenge(PkceCodeChallenge::from_code_verifier_sha256(&verifier))
            .add_scopes(scopes.iter().cloned().map(Scope::new));
        for (name, value) in &self.app.parameters {
            request = request.add_extra_param(name, value);
        }
        Some(request.url().0.into())
    }

    pub(crate) async fn exchange_code(
        &self,
        code: &Secret,
        verifier: &Secret,
        redirect: &str,
    ) -> Result<Tokens, Failure> {
        let client = self.client();
        let redirect = RedirectUrl::new(redirect.to_owned());
        let redirect = redirect.map_err(|error| unavailable(error.to_string()))?;
        let request = client
            .exchange_code(AuthorizationCode::new(code.expose().to_owned()))
            .set_pkce_verifier(PkceCodeVerifier::new(verifier.expose().to_owned()))
            .set_redirect_uri(Cow::Owned(redirect));
        let exchange = self.egress.exchange(&self.endpoints.token);
        let answer = request.request_async(&exchange).await;
        tokens(answer.map_err(|error| failure(error, &exchange))?)
    }

    pub(crate) async fn refresh(&self, token: &Secret) -> Result<Tokens, Failure> {
        let client = self.client();
        let token = RefreshToken::new(token.expose().to_owned());
        let exchange = self.egress.exchange(&self.endpoints.token);
        let request = client.exchange_refresh_token(&token);
        let answer = request.request_async(&exchange).await;
        tokens(answer.map_err(|error| failure(error, &exchange))?)
    }

    pub(crate) async fn begin_device(
        &self,
        endpoint: &Endpoint,
        scopes: &[String],
    ) -> Result<StandardDeviceAuthorizationResponse, Failure> {
        let url = DeviceAuthorizationUrl::from_url(endpoint.url.clone());
        let client = self.client().set_device_authorization_url(url);
        let mut request = client
            .exchange_device_code()
            .add_scopes(scopes.iter().cloned().map(Scope::new));
        for (name, value) in &self.app.parameters {
            request = request.add_extra_param(name, value);
        }
        let exchange = self.egress.exchange(endpoint);
        let answer = request.request_async(&exchange).await;
        answer.map_err(|error| failure(error, &exchange))
    }

    /// Asks once. The library would ask until the code expires: its first pause ends it.
    pub(crate) async fn poll_device(
        &self,
        device: &StandardDeviceAuthorizationResponse,
    ) -> Result<DeviceAnswer, Failure> {
        let client = self.client();
        let exchange = self.egress.exchange(&self.endpoints.token);
        let (paused, pause) = oneshot::channel();
        let paused = Mutex::new(Some(paused));
        let sleep = |interval: Duration| {
            let sender = paused.lock().ok().and_then(|mut sender| sender.take());
            sender.map(|sender| sender.send(interval));
            pending::<()>()
        };
        let request = client.exchange_device_access_token(device);
        let answer = tokio::select! {
            biased;
            answer = request.request_async(&exchange, sleep, None) => answer,
            interval = pause => {
                // The library also pauses where there was no answer.
                if let Some(NoAnswer(reason)) = exchange.seen().no_answer {
                    return Err(unavailable(reason));
                }
                return Ok(DeviceAnswer::Pending(interval.unwrap_or_default()));
            }
        };
        match answer {
            Ok(answer) => tokens(answer).map(DeviceAnswer::Granted),
            Err(RequestTokenError::ServerResponse(error)) if !is_down(&exchange) => {
                match error.error() {
                    DeviceCodeErrorResponseType::AccessDenied => Ok(DeviceAnswer::Denied),
                    DeviceCodeErrorResponseType::ExpiredToken
                    | DeviceCodeErrorResponseType::Basic(BasicErrorResponseType::InvalidGrant) => {
                        Ok(DeviceAnswer::Expired)
                    }
                    code @ (DeviceCodeErrorResponseType::AuthorizationPending
                    | DeviceCodeErrorResponseType::SlowDown
                    | DeviceCodeErrorResponseType::Basic(_)) => Err(Failure::Refused {
                        code: code_of(code.as_ref()),
                    }),
                }
            }
            Err(_) => Err(not_understood(&exchange)),
        }
    }

    /// Revokes a refresh token, or an access token.
    pub(crate) async fn revoke(
        &self,
        endpoint: &Endpoint,
        access: &Secret,
        refresh: Option<&Secret>,
    ) -> Result<(), Failure> {
        let mut url = endpoint.url.clone();
        // The library requires it; the request is sent to the endpoint itself.
        let _ = url.set_scheme("https");
        let client = self
            .client()
            .set_revocation_url(RevocationUrl::from_url(url));
        let token = match refresh {
            Some(token) => RefreshToken::new(token.expose().to_owned()).into(),
            None => StandardRevocableToken::from(AccessToken::new(access.expose().to_owned())),
        };
        let request = client.revoke_token(token);
        let request = request.map_err(|error| unavailable(error.to_string()))?;
        let exchange = self.egress.exchange(endpoint);
        let answer = request.request_async(&exchange).await;
        answer.map_err(|error| failure(error, &exchange))
    }

    fn client(&self) -> AppClient {
        let client = Client::new(ClientId::new(self.app.client_id.clone()))
            .set_token_uri(TokenUrl::from_url(self.endpoints.token.url.clone()))
            .set_auth_type(match self.app.client_auth {
                OAuthClientAuth::Basic => AuthType::BasicAuth,
                OAuthClientAuth::Body => AuthType::RequestBody,
            });
        match &self.app.client_secret {
            Some(secret) => client.set_client_secret(ClientSecret::new(secret.expose().to_owned())),
            None => client,
        }
    }
}

/// Returns a verifier with 256 random bits.
pub(crate) fn new_verifier() -> Secret {
    let (_, verifier) = PkceCodeChallenge::new_random_sha256();
    Secret::new(verifier.into_secret())
}

fn tokens(answer: TokenAnswer) -> Result<Tokens, Failure> {
    let reason = "its answer has no token that can be sent";
    let tokens = answer.into_tokens();
    tokens.ok_or_else(|| unavailable(reason.to_owned()))
}

/// Whether the last answer is one of a server that cannot work now.
fn is_down(exchange: &Exchange<'_>) -> bool {
    let is_down =
        |status: StatusCode| status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
    exchange.seen().status.is_some_and(is_down)
}

fn failure<T: ErrorResponse + 'static>(
    error: RequestTokenError<NoAnswer, T>,
    exchange: &Exchange<'_>,
) -> Failure {
    let RequestTokenError::ServerResponse(response) = error else {
        return not_understood(exchange);
    };
    // The library displays the code first, and then the server's own text.
    let text = response.to_string();
    let code = text.split([':', ' ']).next().unwrap_or_default();
    match code {
        "invalid_grant" | "bad_refresh_token" if !is_down(exchange) => Failure::Rejected,
        "server_error" | "temporarily_unavailable" | "slow_down" => not_understood(exchange),
        _ if is_down(exchange) => not_understood(exchange),
        code => Failure::Refused {
            code: code_of(code),
        },
    }
}

/// What the library did not understand is not repeated: it may have tokens.
fn not_understood(exchange: &Exchange<'_>) -> Failure {
    let seen = exchange.seen();
    let reason = match (seen.no_answer, seen.status) {
        (Some(NoAnswer(reason)), _) => reason,
        (None, Some(status)) => format!("its answer, with status {status}, is not one of OAuth"),
        (None, None) => "nothing was sent".to_owned(),
    };
    Failure::Unavailable {
        reason,
        retry_after: seen.retry_after,
    }
}

fn unavailable(reason: String) -> Failure {
    Failure::Unavailable {
        reason,
        retry_after: None,
    }
}

/// Returns a server's error code, if it has the form of one: other texts may be anything.
pub(crate) fn code_of(text: &str) -> String {
    let is_letter = |b: u8| b.is_ascii_lowercase() || b == b'_';
    if (1..=CODE_MAX).contains(&text.len()) && text.bytes().all(is_letter) {
        text.to_owned()
    } else {
        "an unknown error".to_owned()
    }
}
