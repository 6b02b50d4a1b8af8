//! The baseline: the same call with wasmtime alone and no crate of this workspace.
//!
//! The engine has the same settings. Each call creates a store, a WASI context, the directory preopened
//! as `/`, a memory limiter, a deadline and an instance, runs the handler, and drops all of it.

use std::path::Path;
use std::time::{Duration, Instant};

use wasmtime::component::{Component, HasSelf, Linker, ResourceTable};
use wasmtime::{Engine, OptLevel, ResourceLimiter, Store, UpdateDeadline};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};

mod bindings {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "goondan:tool/tool",
        imports: { default: trappable },
        exports: { default: async },
    });
}

mod pool;
#[path = "../../host/toolhost-sandbox/src/engine/settings.rs"]
mod settings;

pub(crate) use pool::Pool;

use bindings::exports::goondan::tool::handlers::{Outcome, ToolContext};
use bindings::wasi::logging::logging;

/// Returns an engine with a pool, and otherwise the sandbox's settings, from the same file.
///
/// # Errors
/// The machine has no support for a setting of the pool.
pub(crate) fn engine(pool: Pool) -> wasmtime::Result<Engine> {
    engine_at(OptLevel::Speed, pool)
}

/// Returns the same engine, which compiles at this level.
fn engine_at(level: OptLevel, pool: Pool) -> wasmtime::Result<Engine> {
    let mut config = settings::config();
    config
        .allocation_strategy(pool.strategy())
        .cranelift_opt_level(level)
        .memory_init_cow(true);
    let engine = Engine::new(&config)?;
    let ticking = engine.weak();
    std::thread::spawn(move || {
        while let Some(engine) = ticking.upgrade() {
            engine.increment_epoch();
            drop(engine);
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    Ok(engine)
}

struct State {
    wasi: WasiCtx,
    table: ResourceTable,
    memory: usize,
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl ResourceLimiter for State {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        self.memory += desired - current;
        Ok(self.memory <= 256 << 20)
    }

    fn table_growing(
        &mut self,
        _: usize,
        desired: usize,
        _: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(desired <= 100_000)
    }
}

impl logging::Host for State {
    fn log(&mut self, _: logging::Level, _: String, _: String) -> wasmtime::Result<()> {
        Ok(())
    }
}

/// One component, ready to be called.
pub(crate) struct Raw {
    engine: Engine,
    pre: bindings::ToolPre<State>,
}

impl Raw {
    /// Prepares a component in an engine of its own.
    pub(crate) fn new(component: &[u8], pool: Pool) -> Self {
        Self::in_engine(&engine(pool).unwrap(), component)
    }

    /// Prepares a component whose code is compiled at this level, in an engine of its own.
    pub(crate) fn compiled_at(level: OptLevel, component: &[u8], pool: Pool) -> Self {
        Self::in_engine(&engine_at(level, pool).unwrap(), component)
    }

    /// Prepares a component that imports WASI 0.2 and the log, and nothing else.
    pub(crate) fn in_engine(engine: &Engine, component: &[u8]) -> Self {
        let mut linker = Linker::<State>::new(engine);
        wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
        logging::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state).unwrap();
        // Some bindings import the types alone.
        linker.instance("goondan:tool/types@2.0.0").unwrap();
        let component = Component::from_binary(engine, component).unwrap();
        let pre = linker.instantiate_pre(&component).unwrap();
        Self {
            pre: bindings::ToolPre::new(pre).unwrap(),
            engine: engine.clone(),
        }
    }

    pub(crate) async fn call(
        &self,
        workdir: &Path,
        handler: &str,
        message: &str,
        input: &String,
    ) -> String {
        let mut wasi = WasiCtx::builder();
        wasi.preopened_dir(workdir, "/", FsPerms::ReadWrite)
            .unwrap();
        let state = State {
            wasi: wasi.build(),
            table: ResourceTable::new(),
            memory: 0,
        };
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| state);
        store.set_epoch_deadline(1);
        let ends = Instant::now() + Duration::from_secs(30);
        store.epoch_deadline_callback(move |_| {
            if Instant::now() >= ends {
                return Ok(UpdateDeadline::Interrupt);
            }
            Ok(UpdateDeadline::Yield(1))
        });
        let context = ToolContext {
            agent_name: "coder".into(),
            instance_key: "instance".into(),
            turn_id: "turn".into(),
            tool_call_id: "call-1".into(),
            trace_id: None,
            message: message.to_owned(),
            workdir: "/".into(),
        };
        let called = async {
            let tool = self.pre.instantiate_async(&mut store).await.unwrap();
            let handlers = tool.goondan_tool_handlers();
            handlers
                .call_call(&mut store, handler, &context, input)
                .await
        };
        let answer = tokio::time::timeout(Duration::from_secs(30), called).await;
        match answer.unwrap().unwrap().unwrap() {
            Outcome::Output(json) | Outcome::Pending(json) => json,
        }
    }
}
