//! Everything a guest may import, linked once: granted or not. What is not granted fails inside the
//! call and is recorded.

mod outgoing_request;

use std::sync::Arc;

use toolhost_contract::Denial;
use wasmtime::Engine;
use wasmtime::component::{HasData, Linker, Resource};
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::p2::bindings::{cli, random, sockets};
use wasmtime_wasi::p2::{DynPollable, Network, TcpSocket, UdpSocket};
use wasmtime_wasi::random::{WasiRandom, WasiRandomView};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView};
use wasmtime_wasi_http::p2::bindings::http;
use wasmtime_wasi_http::{WasiHttp, WasiHttpCtxView};

use crate::accounting::meter::Meter;
use crate::accounting::output::LogLevel;
use crate::call::store_data::CallState;
use crate::host::bindings::since_2_0::wasi::sockets::{
    ip_name_lookup, tcp_create_socket, udp_create_socket,
};
use crate::host::bindings::{agents as agents_import, filesystem, logging};
use crate::host::filesystem::{FilesystemView, HasFilesystem};
use crate::sync::lock;

use crate::host::agents::{Agents, HasAgents};

/// Links every import the host serves.
pub(crate) fn link(engine: &Engine) -> wasmtime::Result<Linker<CallState>> {
    let mut linker = Linker::<CallState>::new(engine);
    let l = &mut linker;

    wasmtime_wasi::p2::add_to_linker_proxy_interfaces_async(l)?;
    cli::exit::add_to_linker::<CallState, WasiCli>(l, CallState::cli)?;
    cli::environment::add_to_linker::<CallState, WasiCli>(l, CallState::cli)?;
    cli::terminal_input::add_to_linker::<CallState, WasiCli>(l, CallState::cli)?;
    cli::terminal_output::add_to_linker::<CallState, WasiCli>(l, CallState::cli)?;
    cli::terminal_stdin::add_to_linker::<CallState, WasiCli>(l, CallState::cli)?;
    cli::terminal_stdout::add_to_linker::<CallState, WasiCli>(l, CallState::cli)?;
    cli::terminal_stderr::add_to_linker::<CallState, WasiCli>(l, CallState::cli)?;
    random::insecure::add_to_linker::<CallState, WasiRandom>(l, CallState::random)?;
    random::insecure_seed::add_to_linker::<CallState, WasiRandom>(l, CallState::random)?;

    sockets::instance_network::add_to_linker::<CallState, WasiSockets>(l, CallState::sockets)?;
    let options = sockets::network::LinkOptions::default();
    sockets::network::add_to_linker::<CallState, WasiSockets>(l, &options, CallState::sockets)?;
    sockets::tcp::add_to_linker::<CallState, WasiSockets>(l, CallState::sockets)?;
    sockets::udp::add_to_linker::<CallState, WasiSockets>(l, CallState::sockets)?;
    tcp_create_socket::add_to_linker::<CallState, HasNoNetwork>(l, no_network)?;
    udp_create_socket::add_to_linker::<CallState, HasNoNetwork>(l, no_network)?;
    ip_name_lookup::add_to_linker::<CallState, HasNoNetwork>(l, no_network)?;

    filesystem::types::add_to_linker::<CallState, HasFilesystem>(l, filesystem_of)?;
    filesystem::preopens::add_to_linker::<CallState, HasFilesystem>(l, filesystem_of)?;
    // Its resources alone do nothing; asking for an answer is what is granted or not.
    let options = http::types::LinkOptions::default();
    http::types::add_to_linker::<CallState, WasiHttp>(l, &options, http_of)?;
    outgoing_request::link(l)?;
    http::outgoing_handler::add_to_linker::<CallState, WasiHttp>(l, request_of)?;
    logging::add_to_linker::<CallState, HasLog>(l, log_of)?;
    agents_import::add_to_linker::<CallState, HasAgents>(l, agents_of)?;
    // A guest whose bindings import the types alone.
    l.instance("goondan:tool/types@2.0.0")?;
    Ok(linker)
}

