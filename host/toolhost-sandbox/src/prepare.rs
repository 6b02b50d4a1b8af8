//! Loads a component: checks it, compiles it or maps it from the cache, and calls its `describe`.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use toolhost_contract::{ExportName, HandlerSpec};
use wasmtime::component::Component;

use crate::accounting::meter::Meter;
use crate::accounting::output::printable;
use crate::call::response::Response;
use crate::call::run::{CallTask, Request};
use crate::component::code::{ComponentCode, load};
use crate::component::code_origin::CodeOrigin;
use crate::component::initial_data::take_out;
use crate::component::inspect::{check_function_cost, read};
use crate::component_id::ComponentId;
use crate::engine::memory::image::Image;
use crate::engine::memory::source::MemorySource;
use crate::host::bindings::handlers;
use crate::sandbox::{Sandbox, SandboxInner};
use crate::scheduler::blocking::spawn_blocking;
use crate::tool::{ComponentFacts, PreparedTool, sha256};
use crate::workdir::WriteProtected;
use crate::{Grants, Limits, PrepareError, SandboxError};

/// How long a component waits while others are compiled.
const MAX_WAIT: Duration = Duration::from_secs(60 * 60);

/// Seconds that a compiler may take for each second of processor time, as it shares the machine.
const WALL_PER_PROCESSOR: u32 = 4;

/// Most handlers `describe` may name.
const HANDLERS_MAX: usize = 256;

/// Most bytes `describe` may answer.
const DESCRIBE_BYTES_MAX: usize = 1 << 20;

/// Longest reason of the engine's, in bytes.
const REASON_MAX: usize = 4 << 10;

/// A component whose code is linked.
struct Linked {
    code: Arc<ComponentCode>,
    facts: ComponentFacts,
    /// What `describe` answered, where the cache has it.
    handlers: Option<Vec<HandlerSpec>>,
}

impl Sandbox {
    /// Compiles a component, or maps it from the cache, and reads which handlers it serves.
    ///
    /// Compiling takes 0.2–30 s, mapping less than 10 ms. [`CompileLimits`](crate::CompileLimits) are
    /// checked first. A component that is not in the cache waits while others are compiled, for an hour
    /// at most. Dropping the future ends a [`Compiler`](crate::Compiler); without one, a thread compiles,
    /// and continues to its end.
    ///
    /// # Errors
    /// [`PrepareError`] says why this host cannot run it.
    pub async fn prepare(
        &self,
        bytes: Vec<u8>,
    ) -> Result<(PreparedTool, CodeOrigin), PrepareError> {
        let prepared = self.prepare_uncounted(bytes).await;
        let origin = prepared.as_ref().ok().map(|(_, origin)| *origin);
        self.0.prepared.add(origin);
        prepared
    }

    async fn prepare_uncounted(
        &self,
        bytes: Vec<u8>,
    ) -> Result<(PreparedTool, CodeOrigin), PrepareError> {
        let started = Instant::now();
        let mut linked = self.load(bytes).await?;
        let (handlers, origin) = match linked.handlers.take() {
            Some(handlers) => (handlers, CodeOrigin::Cached),
            None => (
                self.describe_and_store(&linked).await?,
                CodeOrigin::Compiled,
            ),
        };
        tracing::debug!(
            sha256 = linked.facts.sha256,
            ?origin,
            elapsed_ms = started.elapsed().as_secs_f64() * 1000.0,
            "prepared a component"
        );
        let tool = PreparedTool::new(&self.0, linked.code, handlers, linked.facts);
        Ok((tool, origin))
    }

    /// Prepares a component as [`Self::prepare`] does, or returns the one of `earlier` that this sandbox
    /// prepared from the same bytes.
    ///
    /// # Errors
    /// [`PrepareError`] says why this host cannot run it.
    pub async fn prepare_again(
        &self,
        bytes: Vec<u8>,
        earlier: &[PreparedTool],
    ) -> Result<(PreparedTool, CodeOrigin), PrepareError> {
        if earlier.is_empty() {
            return self.prepare(bytes).await;
        }
        let digest = move || (sha256(&bytes), bytes);
        let (digest, bytes) = self.on_thread(digest).await?;
        let mut earlier = earlier.iter().filter(|tool| tool.is_of(&self.0));
        match earlier.find(|tool| tool.facts().sha256 == digest) {
            Some(same) => {
                self.0.prepared.add(Some(CodeOrigin::Reused));
                Ok((same.clone(), CodeOrigin::Reused))
            }
            None => self.prepare(bytes).await,
        }
    }

