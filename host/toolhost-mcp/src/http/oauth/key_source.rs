//! Where the keys come from: given with the configuration, or fetched when they are needed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http::{Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use hyper::body::Bytes;
use serde::Deserialize;
use tokio::time::timeout;
use toolhost::{HttpClientError, HttpGrant, HttpRule, Limits, Sandbox};

use super::claims::Header;
use super::config::{OAuthConfig, OAuthConfigError, OAuthKeys, checked};
use super::jwk::{Key, keys_of};
use super::token_error::TokenError;
use crate::served::ServedAgent;

/// Time after which keys are fetched again, so that those that the issuer has withdrawn are forgotten.
const KEYS_AGE_MAX: Duration = Duration::from_secs(3600);

/// Time after which keys that could not be fetched again are no longer used.
const KEYS_STALE_MAX: Duration = Duration::from_secs(24 * 3600);

/// Least time between two attempts to fetch keys, whatever tokens clients send.
const FETCH_INTERVAL: Duration = Duration::from_secs(10);

/// Longest time for one document.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

/// Largest document, in bytes.
const DOCUMENT_BYTES_MAX: usize = 256 << 10;

/// The keys of an issuer.
pub(super) enum KeySource {
    Given(Vec<Key>),
    Fetched(FetchedKeys),
}

/// Keys that are fetched from the issuer.
pub(super) struct FetchedKeys {
    issuer: String,
    /// None if the metadata names it.
    url: Option<String>,
    sandbox: Sandbox,
    known: Mutex<Known>,
    fetching: tokio::sync::Mutex<()>,
}

#[derive(Default, Clone)]
struct Known {
    keys: Arc<[Key]>,
    fetched: Option<Instant>,
    attempted: Option<Instant>,
}

