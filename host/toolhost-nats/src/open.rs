//! Opens the connection to a server.

use std::sync::Arc;
use std::time::Duration;

use async_nats::rustls::crypto::ring;
use async_nats::rustls::pki_types::pem::PemObject as _;
use async_nats::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use async_nats::rustls::{ClientConfig, RootCertStore};
use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, ServerAddr};
use tokio::sync::watch;
use toolhost::fleet::CarrierError;

use crate::config::{NatsAuth, NatsConfig};

/// Time after which a server that answers no ping is taken for lost: twice.
const PING: Duration = Duration::from_secs(5);

/// Longest pause between two attempts to connect.
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// Why a carrier cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NatsError {
    /// A value of the configuration is invalid.
    #[error("'{key}' {reason}")]
    Config {
        /// The field of [`NatsConfig`].
        key: &'static str,
        /// What is wrong with the value, without the value.
        reason: String,
    },
    /// No server answers, or TLS fails.
    #[error(
        "no NATS server can be used at {servers} ({reason}): start one with `nats-server --jetstream`, or correct 'url'"
    )]
    Unreachable {
        /// The servers.
        servers: String,
        /// What failed.
        reason: String,
    },
    /// The server refuses the credentials.
    #[error("the NATS server at {servers} refuses the credentials: correct 'auth'")]
    Credentials {
        /// The servers.
        servers: String,
    },
    /// The system has no thread for the connection.
    #[error("the system has no thread for the connection")]
    Thread(#[source] std::io::Error),
    /// Its streams and buckets cannot be made.
    #[error(transparent)]
    Carrier(#[from] CarrierError),
}

/// State of the connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    pub(crate) state: LinkState,
    /// How often it was connected again.
    pub(crate) epoch: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkState {
    Up,
    Down,
    /// For good.
    Closed,
}

/// Connects. The connection is restored for ever afterwards.
pub(crate) async fn open(
    config: &NatsConfig,
) -> Result<(Client, watch::Receiver<Link>), NatsError> {
    let invalid = |(key, reason)| NatsError::Config { key, reason };
    let servers = config.servers().map_err(invalid)?;
    let first = Link {
        state: LinkState::Up,
        epoch: 0,
    };
    let (sender, link) = watch::channel(first);
    // Also for the servers that the first one names.
    let tls_only = config.tls || servers.iter().any(ServerAddr::tls_required);
    let options = authenticated(&config.auth)
        .map_err(invalid)?
        .name("toolhost")
        .require_tls(tls_only)
        .tls_client_config(tls(config).map_err(invalid)?)
        .connection_timeout(config.connect_timeout)
        .ping_interval(PING)
        .max_reconnects(None)
        .reconnect_delay_callback(pause)
        .event_callback(move |event| {
            follow(&sender, &event);
            async {}
        });
    let connected = options.connect(servers).await;
    let client = connected.map_err(|error| {
        let servers = config.url.join(", ");
        let is_refused = matches!(
            error.kind(),
            ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation
        );
        if is_refused {
            return NatsError::Credentials { servers };
        }
        let reason = error.to_string();
        NatsError::Unreachable { servers, reason }
    })?;
    Ok((client, link))
}

/// Returns how long the attempt with this number waits. The first is number 1.
fn pause(attempt: usize) -> Duration {
    let doublings = u32::try_from(attempt.saturating_sub(2)).unwrap_or(u32::MAX);
    if attempt <= 1 {
        Duration::ZERO
    } else {
        Duration::from_millis(20)
            .saturating_mul(2_u32.saturating_pow(doublings))
            .min(PAUSE_MAX)
    }
}

fn follow(link: &watch::Sender<Link>, event: &Event) {
    let state = match event {
        Event::Connected => LinkState::Up,
        Event::Disconnected => LinkState::Down,
        Event::Closed => LinkState::Closed,
        Event::ServerError(_) | Event::ClientError(_) => {
            tracing::warn!(%event, "the connection to NATS has an error");
            return;
        }
        Event::LameDuckMode | Event::Draining | Event::SlowConsumer(_) => return,
    };
    tracing::debug!(%event, "the connection to NATS changes");
    link.send_if_modified(|link| {
        let changes = link.state != state && link.state != LinkState::Closed;
        if changes {
            link.state = state;
            link.epoch += u64::from(state == LinkState::Up);
        }
        changes
    });
}

fn authenticated(auth: &NatsAuth) -> Result<ConnectOptions, (&'static str, String)> {
    Ok(match auth {
        NatsAuth::Open => ConnectOptions::new(),
        NatsAuth::Credentials(text) => {
            let options = ConnectOptions::with_credentials(text.expose());
            // The error may repeat the text.
            options.map_err(|_| {
                let reason = "has no text of a credentials file, with a JWT and an nkey";
                ("auth", reason.to_owned())
            })?
        }
        NatsAuth::Nkey(seed) => ConnectOptions::with_nkey(seed.expose().to_owned()),
        NatsAuth::Password { user, password } => {
            let password = password.expose().to_owned();
            ConnectOptions::with_user_and_password(user.clone(), password)
        }
        NatsAuth::Token(token) => ConnectOptions::with_token(token.expose().to_owned()),
    })
}

/// Makes the configuration of TLS here: the library would take the process's default cryptography, and panic without one.
fn tls(config: &NatsConfig) -> Result<ClientConfig, (&'static str, String)> {
    let invalid = |key, reason: &str| (key, reason.to_owned());
    let mut roots = RootCertStore::empty();
    match &config.ca {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(ca) => {
            for certificate in certificates(ca).map_err(|reason| ("ca", reason))? {
                let added = roots.add(certificate);
                added.map_err(|_| invalid("ca", "has a certificate that signs no others"))?;
            }
        }
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| ("tls", error.to_string()))?
        .with_root_certificates(roots);
    let (Some(certificate), Some(key)) = (&config.certificate, &config.key) else {
        return Ok(builder.with_no_client_auth());
    };
    let certificate = certificates(certificate).map_err(|reason| ("certificate", reason))?;
    let key = PrivateKeyDer::from_pem_slice(key.expose().as_bytes())
        .map_err(|_| invalid("key", "is not a private key in PEM"))?;
    let with_key = builder.with_client_auth_cert(certificate, key);
    with_key.map_err(|_| invalid("key", "is not the key of 'certificate'"))
}

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match certificates {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) | Err(_) => Err("has no certificates in PEM".to_owned()),
    }
}
