//! A component, compiled and ready to be called.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use tokio::sync::oneshot;
use toolhost_contract::{ExportName, HandlerSpec, ToolContext};
use wasmtime::component::Component;

use crate::accounting::meter::Meter;
use crate::accounting::output::printable;
use crate::call::run::{Answer, Errand, Visit};
use crate::call::{Ask, CallReport, Invocation, Unanswered, report};
use crate::component::cache::Cached;
use crate::component::code::{self, ComponentCode};
use crate::component::inspect::{self, DeclaredMemory, Shape};
use crate::component_id::ComponentId;
use crate::engine::pools::InstancePool;
use crate::host::bindings::handlers;
use crate::sandbox::{Cell, Sandbox};
use crate::scheduler::executor::spawn_blocking;
use crate::workdir::WriteProtected;
use crate::{Grants, Limits, PrepareError, SandboxError};

/// How long a component waits for its turn to be compiled.
const WAITING: Duration = Duration::from_secs(60 * 60);

/// Time by the clock that a compiler has for each second of processor time: it shares the machine.
const CLOCK_PER_PROCESSOR: u32 = 4;

/// Most handlers `describe` may name.
const HANDLERS_MAX: usize = 256;

/// Most bytes `describe` may answer.
const DESCRIBE_BYTES_MAX: usize = 1 << 20;

/// Longest reason of the engine's, in bytes.
const REASON_MAX: usize = 4 << 10;

/// Whether the compiled code came from the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeOrigin {
    /// Compiled now.
    Compiled,
    /// Mapped from the cache.
    Cached,
}

/// A component that can be called. Cheap to clone; calls share nothing but compiled code.
#[derive(Clone)]
pub struct PreparedTool(Arc<Prepared>);

struct Prepared {
    cell: Arc<Cell>,
    component: ComponentId,
    code: Arc<ComponentCode>,
    handlers: Vec<HandlerSpec>,
    facts: ComponentFacts,
}

/// What a component is, for people to look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComponentFacts {
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of the component, in hexadecimal.
    pub sha256: String,
    /// Interfaces it imports, with versions.
    pub imports: Vec<String>,
    /// Interfaces it exports, with versions.
    pub exports: Vec<String>,
}

impl ComponentFacts {
    fn of(bytes: &[u8], shape: Shape) -> Self {
        let digest = Sha256::digest(bytes);
        Self {
            bytes: bytes.len() as u64,
            sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            imports: shape.imports,
            exports: shape.exports,
        }
    }
}

impl fmt::Debug for PreparedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedTool")
            .field("sha256", &self.0.facts.sha256)
            .finish_non_exhaustive()
    }
}

impl Sandbox {
    /// Compiles a component, or maps it from the cache, and asks it what it serves.
    ///
    /// Slow, once: 0.2–30 s to compile, under 10 ms from the cache.
    /// [`CompileLimits`](crate::CompileLimits) are checked first. What is not in the cache waits for its
    /// turn, for an hour at most, and when its time is up it is given up on. Dropping the future
    /// ends a [`Compiler`](crate::Compiler); without one, compiling happens on a thread, and goes on
    /// there to its end.
    ///
    /// # Errors
    /// [`PrepareError`] says why it is no tool this host can run.
    pub async fn prepare(
        &self,
        bytes: Vec<u8>,
    ) -> Result<(PreparedTool, CodeOrigin), PrepareError> {
        let started = Instant::now();
        let ready = self.ready(bytes).await?;
        let (handlers, origin) = match ready.handlers {
            Some(handlers) => (handlers, CodeOrigin::Cached),
            None => (self.describe_and_keep(&ready).await?, CodeOrigin::Compiled),
        };
        tracing::debug!(
            sha256 = ready.facts.sha256,
            ?origin,
            elapsed_ms = started.elapsed().as_secs_f64() * 1000.0,
            "prepared a component"
        );
        let prepared = Prepared {
            cell: Arc::clone(&self.0),
            component: ComponentId::of(&ready.facts.sha256),
            code: ready.code,
            handlers,
            facts: ready.facts,
        };
        Ok((PreparedTool(Arc::new(prepared)), origin))
    }