/// Why keys were not fetched. Reported to the operator.
#[derive(Debug, thiserror::Error)]
enum FetchError {
    #[error("{0}")]
    Config(#[from] OAuthConfigError),
    #[error("{0}")]
    Http(#[from] HttpClientError),
    #[error("{url} answered with the status {status}")]
    Status { url: String, status: StatusCode },
    #[error("{url} did not answer in time, or with more than {DOCUMENT_BYTES_MAX} bytes")]
    Body { url: String },
    #[error("the metadata of the issuer does not name it and its keys")]
    Metadata,
    #[error("{url} has no key that can be used")]
    NoKeys { url: String },
}

impl KeySource {
    pub(super) fn new(
        config: &OAuthConfig,
        served: &ServedAgent,
    ) -> Result<Self, OAuthConfigError> {
        let url = match &config.keys {
            OAuthKeys::Set(set) => {
                let keys = keys_of(set.as_bytes());
                return match keys.is_empty() {
                    true => Err(OAuthConfigError::Keys),
                    false => Ok(Self::Given(keys)),
                };
            }
            OAuthKeys::Url(url) => {
                checked(url)?;
                Some(url.clone())
            }
            OAuthKeys::Discovered => None,
        };
        Ok(Self::Fetched(FetchedKeys {
            issuer: config.issuer.clone(),
            url,
            sandbox: served.bundle().host().sandbox().clone(),
            known: Mutex::default(),
            fetching: tokio::sync::Mutex::new(()),
        }))
    }

    /// Returns the keys that may have signed a token of this header.
    pub(super) async fn find(&self, header: &Header) -> Result<Vec<Key>, TokenError> {
        let fitting = |keys: &[Key]| -> Vec<Key> {
            let keys = keys.iter().filter(|key| key.fits(header));
            keys.cloned().collect()
        };
        if !matches!(
            header.alg.as_str(),
            "RS256" | "PS256" | "ES256" | "EdDSA" | "Ed25519"
        ) {
            return Err(TokenError::Algorithm);
        }
        let fetched = match self {
            Self::Given(keys) => return Ok(fitting(keys)),
            Self::Fetched(fetched) => fetched,
        };
        let known = fetched.known();
        let found = fitting(&known.keys);
        let is_recent = known
            .fetched
            .is_some_and(|time| time.elapsed() < KEYS_AGE_MAX);
        if is_recent && !found.is_empty() {
            return Ok(found);
        }
        // The issuer may have a new key.
        fetched.refresh().await;
        let known = fetched.known();
        let is_usable = |fetched: Instant| fetched.elapsed() < KEYS_STALE_MAX;
        if !known.fetched.is_some_and(is_usable) {
            return Err(TokenError::NoKeys);
        }
        Ok(fitting(&known.keys))
    }
}

impl FetchedKeys {
    fn known(&self) -> Known {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }

    /// Fetches the keys, unless an attempt was made a short time ago. If it fails, the known keys stay.
    async fn refresh(&self) {
        let _fetching = self.fetching.lock().await;
        let attempted = self.known().attempted;
        if attempted.is_some_and(|time| time.elapsed() < FETCH_INTERVAL) {
            return;
        }
        let fetched = self.fetch().await;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.attempted = Some(Instant::now());
        match fetched {
            Ok(keys) => {
                known.keys = keys.into();
                known.fetched = known.attempted;
            }
            Err(error) => {
                tracing::warn!(issuer = self.issuer, %error, "the keys of the issuer cannot be fetched");
            }
        }
    }

    async fn fetch(&self) -> Result<Vec<Key>, FetchError> {
        let url = match &self.url {
            Some(url) => url.clone(),
            None => self.discover().await?,
        };
        let keys = keys_of(&self.get(&url).await?);
        if keys.is_empty() {
            return Err(FetchError::NoKeys { url });
        }
        Ok(keys)
    }

    /// Returns the URL of the keys that the issuer's metadata names.
    async fn discover(&self) -> Result<String, FetchError> {
        #[derive(Deserialize)]
        struct Metadata {
            issuer: String,
            jwks_uri: String,
        }
        let issuer = checked(&self.issuer)?;
        let path = issuer.path().trim_end_matches('/');
        let origin = self.issuer.strip_suffix(issuer.path());
        let origin = origin.unwrap_or(&self.issuer).trim_end_matches('/');
        // RFC 8414 §3.1, and OpenID Connect Discovery §4.
        let places = [
            format!("{origin}/.well-known/oauth-authorization-server{path}"),
            format!("{origin}{path}/.well-known/openid-configuration"),
        ];
        let mut failed = FetchError::Metadata;
        for place in places {
            match self.get(&place).await {
                Ok(document) => match serde_json::from_slice::<Metadata>(&document) {
                    // RFC 8414 §3.3.
                    Ok(metadata) if metadata.issuer == self.issuer => {
                        checked(&metadata.jwks_uri)?;
                        return Ok(metadata.jwks_uri);
                    }
                    Ok(_) | Err(_) => failed = FetchError::Metadata,
                },
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// Fetches a document, over the egress of tools: public addresses, no redirects.
    async fn get(&self, url: &str) -> Result<Bytes, FetchError> {
        let rule = HttpRule::parse(&format!("GET {url}")).map_err(OAuthConfigError::from)?;
        let grant = HttpGrant {
            allow: [rule].into(),
            ..HttpGrant::default()
        };
        let client = self
            .sandbox
            .http_client(url, Arc::new(grant), Limits::default());
        let body = || FetchError::Body {
            url: url.to_owned(),
        };
        let request = Request::get(url).header(http::header::ACCEPT, "application/json");
        let request = request.body(Bytes::new()).map_err(|_| body())?;
        let fetched = async {
            let response = client.send(request).await?;
            let status = response.status();
            if status != StatusCode::OK {
                let url = url.to_owned();
                return Err(FetchError::Status { url, status });
            }
            let limited = Limited::new(response.into_body(), DOCUMENT_BYTES_MAX);
            let read = limited.collect().await.map_err(|_| body())?;
            Ok(read.to_bytes())
        };
        timeout(FETCH_TIMEOUT, fetched).await.map_err(|_| body())?
    }
}
