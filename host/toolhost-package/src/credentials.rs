//! Credentials for registries.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use docker_credential::{CredentialRetrievalError, DockerCredential};
use toolhost_files::{Links, ReadError, read_named};

/// Largest configuration file of Docker, in bytes.
const CONFIG_MAX: u64 = 1 << 20;

/// Docker Hub in Docker's configuration.
const DOCKER_HUB: &str = "https://index.docker.io/v1/";

/// A credential for a registry.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Credential {
    /// A user and a password or token.
    Password {
        /// The user.
        user: String,
        /// The password.
        password: String,
    },
    /// A token that the registry's token server exchanges for another one.
    IdentityToken(String),
}

/// Omits the secret.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Password { user, .. } => f
                .debug_struct("Password")
                .field("user", user)
                .finish_non_exhaustive(),
            Self::IdentityToken(_) => f.debug_tuple("IdentityToken").finish_non_exhaustive(),
        }
    }
}

/// Finds the credential for a registry.
pub trait Credentials: fmt::Debug + Send + Sync + 'static {
    /// Returns the credential for the host of a registry, with its port if it has one. Returns none if there is none.
    /// May block: it runs on a thread of its own.
    ///
    /// # Errors
    /// Why it cannot be read, without secrets.
    fn find(&self, registry: &str) -> Result<Option<Credential>, String>;
}

/// No credentials: every request is anonymous.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCredentials;

impl Credentials for NoCredentials {
    fn find(&self, _registry: &str) -> Result<Option<Credential>, String> {
        Ok(None)
    }
}

/// The credentials in Docker's configuration file, or those that the helper programs give that it names.
#[derive(Debug, Clone)]
pub struct DockerConfig {
    path: PathBuf,
}

impl DockerConfig {
    /// Reads this file, `~/.docker/config.json`, whenever a registry asks for credentials. There are none if it does
    /// not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    fn read(&self) -> Result<Option<Vec<u8>>, String> {
        match read_named(&self.path, Links::Follow, CONFIG_MAX) {
            Ok(bytes) => Ok(Some(bytes)),
            // A link to a file that does not exist is an error.
            Err(ReadError::NotFound) if fs::symlink_metadata(&self.path).is_err() => Ok(None),
            Err(error) => Err(format!("{}: {error}", self.path.display())),
        }
    }
}

impl Credentials for DockerConfig {
    fn find(&self, registry: &str) -> Result<Option<Credential>, String> {
        let Some(config) = self.read()? else {
            return Ok(None);
        };
        let name = match registry {
            "docker.io" => DOCKER_HUB,
            other => other,
        };
        match docker_credential::get_credential_from_reader(&*config, name) {
            Ok(DockerCredential::UsernamePassword(user, password)) => {
                Ok(Some(Credential::Password { user, password }))
            }
            Ok(DockerCredential::IdentityToken(token)) => {
                Ok(Some(Credential::IdentityToken(token)))
            }
            Err(CredentialRetrievalError::NoCredentialConfigured) => Ok(None),
            Err(error) => Err(reason(&error, &self.path)),
        }
    }
}

/// The reason without what a helper program printed, which may be a secret.
fn reason(error: &CredentialRetrievalError, path: &Path) -> String {
    let path = path.display();
    match error {
        CredentialRetrievalError::HelperFailure { helper, .. } => {
            format!("{path} names the program {helper}, which failed")
        }
        CredentialRetrievalError::HelperCommunicationError => {
            format!("{path} names a program for credentials, which could not be run")
        }
        CredentialRetrievalError::MalformedHelperResponse
        | CredentialRetrievalError::CredentialDecodingError
        | CredentialRetrievalError::CredentialMismatchError
        | CredentialRetrievalError::NoCredentialConfigured
        | CredentialRetrievalError::ConfigNotFound
        | CredentialRetrievalError::ConfigReadError => format!("{path}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_those_of_the_registry_and_its_port() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        // "me:pass" and "hub:secret".
        let config = r#"{"auths": {"ghcr.io": {"auth": "bWU6cGFzcw=="}, "https://index.docker.io/v1/": {"auth": "aHViOnNlY3JldA=="}}}"#;
        std::fs::write(&path, config).unwrap();
        let docker = DockerConfig::new(&path);
        let password = |user: &str, password: &str| {
            Some(Credential::Password {
                user: user.to_owned(),
                password: password.to_owned(),
            })
        };
        assert_eq!(docker.find("ghcr.io").unwrap(), password("me", "pass"));
        assert_eq!(docker.find("docker.io").unwrap(), password("hub", "secret"));
        assert_eq!(docker.find("ghcr.io:444").unwrap(), None);
        assert_eq!(docker.find("example.com").unwrap(), None);
        assert!(!format!("{:?}", docker.find("ghcr.io")).contains("pass"));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error_and_a_missing_one_holds_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        assert_eq!(DockerConfig::new(&path).find("ghcr.io").unwrap(), None);
        std::fs::write(&path, "{").unwrap();
        assert!(
            DockerConfig::new(&path)
                .find("ghcr.io")
                .unwrap_err()
                .contains("config.json")
        );
        std::fs::write(&path, vec![b' '; (CONFIG_MAX + 1) as usize]).unwrap();
        assert!(
            DockerConfig::new(&path)
                .find("ghcr.io")
                .unwrap_err()
                .contains("larger")
        );
    }

    #[test]
    fn only_a_name_that_nothing_has_holds_no_credentials() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::os::unix::fs::symlink("nothing", &path).unwrap();
        assert!(DockerConfig::new(&path).find("ghcr.io").is_err());
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let reason = DockerConfig::new(&path).find("ghcr.io").unwrap_err();
        assert!(reason.contains("not a regular file"), "{reason}");
    }
}
