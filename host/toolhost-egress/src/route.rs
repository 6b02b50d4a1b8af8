//! Connects to the server of an allowed request. Every address is checked before it is used.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use toolhost_contract::Denial;
use toolhost_contract::http::{Host, HttpGrant, Origin, Scheme, non_public_block};

use crate::error::RequestError;
use crate::meter::HttpMeter;
use crate::network::Network;

/// Maximum addresses of one name that are tried.
const ADDRESSES_MAX: usize = 8;

/// Where a request goes, and the grant that allows it.
pub(crate) struct Route {
    pub(crate) origin: Origin,
    pub(crate) grant: Arc<HttpGrant>,
    pub(crate) network: Arc<Network>,
    pub(crate) meter: Arc<HttpMeter>,
}

/// A TCP connection, with or without TLS.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Route {
    /// Connects to the server, with TLS for `https`.
    pub(crate) async fn connect(&self, by: Instant) -> Result<Box<dyn Stream>, RequestError> {
        if let Some(server) = self.grant.answered_by {
            return Ok(Box::new(dial(&[server.ip()], server.port(), by).await?));
        }
        let addresses = self.addresses(by).await?;
        let stream = dial(&addresses, self.origin.port, by).await?;
        if self.origin.scheme == Scheme::Http {
            return Ok(Box::new(stream));
        }
        let name = match &self.origin.host {
            Host::Name(name) => ServerName::try_from(name.clone()),
            Host::Address(address) => Ok(ServerName::from(*address)),
        };
        let name = name.map_err(|_| RequestError::UriInvalid)?;
        let config = self.network.tls().ok_or(RequestError::NoTls)?;
        let handshake = TlsConnector::from(config).connect(name, stream);
        let stream = timeout_at(by, handshake).await;
        let stream = stream.map_err(|_| RequestError::ConnectTimeout)?;
        Ok(Box::new(
            stream.map_err(|error| RequestError::of_tls(&error))?,
        ))
    }

    /// Returns the addresses that may be connected to. A name is resolved once, so that the addresses
    /// used are those that were checked.
    async fn addresses(&self, by: Instant) -> Result<Vec<IpAddr>, RequestError> {
        let name = match &self.origin.host {
            // A rule names the address itself.
            Host::Address(address) => return Ok(vec![*address]),
            Host::Name(name) => name,
        };
        let lookups = &self.network.lookups;
        let share = lookups.hold(self.meter.component, 1);
        let share = share.ok_or(RequestError::TooManyConnections)?;
        let (resolver, host) = (Arc::clone(&self.network.resolver), name.clone());
        // A task of its own: the system's resolver cannot be interrupted, and holds its share until
        // it returns.
        let lookup = tokio::spawn(async move {
            let addresses = resolver.resolve(&host).await;
            drop(share);
            addresses
        });
        let addresses = timeout_at(by, lookup).await;
        let addresses = addresses.map_err(|_| RequestError::DnsTimeout)?;
        let addresses = addresses.map_err(|_| RequestError::Closed)?;
        let addresses = addresses.map_err(|_| RequestError::Dns)?;
        let mut allowed = Vec::new();
        let mut denied = None;
        for address in addresses {
            match non_public_block(address) {
                Some(block) if !self.is_granted(name, address) => denied = denied.or(Some(block)),
                Some(_) | None => allowed.push(address),
            }
        }
        allowed.truncate(ADDRESSES_MAX);
        if let (true, Some(block)) = (allowed.is_empty(), denied) {
            let (host, network) = (name.clone(), block.to_string());
            return Err(RequestError::Denied(Denial::HttpNetwork { host, network }));
        }
        Ok(allowed)
    }

    /// Whether a name may resolve to an address that is not public.
    fn is_granted(&self, name: &str, address: IpAddr) -> bool {
        let networks = &self.grant.private_networks;
        (name == "localhost" && address.is_loopback())
            || networks.iter().any(|block| block.contains(address))
    }
}

/// Connects to the first address that accepts. Each gets an equal share of the remaining time.
async fn dial(addresses: &[IpAddr], port: u16, by: Instant) -> Result<TcpStream, RequestError> {
    let mut failed = RequestError::NoAddress;
    for (left, address) in (1..=addresses.len()).rev().zip(addresses) {
        let rest = by.saturating_duration_since(Instant::now());
        let share = rest / u32::try_from(left).unwrap_or(u32::MAX);
        let server = SocketAddr::new(*address, port);
        failed = match timeout(share, TcpStream::connect(server)).await {
            Ok(Ok(stream)) => {
                // A request takes few writes; delaying them would gain nothing.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                RequestError::Refused
            }
            Ok(Err(_)) => RequestError::Unreachable,
            Err(_) => RequestError::ConnectTimeout,
        };
    }
    Err(failed)
}
