//! Authorizes the client at a server with OAuth: the authorization-code flow with PKCE, and refresh tokens.
//!
//! Requests never wait for a person. A request that is refused with 401, or with 403 for want of a scope, is
//! repeated once if another process has renewed the token or a refresh token renews it. Otherwise it fails
//! with what the server asked for, and the caller may [`OAuth::authorize`].

mod authorizer;
mod check;
mod discovery;
mod egress;
mod flow;
mod record;
mod session;
mod settings;
mod vault;

pub use authorizer::{McpAuthorization, McpAuthorizationRequest, McpAuthorizer};
pub(crate) use session::OAuth;
pub(crate) use settings::OAuthSettings;
