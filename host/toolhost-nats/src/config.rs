//! Which server is used, and how.

use std::fmt;
use std::time::Duration;

use async_nats::ServerAddr;
use zeroize::Zeroizing;

use crate::names::is_tenant;

/// Copies of stored data that NATS allows.
const REPLICAS: std::ops::RangeInclusive<usize> = 1..=5;

/// The servers, and what is kept on them.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NatsConfig {
    /// URLs of servers of one cluster: `nats://host`, `tls://host` or `host`, each with `:port` unless it is 4222, and
    /// without credentials.
    pub url: Vec<String>,
    /// How this client proves who it is. Default: not at all.
    pub auth: NatsAuth,
    /// Whether connections without TLS are refused. They are if one URL begins with `tls://`, and if the server asks for
    /// TLS. Default: false.
    pub tls: bool,
    /// Certificates in PEM that may sign those of the servers. Default: those of Mozilla.
    pub ca: Option<String>,
    /// Certificate in PEM that a server asks of its clients, with its chain. Default: none.
    pub certificate: Option<String>,
    /// Private key in PEM of `certificate`.
    pub key: Option<NatsSecret>,
    /// Part of the names of all streams, buckets and subjects: 1 to 32 of `a` to `z`, digits and `-`. Hosts and workers with
    /// different tenants do not see each other. Default: `default`.
    pub tenant: String,
    /// Servers that store each message: 1 to 5. One server cannot be stopped without a pause; three can lose one. Default: 1.
    pub replicas: usize,
    /// Calls that wait for workers or run on them. Further ones are refused as [`CarrierError::Full`]. The process that
    /// connects last sets it. Default: 1,000,000.
    ///
    /// [`CarrierError::Full`]: toolhost::fleet::CarrierError::Full
    pub max_calls: u32,
    /// Longest time that one attempt to connect takes. Default: 5 s.
    pub connect_timeout: Duration,
}

/// How a client proves to a server who it is.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum NatsAuth {
    /// Not at all.
    #[default]
    Open,
    /// The text of a credentials file (`.creds`): a JWT and its nkey.
    Credentials(NatsSecret),
    /// The seed of an nkey: `SU…`.
    Nkey(NatsSecret),
    /// A user and a password.
    Password {
        /// The user.
        user: String,
        /// The password.
        password: NatsSecret,
    },
    /// A token.
    Token(NatsSecret),
}

/// A text that is never printed, and is wiped from memory when it is dropped. The copy of the library that connects is not.
#[derive(Clone)]
pub struct NatsSecret(Zeroizing<String>);

impl NatsConfig {
    /// The default configuration for servers, whose URLs are separated by commas.
    pub fn new(url: &str) -> Self {
        Self {
            url: url.split(',').map(|url| url.trim().to_owned()).collect(),
            auth: NatsAuth::Open,
            tls: false,
            ca: None,
            certificate: None,
            key: None,
            tenant: "default".to_owned(),
            replicas: 1,
            max_calls: 1_000_000,
            connect_timeout: Duration::from_secs(5),
        }
    }

    /// Returns the addresses of the servers, or the key of a value that is invalid and what is wrong with it.
    pub(crate) fn servers(&self) -> Result<Vec<ServerAddr>, (&'static str, String)> {
        let invalid = |key, reason: &str| Err((key, reason.to_owned()));
        if !is_tenant(&self.tenant) {
            return invalid(
                "tenant",
                "must have 1 to 32 of the letters 'a' to 'z', digits and '-'",
            );
        }
        if !REPLICAS.contains(&self.replicas) {
            return invalid("replicas", "must be 1 to 5");
        }
        if self.max_calls == 0 {
            return invalid("max_calls", "must be at least 1");
        }
        if self.connect_timeout.is_zero() {
            return invalid("connect_timeout", "must be more than 0");
        }
        if self.certificate.is_some() != self.key.is_some() {
            return invalid("certificate", "needs 'key', and 'key' needs it");
        }
        if self.url.is_empty() {
            return invalid("url", "names no server");
        }
        let servers = self.url.iter().map(|url| server(url));
        servers
            .collect::<Result<_, _>>()
            .map_err(|reason| ("url", reason))
    }
}

impl NatsSecret {
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for NatsSecret {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl fmt::Debug for NatsSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NatsSecret(…)")
    }
}

/// Parses the URL of a server. The reason does not repeat it, as it may have a password.
fn server(url: &str) -> Result<ServerAddr, String> {
    if url.contains('@') {
        return Err("must not have credentials: 'auth' has them".to_owned());
    }
    match url.parse::<ServerAddr>() {
        Ok(server) if server.host().is_empty() => Err("has a server without a host".to_owned()),
        Ok(server) if matches!(server.scheme(), "nats" | "tls") => Ok(server),
        Ok(_) | Err(_) => Err("must be nats://host:port or tls://host:port".to_owned()),
    }
}
