//! The tokens of users for tools, which no tool sees: see [`OAuth`].
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use toolhost::oauth::{OAuth, OAuthConfig, OAuthEgress, OAuthKeyFile, OAuthStore};
//! use toolhost::{Host, Policy, Sandbox, SandboxConfig, ToolCall, TurnStart};
//!
//! let (root, policy) = ("/var/lib/agent", std::fs::read_to_string("/etc/agent/policy.yaml")?);
//! let policy = Policy::parse(&policy, "policy.yaml")?;
//! let sandbox = Sandbox::new(SandboxConfig::default())?;
//! let mut egress = OAuthEgress::new(sandbox.egress().clone());
//! egress.private_networks = policy.oauth_networks();
//! let key = Arc::new(OAuthKeyFile::new("/var/lib/agent/oauth.key"));
//! let oauth = OAuth::open(OAuthConfig::new(OAuthStore::open(root.as_ref())?, key, egress))?;
//! let host = Host::builder().sandbox(sandbox).policy(policy).state_root(root);
//! let host = host.oauth(oauth).build()?;
//!
//! let bundle = host.load("bundle").await?;
//! let instance = bundle.only_agent()?.instance("user-1", host.workdir("/srv/project")?);
//! let turn = instance.open_turn(TurnStart::new("turn-1").with_subject("ada")).await?;
//! let step = turn.open_step().await?;
//! let call = ToolCall::new("call_1", "issues__list", Default::default());
//! let result = step.execute_without_message(call).await;
//! for notice in step.notices() {
//!     println!("{} {}", notice.message, notice.authorization_url); // for the user
//! }
//! // In the handler of the redirect URL of the runtime's own server:
//! let granted = bundle.oauth_callback("code=…&state=…").await?;
//! # let _ = (result, granted);
//! # Ok(())
//! # }
//! ```

pub(crate) mod granted;

pub(crate) use granted::OAuthUse;
pub use granted::{LOOPBACK_PORT, granted_app};
pub use toolhost_contract::{AuthorizationRequired, OAuthClientAuth, OAuthFlow, SubjectMode};
pub use toolhost_oauth::{
    AccessToken, CallbackError, Clock, DevicePoll, GrantInfo, Granted, OAuth, OAuthApp,
    OAuthConfig, OAuthEgress, OAuthError, OAuthKey, OAuthKeyFile, OAuthStore, Revoked, Secret,
    ServerCredentials, ServerLease, SystemClock, TokenResult,
};