    /// Looks into the cache, or compiles on a thread of its own, one or few at a time.
    async fn ready(&self, bytes: Vec<u8>) -> Result<Ready, PrepareError> {
        let limit = self.0.config.compile.time_for(bytes.len());
        let by_the_clock = match self.0.config.compiler {
            Some(_) => limit.saturating_mul(CLOCK_PER_PROCESSOR),
            None => limit,
        };
        let cell = Arc::clone(&self.0);
        let look = move || {
            let shape = inspect::read(&bytes, &cell.config.compile)?;
            shape.check()?;
            let memory = shape.memory;
            let facts = ComponentFacts::of(&bytes, shape);
            let found = cached(&cell, &facts, memory)?;
            Ok::<_, PrepareError>((found, facts, memory, bytes))
        };
        let (found, facts, memory, bytes) = self.on_a_thread(look).await??;
        if let Some(ready) = found {
            return Ok(ready);
        }
        let turn = self
            .within(WAITING, Arc::clone(&self.0.compiling).acquire_owned())
            .await
            .ok_or(PrepareError::NoTurn { limit: WAITING })?
            .map_err(host_failed)?;
        let cell = Arc::clone(&self.0);
        // Dropped with this future, which the thread then notices.
        let (gone, _waits) = oneshot::channel::<()>();
        let work = move || {
            // Compiling keeps its turn until its end.
            let _turn = turn;
            // Another may have compiled it meanwhile.
            if let Some(ready) = cached(&cell, &facts, memory)? {
                return Ok(ready);
            }
            let pool = cell.pools.home(memory);
            let component = compile(&cell, pool, &bytes, || !gone.is_closed())?;
            linked(pool, component, facts, None)
        };
        let compiled = self.within(by_the_clock, self.on_a_thread(work)).await;
        compiled.unwrap_or(Err(PrepareError::TooSlow { limit }))?
    }

    /// Runs what blocks on a thread of its own.
    async fn on_a_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PrepareError> {
        let done = spawn_blocking(self.0.threads.guests(), work).map_err(host_failed)?;
        done.await.map_err(host_failed)
    }

    /// Asks a component what it serves, and keeps the answer with the compiled code.
    async fn describe_and_keep(&self, ready: &Ready) -> Result<Vec<HandlerSpec>, PrepareError> {
        let handlers = self.describe(ready).await?;
        if self.0.cache.is_some() {
            let (cell, code) = (Arc::clone(&self.0), Arc::clone(&ready.code));
            let (sha256, kept) = (ready.facts.sha256.clone(), handlers.clone());
            let work = move || {
                if let Some(cache) = &cell.cache {
                    cache.store(&sha256, code.component(), &kept);
                }
            };
            self.on_a_thread(work).await?;
        }
        Ok(handlers)
    }

    /// Reads a component without compiling it; it need not be one the host would load.
    ///
    /// # Errors
    /// [`PrepareError`] where the bytes are no component, or exceed the limits.
    pub fn read_facts(&self, bytes: &[u8]) -> Result<ComponentFacts, PrepareError> {
        let shape = inspect::read(bytes, &self.0.config.compile)?;
        Ok(ComponentFacts::of(bytes, shape))
    }

    async fn describe(&self, ready: &Ready) -> Result<Vec<HandlerSpec>, PrepareError> {
        let visit = Visit {
            cell: Arc::clone(&self.0),
            component: ComponentId::of(&ready.facts.sha256),
            code: Arc::clone(&ready.code),
            workdir: None,
            protected: WriteProtected::default(),
            grants: Grants::none(),
            agents: None,
            meter: Arc::new(Meter::new(
                Limits {
                    deadline: self.0.config.describing,
                    ..Limits::default()
                },
                ComponentId::of(&ready.facts.sha256),
                Arc::clone(&self.0.host_files),
            )),
        };
        let (answer, ..) = visit.run(Errand::Describe).await;
        let answer = answer.map_err(|error| {
            // Nothing of the guest ran: the engine found that its exports have other types.
            if let SandboxError::Host(differs) = &error {
                let reason = told(differs);
                return PrepareError::WrongShape { reason };
            }
            PrepareError::Describe(error)
        })?;
        match answer {
            Answer::Exports(exports) => checked(exports),
            Answer::Outcome(_) => Err(PrepareError::Host("describe was not asked".to_owned())),
        }
    }
}

/// A component whose code is there, before it was asked what it serves.
struct Ready {
    code: Arc<ComponentCode>,
    facts: ComponentFacts,
    handlers: Option<Vec<HandlerSpec>>,
}

/// What the cache keeps of a component.
fn cached(
    cell: &Cell,
    facts: &ComponentFacts,
    memory: DeclaredMemory,
) -> Result<Option<Ready>, PrepareError> {
    let pool = cell.pools.home(memory);
    let cache = cell.cache.as_ref();
    let found = cache.and_then(|cache| cache.load(&pool.engine, &facts.sha256));
    let link = |found: Cached| linked(pool, found.component, facts.clone(), Some(found.handlers));
    found.map(link).transpose()
}

