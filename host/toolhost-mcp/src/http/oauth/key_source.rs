//! Where the keys come from: given with the configuration, or fetched when they are needed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use http::{Request, StatusCode};
use hyper::body::Bytes;
use serde::Deserialize;
use tokio::sync::watch;
use toolhost::http::{Egress, HttpClientError, HttpOrigin};

use super::claims::{Header, JSON};
use super::config::{OAuthConfig, OAuthConfigError, OAuthKeys, checked, checked_with_query};
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
const DOCUMENT_BYTES_MAX: u64 = 256 << 10;

/// Name under which open connections are counted.
const OWNER: &str = "token keys";

/// The keys of an issuer.
pub(super) enum KeySource {
    Given(Vec<Key>),
    Fetched(Arc<FetchedKeys>),
}

/// Keys that are fetched from the issuer.
pub(super) struct FetchedKeys {
    issuer: String,
    /// None if the metadata names it.
    url: Option<String>,
    egress: Egress,
    cached: Mutex<CachedKeys>,
}

#[derive(Default, Clone)]
struct CachedKeys {
    keys: Arc<[Key]>,
    fetched: Option<Instant>,
    /// When the last attempt to fetch them began.
    attempted: Option<Instant>,
    /// Closed when the attempt that runs has ended.
    running: Option<watch::Receiver<()>>,
}

impl CachedKeys {
    fn are_younger_than(&self, age: Duration) -> bool {
        self.fetched.is_some_and(|time| time.elapsed() < age)
    }
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
                return if keys.is_empty() {
                    Err(OAuthConfigError::Keys)
                } else {
                    Ok(Self::Given(keys))
                };
            }
            OAuthKeys::Url(url) => {
                checked_with_query(url)?;
                Some(url.clone())
            }
            OAuthKeys::Discovered => None,
        };
        Ok(Self::Fetched(Arc::new(FetchedKeys {
            issuer: config.issuer.clone(),
            url,
            egress: served.bundle().host().sandbox().egress().clone(),
            cached: Mutex::default(),
        })))
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
        let cached = fetched.cached().clone();
        let keys = fitting(&cached.keys);
        let is_usable = cached.are_younger_than(KEYS_STALE_MAX) && !keys.is_empty();
        if is_usable {
            if !cached.are_younger_than(KEYS_AGE_MAX) {
                // No request waits for it.
                let _running = fetched.begin_fetch();
            }
            return Ok(keys);
        }
        // The issuer may have a new key.
        if let Some(mut running) = fetched.begin_fetch() {
            // An error is the end of the attempt.
            let _has_ended = running.changed().await.is_err();
        }
        let cached = fetched.cached().clone();
        if !cached.are_younger_than(KEYS_STALE_MAX) {
            return Err(TokenError::NoKeys);
        }
        Ok(fitting(&cached.keys))
    }
}

impl FetchedKeys {
    fn cached(&self) -> MutexGuard<'_, CachedKeys> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Fetches the keys, unless an attempt began a short time ago. Returns what is closed at the end of the
    /// attempt that runs, if one does. It goes on if requests that wait for it are dropped. If it fails, the
    /// keys stay.
    fn begin_fetch(self: &Arc<Self>) -> Option<watch::Receiver<()>> {
        let mut cached = self.cached();
        if let Some(running) = &cached.running {
            return Some(running.clone());
        }
        let last = cached.attempted;
        if last.is_some_and(|time| time.elapsed() < FETCH_INTERVAL) {
            return None;
        }
        let (ended, running) = watch::channel(());
        cached.attempted = Some(Instant::now());
        cached.running = Some(running.clone());
        drop(cached);
        let source = Arc::clone(self);
        tokio::spawn(async move {
            let fetched = source.fetch().await;
            source.end_fetch(fetched);
            drop(ended);
        });
        Some(running)
    }

    fn end_fetch(&self, fetched: Result<Vec<Key>, FetchError>) {
        let mut cached = self.cached();
        cached.running = None;
        match fetched {
            Ok(keys) => {
                cached.keys = keys.into();
                cached.fetched = Some(Instant::now());
            }
            Err(error) => {
                let issuer = self.issuer.as_str();
                tracing::warn!(issuer, %error, "the keys of the issuer cannot be fetched");
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
        let urls = [
            format!("{origin}/.well-known/oauth-authorization-server{path}"),
            format!("{origin}{path}/.well-known/openid-configuration"),
        ];
        let mut failed = FetchError::Metadata;
        for url in urls {
            match self.get(&url).await {
                Ok(document) => match JSON.parse_bytes::<Metadata>(&document) {
                    // RFC 8414 §3.3.
                    Ok(metadata) if metadata.issuer == self.issuer => {
                        checked_with_query(&metadata.jwks_uri)?;
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
        let origin = HttpOrigin::of_url(url).map_err(|_| not_a_url(url))?;
        // The operator wrote the URL of the issuer, and that of the keys if the metadata do not name it.
        let operators = self.url.as_deref().unwrap_or(&self.issuer);
        let is_named = HttpOrigin::of_url(operators).is_ok_and(|it| it.host == origin.host);
        let client = self.egress.to(OWNER, origin);
        let client = client
            .named_by_operator(is_named)
            .max_bytes(DOCUMENT_BYTES_MAX)
            .time(FETCH_TIMEOUT);
        let request = Request::get(url).header(http::header::ACCEPT, "application/json");
        let request = request.body(Bytes::new()).map_err(|_| not_a_url(url))?;
        let (parts, body) = client.fetch(request).await?.into_parts();
        if parts.status == StatusCode::OK {
            Ok(body)
        } else {
            let (url, status) = (url.to_owned(), parts.status);
            Err(FetchError::Status { url, status })
        }
    }
}

fn not_a_url(url: &str) -> OAuthConfigError {
    OAuthConfigError::Url {
        url: url.to_owned(),
    }
}
