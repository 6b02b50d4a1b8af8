//! `wasi:sockets`: no tool is granted sockets or name lookups.

use std::convert::Infallible;

use toolhost_contract::Denial;
use wasmtime::component::{HasData, Resource};
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, IpAddress, IpAddressFamily};
use wasmtime_wasi::p2::{DynPollable, Network, TcpSocket, UdpSocket};

use crate::host::bindings::since_2_0::wasi::sockets::{
    ip_name_lookup, tcp_create_socket, udp_create_socket,
};
use toolhost_contract::Attempts;

/// Selects the denied sockets in a store.
pub(crate) struct HasDeniedSockets;

impl HasData for HasDeniedSockets {
    type Data<'a> = DeniedSockets<'a>;
}

/// Refuses and records each attempt to create a socket or to look up a name.
pub(crate) struct DeniedSockets<'a>(pub(crate) &'a Attempts);

impl DeniedSockets<'_> {
    fn refuse<T>(&self, what: Denial) -> wasmtime::Result<Result<T, ErrorCode>> {
        self.0.deny(what);
        Ok(Err(ErrorCode::AccessDenied))
    }
}

impl tcp_create_socket::Host for DeniedSockets<'_> {
    fn create_tcp_socket(
        &mut self,
        _family: IpAddressFamily,
    ) -> wasmtime::Result<Result<Resource<TcpSocket>, ErrorCode>> {
        self.refuse(Denial::NetworkTcp)
    }
}

impl udp_create_socket::Host for DeniedSockets<'_> {
    fn create_udp_socket(
        &mut self,
        _family: IpAddressFamily,
    ) -> wasmtime::Result<Result<Resource<UdpSocket>, ErrorCode>> {
        self.refuse(Denial::NetworkUdp)
    }
}

impl ip_name_lookup::Host for DeniedSockets<'_> {
    fn resolve_addresses(
        &mut self,
        _network: Resource<Network>,
        _name: String,
    ) -> wasmtime::Result<Result<Resource<Infallible>, ErrorCode>> {
        self.refuse(Denial::NetworkDns)
    }
}

impl ip_name_lookup::HostResolveAddressStream for DeniedSockets<'_> {
    fn resolve_next_address(
        &mut self,
        _stream: Resource<Infallible>,
    ) -> wasmtime::Result<Result<Option<IpAddress>, ErrorCode>> {
        self.refuse(Denial::NetworkDns)
    }

    fn subscribe(
        &mut self,
        _stream: Resource<Infallible>,
    ) -> wasmtime::Result<Resource<DynPollable>> {
        Err(wasmtime::Error::msg("no address stream exists"))
    }

    fn drop(&mut self, _stream: Resource<Infallible>) -> wasmtime::Result<()> {
        Ok(())
    }
}
