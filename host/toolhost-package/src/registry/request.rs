//! One request to a repository: where it goes, its credential, and why it failed.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use serde::Deserialize;
use toolhost_contract::{JsonLimits, text};
use toolhost_manifest::bundle::package::{PackageReference, is_digest};
use url::Url;

use super::auth::{self, Challenge, TOKEN_MAX, Token};
use super::client::Registry;
use super::error::RegistryError;
use super::exchange::{HttpRequest, NoResponse, Response, is_loopback};
use crate::credentials::Credential;

/// Most bytes of an answer that says why a request is refused.
pub(super) const ERROR_MAX: u64 = 64 << 10;

/// Longest reason of a registry in an error, in characters.
pub(super) const REASON_LENGTH: usize = 300;

/// Longest time that a helper program may take to find a credential.
const CREDENTIALS_TIME: Duration = Duration::from_secs(60);

/// Docker Hub answers at another host than the one in references.
const DOCKER_HUB: (&str, &str) = ("docker.io", "registry-1.docker.io");

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Read,
    Write,
}

impl Action {
    fn scope(self, repository: &str) -> String {
        let actions = match self {
            Self::Read => "pull",
            Self::Write => "pull,push",
        };
        format!("repository:{repository}:{actions}")
    }

    fn on(self, repository: &str) -> String {
        let verb = match self {
            Self::Read => "read",
            Self::Write => "write",
        };
        format!("{verb} {repository}")
    }
}

impl Registry {
    /// Makes a request to the repository of a reference.
    pub(super) fn request(
        &self,
        reference: &PackageReference,
        method: Method,
        path: &str,
        max: u64,
    ) -> Result<HttpRequest, RegistryError> {
        let host = match reference.registry() {
            hub if hub == DOCKER_HUB.0 => DOCKER_HUB.1,
            other => other,
        };
        let parse = |scheme: &str| {
            Url::parse(&format!(
                "{scheme}://{host}/v2/{}/{path}",
                reference.repository()
            ))
        };
        let unreachable = |error: url::ParseError| unreachable(reference, error.to_string());
        let mut url = parse("https").map_err(unreachable)?;
        let is_local = is_loopback(&url);
        if is_local {
            url = parse("http").map_err(unreachable)?;
        }
        Ok(HttpRequest {
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            max,
            is_local,
        })
    }

    /// Sends a request with the credential that the registry asks for, and returns a successful response.
    pub(super) async fn authorized(
        &self,
        reference: &PackageReference,
        action: Action,
        what: &str,
        mut request: HttpRequest,
    ) -> Result<Response, RegistryError> {
        let scope = action.scope(reference.repository());
        let key = (reference.registry().to_owned(), scope.clone());
        let authorization = self.accepted().get(&key).cloned();
        let mut had_credentials = authorization.is_some();
        if let Some(header) = authorization {
            request.headers.insert(AUTHORIZATION, header);
        }
        let mut response = self.exchanged(reference, what, request.clone()).await?;
        // A server to which the registry redirects gets no credential, and names no token server.
        let is_own = response.url.origin() == request.url.origin();
        if response.status == StatusCode::UNAUTHORIZED
            && is_own
            && let Some(challenge) = Challenge::of(&response.headers)
        {
            self.accepted().remove(&key);
            let (header, has) = self.answer(reference, &challenge, &scope).await?;
            had_credentials = has;
            if let Some(header) = header {
                request.headers.insert(AUTHORIZATION, header.clone());
                response = self.exchanged(reference, what, request).await?;
                if response.status != StatusCode::UNAUTHORIZED {
                    self.accepted().insert(key, header);
                }
            }
        }
        if response.status.is_success() {
            return Ok(response);
        }
        let registry = reference.registry().to_owned();
        Err(match response.status {
            StatusCode::NOT_FOUND => RegistryError::NotFound {
                registry,
                what: what.to_owned(),
            },
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => RegistryError::Refused {
                registry,
                action: action.on(reference.repository()),
                had_credentials,
                reason: reason(&response),
            },
            _ => protocol(reference, action, &reason(&response)),
        })
    }

    async fn exchanged(
        &self,
        reference: &PackageReference,
        what: &str,
        request: HttpRequest,
    ) -> Result<Response, RegistryError> {
        // An error may be longer than what is asked for.
        let max = request.max;
        let request = HttpRequest {
            max: max.max(ERROR_MAX),
            ..request
        };
        let registry = || reference.registry().to_owned();
        let too_large = || RegistryError::TooLarge {
            registry: registry(),
            what: what.to_owned(),
            max,
        };
        match self.0.exchange.send(request).await {
            Ok(response) if response.status.is_success() && response.body.len() as u64 > max => {
                Err(too_large())
            }
            Ok(response) => Ok(response),
            Err(NoResponse::TooLarge) => Err(too_large()),
            Err(NoResponse::Failed(reason)) => Err(unreachable(reference, reason)),
        }
    }

