//! What a store holds for one call.

use std::any::Any;
use std::sync::Arc;

use wasmtime::ResourceLimiter;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::WasiHttpCtxView;

use crate::accounting::meter::Meter;
use crate::accounting::output::Stream;
use crate::call::resource_limiter::MemoryLimiter;
use crate::host::agents::Agents;
use crate::host::filesystem::Filesystem;
use crate::host::http::{Http, handle_memory};
use crate::host::stdio::Captured;

/// The store's data.
pub(crate) struct CallState {
    wasi: LazyWasi,
    pub(crate) table: ResourceTable,
    pub(crate) fs: Filesystem,
    pub(crate) memory: MemoryLimiter,
    pub(crate) agents: Agents,
    pub(crate) http: Http,
    pub(crate) meter: Arc<Meter>,
    /// What answers the host calls of a call that is recorded or replayed.
    pub(crate) answers: Option<Box<dyn Any + Send>>,
    /// Limits the memory of the store instead of `memory`.
    pub(crate) limiter: Option<Box<dyn ResourceLimiter + Send + Sync>>,
}

impl CallState {
    pub(crate) fn new(
        env: Vec<(String, String)>,
        fs: Filesystem,
        memory: MemoryLimiter,
        agents: Agents,
        http: Http,
        meter: Arc<Meter>,
    ) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(meter.limits.handles);
        Self {
            wasi: LazyWasi { env, made: None },
            table,
            fs,
            memory,
            agents,
            http,
            meter,
            answers: None,
            limiter: None,
        }
    }

    /// What limits the memory of the store.
    pub(crate) fn limiter(&mut self) -> &mut (dyn ResourceLimiter + Send) {
        match &mut self.limiter {
            Some(limiter) => &mut **limiter,
            None => &mut self.memory,
        }
    }

    /// The HTTP context, borrowed for one host call.
    pub(crate) fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.http.used = true;
        WasiHttpCtxView {
            ctx: &mut self.http.ctx,
            table: &mut self.table,
            hooks: &mut self.http.hooks,
        }
    }

    /// Counts the memory of the guest's HTTP handles, and its requests, where a host call may have changed
    /// them.
    ///
    /// # Errors
    /// The memory exceeds the limit of the call or of all calls, or the guest makes too many requests.
    pub(crate) fn check_http(&mut self) -> wasmtime::Result<()> {
        if !std::mem::take(&mut self.http.used) {
            return Ok(());
        }
        if self.http.hooks.is_flooded() {
            return Err(wasmtime::Error::msg(
                "it repeats HTTP requests that are refused",
            ));
        }
        let headers = self.meter.limits.http_header_bytes;
        if self
            .memory
            .set_handle_bytes(handle_memory(&mut self.table, headers))
        {
            return Ok(());
        }
        Err(wasmtime::Error::msg(
            "the guest's HTTP handles hold too much memory",
        ))
    }
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: self.wasi.get(&self.meter),
            table: &mut self.table,
        }
    }
}

/// The engine's context for clocks, random numbers, variables and standard streams. It is made when the
/// guest first uses one of them, as seeding its generators costs more than anything else in the store.
struct LazyWasi {
    env: Vec<(String, String)>,
    made: Option<WasiCtx>,
}

impl LazyWasi {
    fn get(&mut self, meter: &Arc<Meter>) -> &mut WasiCtx {
        self.made.get_or_insert_with(|| {
            WasiCtx::builder()
                .envs(&self.env)
                .stdout(Captured::new(meter, Stream::Stdout))
                .stderr(Captured::new(meter, Stream::Stderr))
                .max_random_size(meter.limits.random_bytes)
                .allow_tcp(false)
                .allow_udp(false)
                .allow_ip_name_lookup(false)
                .build()
        })
    }
}
