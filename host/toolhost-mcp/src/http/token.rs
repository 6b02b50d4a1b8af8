//! Bearer tokens.

use std::sync::{Arc, PoisonError, RwLock};

use data_encoding::BASE64URL_NOPAD;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use subtle::ConstantTimeEq;
use toolhost_runtime::debug_fields;
use zeroize::Zeroizing;

/// Random bytes of a generated token.
const RANDOM_BYTES: usize = 32;

/// A token that a client presents as `Authorization: Bearer …`, and the instance that it stands for.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken {
    token: Zeroizing<String>,
    instance: Option<String>,
}

// Omits the token.
debug_fields!(BearerToken, this => instance: this.instance);

impl BearerToken {
    /// Creates a token that is valid for every instance: the path of the request names it.
    pub fn new(token: impl Into<String>) -> Self {
        Self {
            token: Zeroizing::new(token.into()),
            instance: None,
        }
    }

    /// Limits the token to one instance. A request whose path names another one is refused.
    #[must_use]
    pub fn for_instance(self, key: impl Into<String>) -> Self {
        Self {
            instance: Some(key.into()),
            ..self
        }
    }

    /// Generates a token of 256 random bits, valid for every instance.
    ///
    /// # Errors
    /// If the system provides no random bytes.
    pub fn generate() -> std::io::Result<Self> {
        let mut bytes = [0; RANDOM_BYTES];
        getrandom::fill(&mut bytes).map_err(std::io::Error::other)?;
        Ok(Self::new(BASE64URL_NOPAD.encode(&bytes)))
    }

    /// The token, to be given to clients.
    pub fn as_str(&self) -> &str {
        &self.token
    }

    /// The only instance for which the token is valid. None if it is valid for every instance.
    pub fn instance(&self) -> Option<&str> {
        self.instance.as_deref()
    }
}

/// The valid tokens of a server that runs. They can be replaced; what is open keeps running, and each further request
/// needs a token that is valid then. Cheap to clone: every clone is the same list.
#[derive(Clone)]
pub struct ValidTokens(Arc<RwLock<Vec<BearerToken>>>);

debug_fields!(ValidTokens);

impl ValidTokens {
    pub(super) fn new(tokens: Vec<BearerToken>) -> Self {
        Self(Arc::new(RwLock::new(tokens)))
    }

    /// Replaces all tokens. Without any, a server that began with tokens serves nobody.
    pub fn replace(&self, tokens: Vec<BearerToken>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = tokens;
    }

    /// Returns the valid token that was given. Compares in a time that does not depend on the content.
    pub(super) fn find(&self, presented: &str) -> Option<BearerToken> {
        let tokens = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let is_equal =
            |token: &BearerToken| token.token.as_bytes().ct_eq(presented.as_bytes()).into();
        // All are compared, also after one that is equal.
        let last_equal = |last, token| if is_equal(token) { Some(token) } else { last };
        tokens.iter().fold(None, last_equal).cloned()
    }
}

/// Returns the token that a request presents.
pub(super) fn presented(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, given) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| given.trim())
}