fn linked(
    pool: &Arc<InstancePool>,
    component: Component,
    facts: ComponentFacts,
    handlers: Option<Vec<HandlerSpec>>,
) -> Result<Ready, PrepareError> {
    let shape_differs = |error: wasmtime::Error| PrepareError::WrongShape {
        reason: told(&error),
    };
    let code = ComponentCode::link(pool, component).map_err(shape_differs)?;
    Ok(Ready {
        code: Arc::new(code),
        facts,
        handlers,
    })
}

fn compile(
    cell: &Cell,
    pool: &InstancePool,
    bytes: &[u8],
    waited_for: impl Fn() -> bool,
) -> Result<Component, PrepareError> {
    inspect::weigh(bytes, &cell.config.compile)?;
    let Some(compiler) = &cell.config.compiler else {
        let compiled = Component::from_binary(&pool.engine, bytes);
        return compiled.map_err(|error| PrepareError::Compile {
            reason: told(&error),
        });
    };
    let artefact =
        compiler.compile(bytes, cell.config.compile.time_for(bytes.len()), waited_for)?;
    code::load(&pool.engine, &artefact).map_err(|error| {
        let reason = told(&error);
        // Where its instances do not fit the pool; without a compiler, that comes of compiling.
        if reason.contains("exceeds the configured maximum") {
            return PrepareError::Compile { reason };
        }
        PrepareError::Host(format!("the compiler's artefact is refused: {reason}"))
    })
}

/// What the engine says of a component: it quotes the names in it.
fn told(error: &wasmtime::Error) -> String {
    printable(&format!("{error:#}"), REASON_MAX)
}

fn host_failed(error: impl fmt::Display) -> PrepareError {
    PrepareError::Host(error.to_string())
}

/// Takes what `describe` said for handlers, within its limits.
fn checked(exports: Vec<handlers::ExportSpec>) -> Result<Vec<HandlerSpec>, PrepareError> {
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

impl PreparedTool {
    /// The handlers it serves, as `describe` named them.
    #[must_use]
    pub fn handlers(&self) -> &[HandlerSpec] {
        &self.0.handlers
    }

    /// What it is.
    #[must_use]
    pub fn facts(&self) -> &ComponentFacts {
        &self.0.facts
    }

    /// Whether it can be asked for the outcome of a handle it gave: it exports
    /// `goondan:tool/polling`.
    #[must_use]
    pub fn polls(&self) -> bool {
        self.0.code.polls()
    }

    /// Asks one thing of a fresh instance, which is gone when this returns: to run a handler, for
    /// the outcome of a handle, or to forget one.
    ///
    /// Runs where it is awaited, on any executor; a guest that keeps computing moves to the
    /// sandbox's own threads. Dropping the future stops the guest and gives back its place.
    pub async fn call(&self, invocation: Invocation) -> CallReport {
        let host_files = Arc::clone(&self.0.cell.host_files);
        let meter = Arc::new(Meter::new(invocation.limits, self.0.component, host_files));
        let unanswered = Unanswered::new(&meter, &invocation.ask);
        let visit = Visit {
            cell: Arc::clone(&self.0.cell),
            component: self.0.component,
            code: Arc::clone(&self.0.code),
            workdir: invocation.workdir,
            protected: invocation.protected,
            grants: invocation.grants,
            agents: invocation.agents,
            meter: Arc::clone(&meter),
        };
        let (answer, queued, wall) = match self.errand(invocation.ask, invocation.context) {
            Ok(errand) => visit.run(errand).await,
            Err(error) => (Err(error), Duration::ZERO, Duration::ZERO),
        };
        unanswered.answered();
        let outcome = answer.and_then(|answer| match answer {
            Answer::Outcome(outcome) => Ok(outcome),
            Answer::Exports(_) => Err(SandboxError::HostPanic),
        });
        report(outcome, &meter, queued, wall)
    }

    fn errand(&self, ask: Ask, context: ToolContext) -> Result<Errand, SandboxError> {
        match ask {
            Ask::Handler {
                name: handler,
                input,
            } => Ok(Errand::Call {
                handler,
                context,
                input,
            }),
            Ask::Poll { .. } | Ask::Cancel { .. } if !self.polls() => Err(SandboxError::NoPolling),
            Ask::Poll { handle } => Ok(Errand::Poll { context, handle }),
            Ask::Cancel { handle } => Ok(Errand::Cancel { context, handle }),
        }
    }
}