    /// Returns the header that answers a challenge, and whether it is one of a credential.
    async fn answer(
        &self,
        reference: &PackageReference,
        challenge: &Challenge,
        scope: &str,
    ) -> Result<(Option<HeaderValue>, bool), RegistryError> {
        let credential = self.credential(reference).await?;
        let basic = match &credential {
            Some(Credential::Password { user, password }) => auth::basic(user, password),
            Some(Credential::IdentityToken(_)) | None => None,
        };
        let has = credential.is_some();
        let Challenge::Bearer {
            realm,
            service,
            scope: text,
        } = challenge
        else {
            return Ok((basic, has));
        };
        // The registry may ask for a scope of its own, but for no other repository.
        let prefix = format!("repository:{}:", reference.repository());
        let scope = text
            .as_deref()
            .filter(|text| text.starts_with(&prefix) && !text.contains(' '))
            .unwrap_or(scope);
        let service = service.as_deref();
        let mut request = HttpRequest {
            method: Method::GET,
            url: Challenge::token_url(realm, service, scope),
            headers: HeaderMap::new(),
            body: Bytes::new(),
            max: TOKEN_MAX,
            is_local: self.request(reference, Method::GET, "", 0)?.is_local,
        };
        if let Some(basic) = basic {
            request.headers.insert(AUTHORIZATION, basic);
        }
        if let Some(body) =
            credential.and_then(|credential| Challenge::exchange_body(&credential, service, scope))
        {
            (request.method, request.url, request.body) =
                (Method::POST, realm.clone(), Bytes::from(body));
            request
                .headers
                .insert(CONTENT_TYPE, value("application/x-www-form-urlencoded"));
        }
        let response = self.exchanged(reference, "the token", request).await?;
        if !response.status.is_success() {
            return Err(RegistryError::Refused {
                registry: reference.registry().to_owned(),
                action: format!("give a token for {}", reference.repository()),
                had_credentials: has,
                reason: reason(&response),
            });
        }
        let token = JsonLimits::ANSWER
            .parse_bytes::<Token>(&response.body)
            .ok()
            .and_then(Token::header);
        let no_token = || protocol(reference, Action::Read, "the token server sent no token");
        Ok((Some(token.ok_or_else(no_token)?), has))
    }

    async fn credential(
        &self,
        reference: &PackageReference,
    ) -> Result<Option<Credential>, RegistryError> {
        let (credentials, registry) = (
            Arc::clone(&self.0.credentials),
            reference.registry().to_owned(),
        );
        let threads = self.egress().threads();
        // It may run a program.
        let find = threads.wait(move || credentials.find(&registry));
        let credential = match threads.within(CREDENTIALS_TIME, find).await {
            Some(credential) => credential.unwrap_or_else(|error| Err(error.to_string())),
            None => Err(format!("no answer within {} s", CREDENTIALS_TIME.as_secs())),
        };
        credential.map_err(|reason| RegistryError::Credentials {
            registry: reference.registry().to_owned(),
            reason,
        })
    }

    fn accepted(&self) -> MutexGuard<'_, HashMap<(String, String), HeaderValue>> {
        self.0
            .accepted
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Such as `me/text:1.0` or `me/text@sha256:…`.
pub(super) fn named(reference: &PackageReference, name: &str) -> String {
    let separator = if is_digest(name) { '@' } else { ':' };
    format!("{}{separator}{name}", reference.repository())
}

pub(super) fn value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static(""))
}

pub(super) fn unreachable(reference: &PackageReference, reason: String) -> RegistryError {
    RegistryError::Unreachable {
        registry: reference.registry().to_owned(),
        reason,
    }
}

pub(super) fn protocol(
    reference: &PackageReference,
    action: Action,
    reason: &str,
) -> RegistryError {
    RegistryError::Protocol {
        registry: reference.registry().to_owned(),
        action: action.on(reference.repository()),
        reason: reason.to_owned(),
    }
}

pub(super) fn other_bytes(
    reference: &PackageReference,
    what: String,
    found: String,
) -> RegistryError {
    RegistryError::Digest {
        registry: reference.registry().to_owned(),
        what,
        found,
    }
}

/// Returns the messages of an error of OCI, or else the status.
fn reason(response: &Response) -> String {
    #[derive(Deserialize)]
    struct Errors {
        errors: Vec<OciError>,
    }
    #[derive(Deserialize)]
    struct OciError {
        #[serde(default)]
        code: String,
        #[serde(default)]
        message: String,
    }
    let status = format!("status {}", response.status);
    let Ok(Errors { errors }) = JsonLimits::ANSWER.parse_bytes(&response.body) else {
        return status;
    };
    let one = |error: &OciError| {
        format!("{} {}", error.code, error.message)
            .trim()
            .to_owned()
    };
    let texts: Vec<String> = errors
        .iter()
        .map(one)
        .filter(|text| !text.is_empty())
        .collect();
    if texts.is_empty() {
        status
    } else {
        text::shorten(&texts.join("; "), REASON_LENGTH)
    }
}
