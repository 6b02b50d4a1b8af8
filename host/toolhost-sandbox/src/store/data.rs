//! What a store holds for one call.

use std::sync::Arc;

use toolhost_contract::Limits;
use wasmtime::component::ResourceTable;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::WasiHttpCtxView;

use crate::accounting::output::Stream;
use crate::host::agents::Agents;
use crate::host::effects::{EffectsPort, hash_seed, repeat};
use crate::host::filesystem::Filesystem;
use crate::host::http::{Http, handle_memory};
use crate::host::random::InsecureSeed;
use crate::host::stdio::Captured;
use crate::host::tools::Tools;
use crate::store::meters::CallMeters;
use crate::store::resource_limiter::MemoryLimiter;
use crate::store::state::StoreState;

/// Decides about the effects of a call; none if none needs consent.
type Effects = Option<Arc<dyn EffectsPort>>;

/// The store's data.
pub(crate) struct CallState {
    wasi: LazyWasi,
    pub(crate) table: ResourceTable,
    pub(crate) fs: Filesystem,
    pub(crate) memory: MemoryLimiter,
    pub(crate) agents: Agents,
    pub(crate) tools: Tools,
    pub(crate) http: Http,
    pub(crate) meters: Arc<CallMeters>,
    /// Limits the memory of the store instead of `memory`, where a forwarder runs in it.
    pub(crate) forwarder_memory: Option<Box<MemoryLimiter>>,
}

impl CallState {
    pub(crate) fn new(
        (env, effects): (Vec<(String, String)>, Effects),
        fs: Filesystem,
        memory: MemoryLimiter,
        (agents, tools): (Agents, Tools),
        http: Http,
        meters: Arc<CallMeters>,
    ) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(meters.limits.handles);
        Self {
            wasi: LazyWasi {
                env,
                effects,
                made: None,
            },
            table,
            fs,
            memory,
            agents,
            tools,
            http,
            meters,
            forwarder_memory: None,
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
}

impl CallState {
    /// The seeds of the guest's hash maps.
    pub(crate) fn hash_seed(&self) -> InsecureSeed {
        InsecureSeed(self.wasi.effects.as_deref().map(hash_seed))
    }
}

impl StoreState for CallState {
    fn limits(&self) -> &Limits {
        &self.meters.limits
    }

    fn limiter(&mut self) -> &mut MemoryLimiter {
        self.forwarder_memory
            .as_deref_mut()
            .unwrap_or(&mut self.memory)
    }

    /// Counts the memory of the guest's HTTP handles, and its requests, where a host call may have changed
    /// them.
    ///
    /// # Errors
    /// The memory exceeds the limit of the call or of all calls, or the guest makes too many requests.
    fn after_host_call(&mut self) -> wasmtime::Result<()> {
        if !std::mem::take(&mut self.http.used) {
            return Ok(());
        }
        if self.http.hooks.is_flooded() {
            return Err(wasmtime::Error::msg(
                "it repeats HTTP requests that are refused",
            ));
        }
        let headers = self.meters.limits.http_header_bytes;
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
            ctx: self.wasi.get(&self.meters),
            table: &mut self.table,
        }
    }
}

/// The engine's context for clocks, random numbers, variables and standard streams. It is made when the
/// guest first uses one of them, as seeding its generators costs more than anything else in the store.
struct LazyWasi {
    env: Vec<(String, String)>,
    /// Gives it its times and random numbers.
    effects: Effects,
    made: Option<WasiCtx>,
}

impl LazyWasi {
    fn get(&mut self, meters: &CallMeters) -> &mut WasiCtx {
        self.made.get_or_insert_with(|| {
            let mut builder = WasiCtx::builder();
            if let Some(effects) = &self.effects {
                repeat(&mut builder, effects);
            }
            builder
                .envs(&self.env)
                .stdout(Captured::new(&meters.output, Stream::Stdout))
                .stderr(Captured::new(&meters.output, Stream::Stderr))
                .max_random_size(meters.limits.random_bytes)
                .allow_tcp(false)
                .allow_udp(false)
                .allow_ip_name_lookup(false)
                .build()
        })
    }
}
