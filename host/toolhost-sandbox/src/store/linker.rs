//! The imports of a guest. All are linked, whether granted or not: an import that is not granted fails
//! inside the call, and the attempt is recorded.

mod outgoing_handler;
mod outgoing_request;

use std::sync::Arc;

use wasmtime::Engine;
use wasmtime::component::{HasData, Linker, ResourceTable};
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView};
use wasmtime_wasi::p2::bindings::{cli, clocks, io, random, sockets};
use wasmtime_wasi::random::{WasiRandom, WasiRandomView};
use wasmtime_wasi::sockets::{WasiSockets, WasiSocketsView};
use wasmtime_wasi_http::WasiHttp;
use wasmtime_wasi_http::p2::bindings::http;

use crate::host::agents::{Agents, HasAgents};
use crate::host::bindings::since_2_0::wasi::sockets::{
    ip_name_lookup, tcp_create_socket, udp_create_socket,
};
use crate::host::bindings::{agents, filesystem, logging, modes, tools};
use crate::host::filesystem::{FilesystemView, HasFilesystem};
use crate::host::logging::{HasLog, LogView};
use crate::host::random::{HasInsecureSeed, InsecureSeed};
use crate::host::sockets_denied::{DeniedSockets, HasDeniedSockets};
use crate::host::tools::port::OuterCall;
use crate::host::tools::{HasPolling, HasTools, Polling, ToolsView};
use crate::store::data::CallState;

/// Links every import that the host serves.
pub(crate) fn link(engine: &Engine) -> wasmtime::Result<Linker<CallState>> {
    let mut linker = Linker::<CallState>::new(engine);
    let l = &mut linker;

    io::error::add_to_linker::<CallState, HasTable>(l, table_of)?;
    io::poll::add_to_linker::<CallState, HasPolling>(l, polling_of)?;
    io::streams::add_to_linker::<CallState, HasTable>(l, table_of)?;
    clocks::wall_clock::add_to_linker::<CallState, WasiClocks>(l, CallState::clocks)?;
    clocks::monotonic_clock::add_to_linker::<CallState, WasiClocks>(l, CallState::clocks)?;
    cli::stdin::add_to_linker::<CallState, WasiCli>(l, CallState::cli)?;
    cli::stdout::add_to_linker::<CallState, WasiCli>(l, CallState::cli)?;
    cli::stderr::add_to_linker::<CallState, WasiCli>(l, CallState::cli)?;
    cli::exit::add_to_linker::<CallState, WasiCli>(l, CallState::cli)?;
    cli::environment::add_to_linker::<CallState, WasiCli>(l, CallState::cli)?;
    cli::terminal_input::add_to_linker::<CallState, WasiCli>(l, CallState::cli)?;
    cli::terminal_output::add_to_linker::<CallState, WasiCli>(l, CallState::cli)?;
    cli::terminal_stdin::add_to_linker::<CallState, WasiCli>(l, CallState::cli)?;
    cli::terminal_stdout::add_to_linker::<CallState, WasiCli>(l, CallState::cli)?;
    cli::terminal_stderr::add_to_linker::<CallState, WasiCli>(l, CallState::cli)?;
    random::random::add_to_linker::<CallState, WasiRandom>(l, CallState::random)?;
    random::insecure::add_to_linker::<CallState, WasiRandom>(l, CallState::random)?;
    random::insecure_seed::add_to_linker::<CallState, HasInsecureSeed>(l, seed_of)?;

    sockets::instance_network::add_to_linker::<CallState, WasiSockets>(l, CallState::sockets)?;
    let options = sockets::network::LinkOptions::default();
    sockets::network::add_to_linker::<CallState, WasiSockets>(l, &options, CallState::sockets)?;
    sockets::tcp::add_to_linker::<CallState, WasiSockets>(l, CallState::sockets)?;
    sockets::udp::add_to_linker::<CallState, WasiSockets>(l, CallState::sockets)?;
    tcp_create_socket::add_to_linker::<CallState, HasDeniedSockets>(l, denied_sockets)?;
    udp_create_socket::add_to_linker::<CallState, HasDeniedSockets>(l, denied_sockets)?;
    ip_name_lookup::add_to_linker::<CallState, HasDeniedSockets>(l, denied_sockets)?;

    filesystem::types::add_to_linker::<CallState, HasFilesystem>(l, filesystem_of)?;
    filesystem::preopens::add_to_linker::<CallState, HasFilesystem>(l, filesystem_of)?;
    modes::add_to_linker::<CallState, HasFilesystem>(l, filesystem_of)?;
    // Making a request needs no grant; sending it does.
    let options = http::types::LinkOptions::default();
    http::types::add_to_linker::<CallState, WasiHttp>(l, &options, CallState::http)?;
    outgoing_request::link(l)?;
    outgoing_handler::link(l)?;
    logging::add_to_linker::<CallState, HasLog>(l, log_of)?;
    agents::add_to_linker::<CallState, HasAgents>(l, agents_of)?;
    tools::add_to_linker::<CallState, HasTools>(l, tools_of)?;
    // Some bindings import the types alone.
    l.instance("goondan:tool/types@2.0.0")?;
    Ok(linker)
}

/// Selects the handles of a store: its streams and pollables.
struct HasTable;

impl HasData for HasTable {
    type Data<'a> = &'a mut ResourceTable;
}

fn table_of(state: &mut CallState) -> &mut ResourceTable {
    &mut state.table
}

fn filesystem_of(state: &mut CallState) -> FilesystemView<'_> {
    state.meters.attempts.count_step();
    FilesystemView {
        fs: &mut state.fs,
        table: &mut state.table,
    }
}

// Logging does not count as the last thing a call did, as error handlers log.
fn log_of(state: &mut CallState) -> LogView<'_> {
    LogView(&state.meters.output)
}

fn seed_of(state: &mut CallState) -> InsecureSeed {
    state.hash_seed()
}

fn agents_of(state: &mut CallState) -> &mut Agents {
    state.meters.attempts.count_step();
    &mut state.agents
}

fn tools_of(state: &mut CallState) -> ToolsView<'_> {
    state.meters.attempts.count_step();
    ToolsView {
        tools: &state.tools,
        table: &mut state.table,
        attempts: &state.meters.attempts,
        limits: &state.meters.limits,
        caller: OuterCall {
            files: Arc::clone(&state.meters.files),
            http: Arc::clone(&state.meters.http),
        },
    }
}

fn polling_of(state: &mut CallState) -> Polling<'_> {
    Polling {
        table: &mut state.table,
        tools: &state.tools,
    }
}

fn denied_sockets(state: &mut CallState) -> DeniedSockets<'_> {
    state.meters.attempts.count_step();
    DeniedSockets(&state.meters.attempts)
}
