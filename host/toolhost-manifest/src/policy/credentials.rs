//! The credentials of a call, and what provides them.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use toolhost_contract::{Grants, HttpCredential, ResourceName};

use crate::command::is_variable_name;

/// Minimum length of a secret, in characters.
pub(super) const SECRET_MIN: usize = 4;

/// Why a provider has no credentials for a call. The host logs it without the secrets that it knows;
/// the model reads `E_HOST` without the reason.
pub type CredentialProviderError = Box<dyn std::error::Error + Send + Sync>;

/// Provides the secrets of calls. [`Policy`](crate::Policy), the default, provides those that it names,
/// which were read when the policy was parsed. Another provider may fetch and renew tokens; to provide
/// the policy's secrets as well, it starts with
/// [`Policy::resolve_credentials`](crate::Policy::resolve_credentials).
///
/// An implementation must keep this:
///
/// - [`Self::credentials`] is called once for each run of a component, before it starts: for a call that
///   passed admission and validation, and for each poll or cancellation of a pending call. It must not
///   block; work that waits belongs in [`CredentialResponse::Later`].
/// - Calls of one agent, and of several, ask at the same time.
/// - A call may be dropped at any time. Dropping the future must stop the work.
///
/// The host redacts every secret that it got, in all later results, errors and logs, as long as the host
/// exists. It keeps a copy of each for that, and each makes redaction slower: provide the same secret to
/// many calls rather than a new one to each.
pub trait CredentialProvider: Send + Sync + 'static {
    /// Provides the credentials of one call of an agent's tool.
    fn credentials(&self, agent: &str, tool: &ResourceName) -> CredentialResponse;
}

/// What [`CredentialProvider::credentials`] returns.
pub enum CredentialResponse {
    /// The credentials; [`Credentials::default`] if the call gets none.
    Ready(Credentials),
    /// A future of the credentials. The call waits for it, without a deadline of its own. If it returns
    /// an error, the call fails with `E_HOST`, and its component does not run.
    Later(Pin<Box<dyn Future<Output = Result<Credentials, CredentialProviderError>> + Send>>),
}

/// The secrets of one call.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    pub(super) env: Vec<(String, String)>,
    pub(super) http: Vec<HttpCredential>,
}

/// Why a credential cannot be given to a call. No message quotes the secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// The name of the environment variable is invalid.
    #[error("the name of an environment variable must not be empty, nor contain '=' or NUL")]
    Name,
    /// The secret contains a NUL character.
    #[error("an environment variable cannot contain a NUL character")]
    Nul,
    /// The secret is too short.
    #[error(
        "a secret must have at least {SECRET_MIN} characters: redacting a shorter one would change ordinary words"
    )]
    Short,
}

/// Checks the name of an environment variable.
pub(super) fn check_name(name: &str) -> Result<(), CredentialError> {
    is_variable_name(name)
        .then_some(())
        .ok_or(CredentialError::Name)
}

/// Checks the value of an environment variable.
pub(super) fn check_value(value: &str) -> Result<(), CredentialError> {
    let is_valid = !value.contains('\0');
    is_valid.then_some(()).ok_or(CredentialError::Nul)
}

/// Checks the length of a secret.
pub(super) fn check_length(secret: &str) -> Result<(), CredentialError> {
    let is_valid = secret.chars().count() >= SECRET_MIN;
    is_valid.then_some(()).ok_or(CredentialError::Short)
}

/// Shows only the names.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.secrets().map(|(name, _)| name);
        f.debug_set().entries(names).finish()
    }
}

impl Credentials {
    /// Adds a secret environment variable. It replaces a variable of the policy of the same name.
    ///
    /// # Errors
    /// [`CredentialError`] if the name or the secret is invalid.
    pub fn with_env(mut self, name: &str, secret: &str) -> Result<Self, CredentialError> {
        check_name(name)?;
        check_value(secret)?;
        check_length(secret)?;
        self.env.retain(|(variable, _)| variable != name);
        self.env.push((name.to_owned(), secret.to_owned()));
        Ok(self)
    }

    /// Adds a header that the host sets on HTTP requests. It has no effect if the policy allows the tool
    /// no HTTP requests.
    ///
    /// # Errors
    /// [`CredentialError::Short`] if the secret is too short.
    pub fn with_http(mut self, credential: HttpCredential) -> Result<Self, CredentialError> {
        check_length(credential.secret())?;
        self.http.push(credential);
        Ok(self)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.env.is_empty() && self.http.is_empty()
    }

    /// Lists the secrets, each with the name that replaces it in redacted texts.
    pub fn secrets(&self) -> impl Iterator<Item = (&str, &str)> {
        let env = self.env.iter();
        let env = env.map(|(name, secret)| (name.as_str(), secret.as_str()));
        env.chain(
            self.http
                .iter()
                .map(|credential| (credential.name(), credential.secret())),
        )
    }

    /// Adds them to the grants of a call.
    pub fn add_to(self, grants: &mut Grants) {
        if !self.env.is_empty() {
            let is_replaced = |name: &String| self.env.iter().any(|(own, _)| own == name);
            grants.env.retain(|(name, _)| !is_replaced(name));
            grants.env.extend(self.env);
            grants.env.sort();
        }
        if let Some(http) = grants.http.as_mut().filter(|_| !self.http.is_empty()) {
            Arc::make_mut(http).credentials.extend(self.http);
        }
    }
}