    /// Reads a component without compiling it. It need not be one that the host would load.
    ///
    /// # Errors
    /// [`PrepareError`] where the bytes are no component, or exceed the limits.
    pub fn read_facts(&self, bytes: &[u8]) -> Result<ComponentFacts, PrepareError> {
        let info = read(bytes, &self.0.config.compile)?;
        Ok(ComponentFacts::new(bytes, info))
    }

    /// Maps a component from the cache, or compiles it on a thread of its own.
    async fn load(&self, bytes: Vec<u8>) -> Result<Linked, PrepareError> {
        let clock = &self.0.executor.clock;
        let limit = self.0.config.compile.time_for(bytes.len());
        let timeout = match self.0.config.compiler {
            Some(_) => limit.saturating_mul(WALL_PER_PROCESSOR),
            None => limit,
        };
        let sandbox = Arc::clone(&self.0);
        let inspect = move || {
            let info = read(&bytes, &sandbox.config.compile)?;
            info.check()?;
            let memories = info.memories;
            let facts = ComponentFacts::new(&bytes, info);
            let found = cached(&sandbox, &facts)?;
            Ok::<_, PrepareError>((found, facts, memories, bytes))
        };
        let (found, facts, memories, bytes) = self.on_thread(inspect).await??;
        if let Some(linked) = found {
            return Ok(linked);
        }
        let permit = clock
            .within(MAX_WAIT, Arc::clone(&self.0.compiling).acquire_owned())
            .await
            .ok_or(PrepareError::WaitedTooLong { limit: MAX_WAIT })?
            .map_err(host_failed)?;
        let sandbox = Arc::clone(&self.0);
        // Dropped with this future, which ends the compiler.
        let (cancelled, _alive) = oneshot::channel::<()>();
        let work = move || {
            // Held until the compiler ends.
            let _permit = permit;
            // Another call may have compiled it meanwhile.
            if let Some(linked) = cached(&sandbox, &facts)? {
                return Ok(linked);
            }
            let started = Instant::now();
            let compiled = compile(&sandbox, bytes, memories, || !cancelled.is_closed());
            sandbox.prepared.add_compile_time(started.elapsed());
            let (component, image) = compiled?;
            link(&sandbox, component, image, facts, None)
        };
        let compiled = clock.within(timeout, self.on_thread(work)).await;
        compiled.unwrap_or(Err(PrepareError::TooSlow { limit }))?
    }

    /// Runs blocking work on a thread of its own.
    async fn on_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PrepareError> {
        let done = spawn_blocking(&self.0.executor.threads, work).map_err(host_failed)?;
        done.await.map_err(host_failed)
    }

    /// Calls `describe`, and stores the answer with the compiled code in the cache.
    async fn describe_and_store(&self, linked: &Linked) -> Result<Vec<HandlerSpec>, PrepareError> {
        let handlers = self.describe(linked).await?;
        if self.0.cache.is_some() {
            let (sandbox, code) = (Arc::clone(&self.0), Arc::clone(&linked.code));
            let (sha256, answer) = (linked.facts.sha256.clone(), handlers.clone());
            let work = move || {
                if let Some(cache) = &sandbox.cache {
                    let image = code.memory.image();
                    cache.store(&sha256, code.pre.component(), image, &answer);
                }
            };
            self.on_thread(work).await?;
        }
        Ok(handlers)
    }

    async fn describe(&self, linked: &Linked) -> Result<Vec<HandlerSpec>, PrepareError> {
        let component = ComponentId::of(&linked.facts.sha256);
        let limits = Limits {
            deadline: self.0.config.describing,
            ..Limits::default()
        };
        let open_files = Arc::clone(&self.0.open_files);
        let task = CallTask {
            sandbox: Arc::clone(&self.0),
            component,
            code: Arc::clone(&linked.code),
            workdir: None,
            protected: WriteProtected::default(),
            grants: Grants::none(),
            agents: None,
            meter: Arc::new(Meter::new(limits, component, open_files)),
        };
        match task.run(Request::Describe).await.0 {
            Ok(Response::Exports(exports)) => check(exports),
            Ok(Response::Outcome(_)) => {
                Err(PrepareError::Host("describe was not called".to_owned()))
            }
            // The engine found exports of other types before anything of the guest ran.
            Err(SandboxError::Host(error)) => Err(PrepareError::WrongShape {
                reason: reason(&error),
            }),
            Err(error) => Err(PrepareError::Describe(error)),
        }
    }
}

