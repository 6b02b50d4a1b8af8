//! What a store holds for one call.

use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamResult};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView, async_trait};

use crate::accounting::meter::Meter;
use crate::call::resource_limiter::MemoryLimiter;
use crate::host::agents::Agents;
use crate::host::filesystem::Filesystem;
use crate::host::http::{Http, held_for};
use crate::sync::lock;
use crate::{Grants, Limits};

/// The store's data: the guest's handles, its WASI context, its filesystem, its ways to other agents
/// and to servers, and its limits.
pub(crate) struct CallState {
    pub(crate) wasi: WasiCtx,
    pub(crate) table: ResourceTable,
    pub(crate) fs: Filesystem,
    pub(crate) memory: MemoryLimiter,
    pub(crate) agents: Agents,
    pub(crate) http: Http,
    pub(crate) meter: Arc<Meter>,
}

impl CallState {
    pub(crate) fn new(
        grants: &Grants,
        fs: Filesystem,
        memory: MemoryLimiter,
        agents: Agents,
        http: Http,
        meter: Arc<Meter>,
    ) -> Self {
        let limits: &Limits = &meter.limits;
        let mut table = ResourceTable::new();
        table.set_max_capacity(limits.handles);
        let mut wasi = WasiCtx::builder();
        wasi.envs(&grants.env)
            .stdout(Captured::of(&meter, Stream::Out))
            .stderr(Captured::of(&meter, Stream::Err))
            .max_random_size(limits.random_bytes)
            .allow_tcp(false)
            .allow_udp(false)
            .allow_ip_name_lookup(false);
        Self {
            wasi: wasi.build(),
            table,
            fs,
            memory,
            agents,
            http,
            meter,
        }
    }

    /// Counts what the host holds for the guest's handles of HTTP, and its requests, after host calls that
    /// may have changed them.
    ///
    /// # Errors
    /// It is more than the call, or all calls, may hold; or the guest floods the host with requests.
    pub(crate) fn check_http(&mut self) -> wasmtime::Result<()> {
        if !std::mem::take(&mut self.http.used) {
            return Ok(());
        }
        if self.http.egress.is_flooded() {
            return Err(wasmtime::Error::msg(
                "it goes on asking for HTTP requests that are refused",
            ));
        }
        let headers = self.meter.limits.http_header_bytes;
        if self
            .memory
            .holds_for_handles(held_for(&mut self.table, headers))
        {
            return Ok(());
        }
        Err(wasmtime::Error::msg("the guest's handles hold too much"))
    }
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

#[derive(Clone, Copy)]
enum Stream {
    Out,
    Err,
}

/// A guest's stdout or stderr: taken in without end, kept head and tail.
#[derive(Clone)]
struct Captured {
    meter: Arc<Meter>,
    stream: Stream,
}

/// Most bytes taken by one write.
const CHUNK: usize = 64 << 10;

impl Captured {
    fn of(meter: &Arc<Meter>, stream: Stream) -> Self {
        Self {
            meter: Arc::clone(meter),
            stream,
        }
    }

    fn take(&self, bytes: &[u8]) {
        let kept = match self.stream {
            Stream::Out => &self.meter.stdout,
            Stream::Err => &self.meter.stderr,
        };
        lock(kept).write(bytes);
    }
}

impl IsTerminal for Captured {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Captured {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        // Only WASI 0.3 asks for this one; it is not linked.
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[async_trait]
impl OutputStream for Captured {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.take(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(CHUNK)
    }
}

#[async_trait]
impl Pollable for Captured {
    async fn ready(&mut self) {}
}
