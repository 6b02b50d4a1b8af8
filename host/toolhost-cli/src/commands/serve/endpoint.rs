//! The URL at which clients reach a server over HTTP, and whether they need a token.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use anyhow::anyhow;

use crate::args::ServeArgs;
use crate::failure::Failure;

/// The endpoint as a client is configured with it.
pub(super) struct Endpoint {
    /// Such as `http://HOST:PORT/mcp`.
    pub(super) url: String,
    /// Whether clients are configured with a token, which they send as `Authorization: Bearer TOKEN`.
    pub(super) needs_token: bool,
}

impl Endpoint {
    /// Returns the endpoint, and None for a server on stdin and stdout.
    ///
    /// With `--oauth-resource` it is that URL, and clients get a token by signing in. Else its host is the first of
    /// `--allow-host`, or the address; 127.0.0.1 or `[::1]` in place of an address that
    /// means every address of the machine, to which no client can connect.
    pub(super) fn of(args: &ServeArgs) -> Result<Option<Self>, Failure> {
        let Some(address) = args.http else {
            return Ok(None);
        };
        if let Some(resource) = &args.oauth_resource {
            return Ok(Some(Self {
                url: resource.clone(),
                needs_token: false,
            }));
        }
        let port = address.port();
        if port == 0 {
            let error =
                anyhow!("the configuration of a client needs the port of `--http {address}`");
            return Err(Failure::from(error).hint("Name a port, such as --http 127.0.0.1:8484."));
        }
        let host = match args.allow_host.first() {
            Some(name) if has_port(name) => name.clone(),
            Some(name) => format!("{name}:{port}"),
            None => SocketAddr::new(reachable(address.ip()), port).to_string(),
        };
        Ok(Some(Self {
            url: format!("http://{host}/mcp"),
            needs_token: args.tokens.is_some() || !address.ip().is_loopback(),
        }))
    }
}

fn has_port(name: &str) -> bool {
    let port = name.rsplit_once(':').map(|(_, port)| port);
    port.is_some_and(|port| port.parse::<u16>().is_ok())
}

fn reachable(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        address @ (IpAddr::V4(_) | IpAddr::V6(_)) => address,
    }
}