/// Maps a component from the cache. None where it is not there.
fn cached(sandbox: &SandboxInner, facts: &ComponentFacts) -> Result<Option<Linked>, PrepareError> {
    let cache = sandbox.cache.as_ref();
    cache
        .and_then(|cache| cache.load(&sandbox.engine, &facts.sha256))
        .map(|found| {
            let handlers = Some(found.handlers);
            link(
                sandbox,
                found.component,
                found.image,
                facts.clone(),
                handlers,
            )
        })
        .transpose()
}

fn link(
    sandbox: &SandboxInner,
    component: Component,
    image: Option<Image>,
    facts: ComponentFacts,
    handlers: Option<Vec<HandlerSpec>>,
) -> Result<Linked, PrepareError> {
    let id = ComponentId::of(&facts.sha256);
    let memory = MemorySource::new(id, image, &sandbox.idle_memory);
    let code = ComponentCode::link(&sandbox.linker, &component, memory);
    let code = code.map_err(|error| PrepareError::WrongShape {
        reason: reason(&error),
    })?;
    Ok(Linked {
        code: Arc::new(code),
        facts,
        handlers,
    })
}

/// Compiles a component that has `memories` memories. Returns its code, and the initial data of its only
/// memory, which the code does not contain.
fn compile(
    sandbox: &SandboxInner,
    mut bytes: Vec<u8>,
    memories: u64,
    is_awaited: impl Fn() -> bool,
) -> Result<(Component, Option<Image>), PrepareError> {
    let limits = &sandbox.config.compile;
    let time = limits.time_for(bytes.len());
    check_function_cost(&bytes, limits)?;
    let mut image = None;
    if let Some((without, data)) = take_out(&bytes).filter(|_| memories == 1) {
        image = Some(Image::copy(&data).map_err(host_failed)?);
        bytes = without;
    }
    let Some(compiler) = &sandbox.config.compiler else {
        let compiled = Component::from_binary(&sandbox.engine, &bytes);
        let component = compiled.map_err(|error| PrepareError::Compile {
            reason: reason(&error),
        })?;
        return Ok((component, image));
    };
    let artifact = compiler.compile(&bytes, time, is_awaited)?;
    let component = load(&sandbox.engine, &artifact).map_err(|error| {
        let reason = reason(&error);
        PrepareError::Host(format!("the compiler's artifact is refused: {reason}"))
    })?;
    Ok((component, image))
}

/// The engine's message, which may quote names of the component.
fn reason(error: &wasmtime::Error) -> String {
    printable(&format!("{error:#}"), REASON_MAX)
}

fn host_failed(error: impl fmt::Display) -> PrepareError {
    PrepareError::Host(error.to_string())
}

/// Checks the answer of `describe` against its limits.
fn check(exports: Vec<handlers::ExportSpec>) -> Result<Vec<HandlerSpec>, PrepareError> {
    let too_large = |what, found, limit| Err(PrepareError::DescribeTooLarge { what, found, limit });
    if exports.len() > HANDLERS_MAX {
        return too_large("handlers", exports.len(), HANDLERS_MAX);
    }
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let bytes = exports
        .iter()
        .map(|e| e.name.len() + length(&e.description) + length(&e.parameters))
        .sum();
    if bytes > DESCRIBE_BYTES_MAX {
        return too_large("bytes", bytes, DESCRIBE_BYTES_MAX);
    }
    let mut names = BTreeSet::new();
    let mut specs = Vec::with_capacity(exports.len());
    for export in exports {
        let name = ExportName::parse(&export.name).map_err(|e| PrepareError::HandlerName {
            name: printable(&export.name, 80),
            reason: e.to_string(),
        })?;
        if !names.insert(name.clone()) {
            return Err(PrepareError::HandlerTwice(name));
        }
        specs.push(HandlerSpec {
            name,
            description: export.description,
            parameters: export.parameters,
        });
    }
    Ok(specs)
}
