//! How PostgreSQL is reached.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use tokio_postgres::config::{Host, SslMode};

use super::tls;
use crate::error::StoreError;

/// Options of an address that are understood.
const OPTIONS: [&str; 5] = [
    "application_name",
    "connect_timeout",
    "sslmode",
    "sslrootcert",
    "target_session_attrs",
];

/// The default schema.
const SCHEMA: &str = "toolhost";

/// Longest name in PostgreSQL, in bytes.
const NAME_MAX: usize = 63;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// When a connection counts as broken on which nothing arrives: the kernel asks after 10 s, three times.
const IDLE: Duration = Duration::from_secs(10);
const PROBE: Duration = Duration::from_secs(3);
const PROBES: u32 = 3;

/// How PostgreSQL is reached: an address, a password, and the schema of the tables. Shown without the password.
#[derive(Clone)]
pub struct PostgresConfig {
    pub(crate) driver: tokio_postgres::Config,
    /// None: the connection is not encrypted.
    pub(super) tls: Option<Arc<ClientConfig>>,
    pub(super) schema: String,
    name: String,
}

impl fmt::Debug for PostgresConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresConfig")
            .field("name", &self.name)
            .field("schema", &self.schema)
            .field("tls", &self.tls.is_some())
            .finish_non_exhaustive()
    }
}

impl PostgresConfig {
    /// Reads an address: `postgres://user@host:5432/database?sslmode=verify-full`. A host `%2Frun%2Fpostgresql` is the
    /// directory of a Unix socket.
    ///
    /// - `sslmode`: `verify-full` (the default, but for sockets) encrypts, and checks the certificate and its name;
    ///   `disable` does not encrypt. No others.
    /// - `sslrootcert`: a file of the authorities' certificates in PEM. Default: Mozilla's list.
    /// - `application_name`, `connect_timeout` (seconds, default 5), `target_session_attrs`: as PostgreSQL has them.
    ///
    /// # Errors
    /// [`StoreError::Settings`] where it is no such address, or has other options. The text does not quote the address.
    pub fn parse(url: &str) -> Result<Self, StoreError> {
        let wrong = |text: &str| StoreError::Settings(text.to_owned());
        if !["postgres://", "postgresql://"]
            .iter()
            .any(|it| url.starts_with(it))
        {
            return Err(wrong("the URL begins with postgres://"));
        }
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        // The driver takes what follows the first one for the host, which errors name.
        if address.matches('@').count() > 1 {
            return Err(wrong(
                "the URL has more than one @: write @ in a password as %40",
            ));
        }
        let (mut kept, mut mode, mut roots) = (Vec::new(), None, None);
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            match key {
                "sslmode" => mode = Some(value),
                "sslrootcert" => roots = Some(decode(value)),
                _ if OPTIONS.contains(&key) => kept.push(option),
                _ => {
                    let known = OPTIONS.join(", ");
                    return Err(StoreError::Settings(format!(
                        "the URL has an option that is none of {known}; the characters '?' and '&' of a password are \
                         written as %3F and %26"
                    )));
                }
            }
        }
        let rest = format!("{address}?{}", kept.join("&"));
        let driver = rest.parse::<tokio_postgres::Config>();
        // The error of the driver may quote what it did not understand.
        let mut driver =
            driver.map_err(|_| wrong("the URL is not postgres://user@host:5432/database"))?;
        let (Some(user), Some(database)) = (driver.get_user(), driver.get_dbname()) else {
            return Err(wrong(
                "the URL names a user and a database: postgres://user@host:5432/database",
            ));
        };
        let (is_socket, host) = match driver.get_hosts() {
            [Host::Tcp(host)] if host.contains('@') => {
                return Err(wrong(
                    "the URL has a host with @: write @ in a password as %40",
                ));
            }
            [Host::Tcp(host)] => (false, host.clone()),
            [Host::Unix(dir)] => (true, dir.display().to_string()),
            _ => return Err(wrong("the URL names one host")),
        };
        let port = driver.get_ports().first().copied().unwrap_or(5432);
        let name = format!("postgres://{user}@{host}:{port}/{database}");
        let tls = match (mode, is_socket) {
            (None, true) | (Some("disable"), _) => None,
            (None | Some("verify-full"), _) => Some(tls::config(roots.as_deref().map(Path::new))?),
            (Some(_), _) => {
                return Err(wrong(
                    "`sslmode` is verify-full or disable: others encrypt without looking at the certificate",
                ));
            }
        };
        let ssl = if tls.is_some() {
            SslMode::Require
        } else {
            SslMode::Disable
        };
        driver.ssl_mode(ssl);
        if driver.get_connect_timeout().is_none() {
            driver.connect_timeout(CONNECT_TIMEOUT);
        }
        if driver.get_application_name().is_none() {
            driver.application_name("toolhost");
        }
        driver
            .keepalives_idle(IDLE)
            .keepalives_interval(PROBE)
            .keepalives_retries(PROBES)
            .tcp_user_timeout(IDLE + PROBE * PROBES);
        let schema = SCHEMA.to_owned();
        Ok(Self {
            driver,
            tls,
            schema,
            name,
        })
    }

    /// Sets the password, in the place of the address's.
    #[must_use]
    pub fn with_password(mut self, password: impl AsRef<[u8]>) -> Self {
        self.driver.password(password);
        self
    }

    /// Sets the schema of the tables: hosts with the same schema share their state. Default: `toolhost`.
    ///
    /// # Errors
    /// [`StoreError::Settings`] unless it has 1 to 63 of a–z, 0–9 and `_`, and begins with a letter.
    pub fn with_schema(mut self, schema: &str) -> Result<Self, StoreError> {
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let begins = schema
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_lowercase());
        if !begins || !schema.bytes().all(is_name) || schema.len() > NAME_MAX {
            let text = "a schema has 1 to 63 of a-z, 0-9 and _, and begins with a letter";
            return Err(StoreError::Settings(text.to_owned()));
        }
        schema.clone_into(&mut self.schema);
        Ok(self)
    }

    /// Returns the address, without a password.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Decodes `%2F` and the like.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *byte == b'%');
        let code = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(code) => {
                bytes.push(code);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
