//! Why an access token is not valid.

use http::StatusCode;

/// Why a token is not valid. The messages are for the client: they contain nothing of the token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TokenError {
    #[error("the token is not a signed JSON Web Token")]
    Malformed,
    #[error("the token's signature algorithm is not accepted: RS256, PS256, ES256 or EdDSA")]
    Algorithm,
    #[error("the token's signature is not one of the issuer's")]
    Signature,
    #[error("the token's issuer is not the authorization server of this resource")]
    Issuer,
    #[error("the token's audience is not this resource")]
    Audience,
    #[error("the token has expired, has no expiry, or is not valid yet")]
    Time,
    #[error("the token has no subject of 1 to 256 bytes")]
    Subject,
    #[error("the token lacks a scope; required: {0}")]
    Scope(String),
    #[error("the keys of the authorization server are not available; try again later")]
    NoKeys,
}

impl TokenError {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Scope(_) => StatusCode::FORBIDDEN,
            Self::NoKeys => StatusCode::SERVICE_UNAVAILABLE,
            Self::Malformed
            | Self::Algorithm
            | Self::Signature
            | Self::Issuer
            | Self::Audience
            | Self::Time
            | Self::Subject => StatusCode::UNAUTHORIZED,
        }
    }

    /// The error code of RFC 6750 §3.1. None if the token may be valid.
    pub(crate) fn code(&self) -> Option<&'static str> {
        match self {
            Self::Scope(_) => Some("insufficient_scope"),
            Self::NoKeys => None,
            Self::Malformed
            | Self::Algorithm
            | Self::Signature
            | Self::Issuer
            | Self::Audience
            | Self::Time
            | Self::Subject => Some("invalid_token"),
        }
    }
}
