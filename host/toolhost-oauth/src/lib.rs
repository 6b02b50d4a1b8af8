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

mod app;
mod error;
mod key;
mod oauth;
mod secret;
mod token;

pub use app::{OAuthApp, OAuthAppError, OAuthClientAuth, OAuthFlow, SubjectMode};
pub use error::{CallbackError, OAuthError};
pub use key::{OAuthKey, OAuthKeyFile};
pub use oauth::{Clock, OAuth, OAuthConfig, OAuthEgress, OAuthStore, SystemClock};
pub use secret::Secret;
pub use token::{AccessToken, AuthorizationRequired, DevicePoll, GrantInfo, Granted, TokenResult};
