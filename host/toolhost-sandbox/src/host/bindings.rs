//! Generated bindings: the interfaces that this crate implements, and the exports that it calls.
//!
//! A published version of `goondan:tool` is frozen and has a module of its own here. A new minor
//! version gets a module of its own beside this one, and a conversion.

/// `goondan:tool@2.0`.
pub(crate) mod since_2_0 {
    wasmtime::component::bindgen!({
        inline: "
            package toolhost:sandbox;
            world host {
                import wasi:filesystem/types@0.2.12;
                import wasi:filesystem/preopens@0.2.12;
                import wasi:sockets/tcp-create-socket@0.2.12;
                import wasi:sockets/udp-create-socket@0.2.12;
                import wasi:sockets/ip-name-lookup@0.2.12;
                include goondan:tool/async-tool@2.0.0;
                include goondan:tool/agent-tool@2.0.0;
                include goondan:tool/typed-tool@2.0.0;
                include goondan:tool/composed-tool@2.0.0;
                import goondan:tool/modes@2.0.0;
            }
        ",
        path: "wit",
        world: "toolhost:sandbox/host",
        imports: {
            "goondan:tool/agents": async | trappable,
            "goondan:tool/tools.search": async | trappable,
            "wasi:filesystem/types.[method]descriptor.sync": async | trappable,
            "wasi:filesystem/types.[method]descriptor.sync-data": async | trappable,
            default: trappable,
        },
        exports: { default: async },
        // The context of a call is lowered from references.
        ownership: Borrowing { duplicate_if_necessary: false },
        with: {
            "wasi:io": wasmtime_wasi::p2::bindings::io,
            "wasi:clocks": wasmtime_wasi::p2::bindings::clocks,
            "wasi:sockets/network": wasmtime_wasi::p2::bindings::sockets::network,
            "wasi:sockets/tcp": wasmtime_wasi::p2::bindings::sockets::tcp,
            "wasi:sockets/udp": wasmtime_wasi::p2::bindings::sockets::udp,
            "wasi:filesystem/types.descriptor": toolhost_files::Descriptor,
            "wasi:filesystem/types.directory-entry-stream": toolhost_files::Listing,
            "goondan:tool/tools.call": crate::host::tools::call_handle::CallHandle,
            "wasi:sockets/ip-name-lookup.resolve-address-stream": std::convert::Infallible,
        },
        trappable_error_type: {
            "wasi:filesystem/types.error-code" => crate::host::filesystem::FsError,
            "goondan:tool/modes.error" => crate::host::filesystem::FsError,
        },
        require_store_data_send: true,
    });
}

pub(crate) use since_2_0::exports::goondan::tool::{handlers, outputs, polling};
pub(crate) use since_2_0::goondan::tool::{agents, modes, tools};
pub(crate) use since_2_0::wasi::filesystem;
pub(crate) use since_2_0::wasi::logging::logging;
