//! OAuth tokens for tools.
//!
//! [`OAuth`] keeps the grants of [`OAuthApp`]s in the database of a state root, encrypted. It returns an access
//! token that is valid, or what a person must do to grant one:
//!
//! ```text
//! access_token ─ valid ─────────────────────────────▶ Ready
//!      ├─ expires soon ─ refresh, once per grant ───▶ Ready
//!      └─ none ─ session ▶ AuthorizationRequired ─ a person ─▶ callback, poll_device ─▶ Granted
//! ```
//!
//! By default nothing is open: endpoints are `https` and public, redirects are not followed, tokens are sent
//! to the endpoints of their app alone, and no `Debug` output, error or log record has a secret.

mod oauth;

mod access;
mod code_flow;
mod device;
mod refresh;
mod refusal;
mod revoke;
mod server_credentials;

mod protocol;
mod resolved_app;
mod shared;

mod answer;
mod app;
mod cipher;
mod clock;
mod earlier_file;
mod egress;
mod endpoint;
mod error;
mod key;
mod secret;
mod store;
mod token;

pub use app::{OAuthApp, OAuthAppError};
pub use clock::{Clock, SystemClock};
pub use egress::OAuthEgress;
pub use error::{CallbackError, OAuthError};
pub use key::{OAuthKey, OAuthKeyFile};
pub use oauth::{OAuth, OAuthConfig};
pub use secret::Secret;
pub use server_credentials::{ServerCredentials, ServerLease};
pub use store::OAuthStore;
pub use token::{AccessToken, DevicePoll, GrantInfo, Granted, Revoked, TokenResult};
pub use toolhost_contract::{AuthorizationRequired, OAuthClientAuth, OAuthFlow, SubjectMode};

#[cfg(test)]
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a test names the variant that it expects"
)]
mod tests;
