//! Bearer tokens.

use data_encoding::BASE64URL_NOPAD;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use zeroize::Zeroizing;

/// Random bytes of a generated token.
const RANDOM_BYTES: usize = 32;

/// A token that a client presents as `Authorization: Bearer …`, and the instance that it stands for.
#[derive(Clone, PartialEq, Eq)]
pub struct BearerToken {
    token: Zeroizing<String>,
    instance: Option<String>,
}

/// Omits the token.
impl std::fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BearerToken")
            .field("instance", &self.instance)
            .finish_non_exhaustive()
    }
}

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
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.token
    }

    pub(super) fn instance(&self) -> Option<&str> {
        self.instance.as_deref()
    }
}

/// Returns the token that a request presents, of those that are valid. Compares in a time that does not
/// depend on the content.
pub(super) fn presented<'a>(
    headers: &HeaderMap,
    tokens: &'a [BearerToken],
) -> Option<&'a BearerToken> {
    let header = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, given) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let given = given.trim().as_bytes();
    let mut found = None;
    for token in tokens {
        if equal(given, token.token.as_bytes()) {
            found = Some(token);
        }
    }
    found
}

fn equal(left: &[u8], right: &[u8]) -> bool {
    let differing = left.iter().zip(right).fold(0, |all, (a, b)| all | (a ^ b));
    left.len() == right.len() && std::hint::black_box(differing) == 0
}