fn filesystem_of(state: &mut CallState) -> FilesystemView<'_> {
    state.meter.goes_on();
    FilesystemView {
        fs: &mut state.fs,
        table: &mut state.table,
    }
}

fn http_of(state: &mut CallState) -> WasiHttpCtxView<'_> {
    state.http.used = true;
    WasiHttpCtxView {
        ctx: &mut state.http.ctx,
        table: &mut state.table,
        hooks: &mut state.http.egress,
    }
}

fn request_of(state: &mut CallState) -> WasiHttpCtxView<'_> {
    state.meter.goes_on();
    http_of(state)
}

fn log_of(state: &mut CallState) -> LogView<'_> {
    state.meter.goes_on();
    LogView(&state.meter)
}

fn agents_of(state: &mut CallState) -> &mut Agents {
    state.meter.goes_on();
    &mut state.agents
}

struct HasLog;

impl HasData for HasLog {
    type Data<'a> = LogView<'a>;
}

/// The log of one call.
struct LogView<'a>(&'a Arc<Meter>);

impl logging::Host for LogView<'_> {
    fn log(
        &mut self,
        level: logging::Level,
        context: String,
        message: String,
    ) -> wasmtime::Result<()> {
        let level = match level {
            logging::Level::Trace => LogLevel::Trace,
            logging::Level::Debug => LogLevel::Debug,
            logging::Level::Info => LogLevel::Info,
            logging::Level::Warn => LogLevel::Warn,
            logging::Level::Error => LogLevel::Error,
            logging::Level::Critical => LogLevel::Critical,
        };
        lock(&self.0.log).write(level, &context, &message);
        Ok(())
    }
}

struct HasNoNetwork;

impl HasData for HasNoNetwork {
    type Data<'a> = NoNetwork<'a>;
}

/// Sockets and names: each attempt is refused and recorded.
struct NoNetwork<'a>(&'a Arc<Meter>);

fn no_network(state: &mut CallState) -> NoNetwork<'_> {
    state.meter.goes_on();
    NoNetwork(&state.meter)
}

impl NoNetwork<'_> {
    fn refuse<T>(&self, what: Denial) -> wasmtime::Result<Result<T, sockets::network::ErrorCode>> {
        self.0.deny(what);
        Ok(Err(sockets::network::ErrorCode::AccessDenied))
    }
}

impl tcp_create_socket::Host for NoNetwork<'_> {
    fn create_tcp_socket(
        &mut self,
        _family: sockets::network::IpAddressFamily,
    ) -> wasmtime::Result<Result<Resource<TcpSocket>, sockets::network::ErrorCode>> {
        self.refuse(Denial::NetworkTcp)
    }
}

impl udp_create_socket::Host for NoNetwork<'_> {
    fn create_udp_socket(
        &mut self,
        _family: sockets::network::IpAddressFamily,
    ) -> wasmtime::Result<Result<Resource<UdpSocket>, sockets::network::ErrorCode>> {
        self.refuse(Denial::NetworkUdp)
    }
}

/// An answer to a name look-up. There is none: none is ever made.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub enum NoAddresses {}

impl ip_name_lookup::Host for NoNetwork<'_> {
    fn resolve_addresses(
        &mut self,
        _network: Resource<Network>,
        _name: String,
    ) -> wasmtime::Result<Result<Resource<NoAddresses>, sockets::network::ErrorCode>> {
        self.refuse(Denial::NetworkDns)
    }
}

impl ip_name_lookup::HostResolveAddressStream for NoNetwork<'_> {
    fn resolve_next_address(
        &mut self,
        _stream: Resource<NoAddresses>,
    ) -> wasmtime::Result<Result<Option<sockets::network::IpAddress>, sockets::network::ErrorCode>>
    {
        self.refuse(Denial::NetworkDns)
    }

    fn subscribe(
        &mut self,
        _stream: Resource<NoAddresses>,
    ) -> wasmtime::Result<Resource<DynPollable>> {
        Err(wasmtime::Error::msg("no address stream exists"))
    }

    fn drop(&mut self, _stream: Resource<NoAddresses>) -> wasmtime::Result<()> {
        Ok(())
    }
}
