//! A component, compiled and ready to be called.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use toolhost_contract::{ExportName, ToolContext};
use wasmtime::component::Component;

use crate::bindings::{Linked, handlers};
use crate::cache::Cached;
use crate::call::{Ask, CallReport, Invocation, Unanswered, outcome_of, report};
use crate::compile::{self, Shape};
use crate::meter::Meter;
use crate::places::ComponentId;
use crate::sandbox::{Cell, Sandbox};
use crate::visit::{Answer, Errand, Visit};
use crate::workdir::WriteProtected;
use crate::{Grants, Limits, PrepareError, SandboxError};

/// Most handlers `describe` may name.
const HANDLERS_MAX: usize = 256;

/// Most bytes `describe` may answer.
const DESCRIBE_BYTES_MAX: usize = 1 << 20;

/// One handler a component serves, as its `describe` names it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct HandlerSpec {
    /// Name in `call`.
    pub name: ExportName,
    /// What it does.
    pub description: Option<String>,
    /// JSON Schema of its input, as text; nothing in it has been checked.
    pub parameters: Option<String>,
}

/// Whether the compiled code came from the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
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
    linked: Linked,
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
    /// Slow, once: 0.2–30 s to compile, under 10 ms from the cache. Compiling happens on a thread of
    /// its own and cannot be interrupted; [`CompileLimits`](crate::CompileLimits) are checked first,
    /// and after 60 s and 10 s per MiB it is given up on.
    ///
    /// # Errors
    /// [`PrepareError`] says why it is no tool this host can run.
    pub async fn prepare(&self, bytes: Vec<u8>) -> Result<(PreparedTool, Origin), PrepareError> {
        let started = Instant::now();
        let limit = compile::time_limit(bytes.len());
        let too_long = self.0.threads.timer(limit);
        let ready = tokio::select! {
            biased;
            ready = self.ready(bytes) => ready?,
            () = too_long => return Err(PrepareError::TooSlow { limit }),
        };
        let (handlers, origin) = match ready.handlers {
            Some(handlers) => (handlers, Origin::Cached),
            None => (self.describe_and_keep(&ready).await?, Origin::Compiled),
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
            linked: ready.linked,
            handlers,
            facts: ready.facts,
        };
        Ok((PreparedTool(Arc::new(prepared)), origin))
    }

    /// Compiles on a thread of its own, one or few at a time.
    async fn ready(&self, bytes: Vec<u8>) -> Result<Ready, PrepareError> {
        let cell = Arc::clone(&self.0);
        let compiling = Arc::clone(&self.0.compiling);
        let turn = compiling.acquire_owned().await.map_err(host_failed)?;
        let work = move || {
            // Compiling goes on when nobody waits for it any more, and keeps its turn until the end.
            let _turn = turn;
            ready(&cell, &bytes)
        };
        let compiled = self.0.threads.guests().spawn_blocking(work);
        compiled.await.map_err(host_failed)?
    }

    /// Asks a component what it serves, and keeps the answer with the compiled code.
    async fn describe_and_keep(&self, ready: &Ready) -> Result<Vec<HandlerSpec>, PrepareError> {
        let handlers = self.describe(ready).await?;
        if self.0.cache.is_some() {
            let (cell, component) = (Arc::clone(&self.0), ready.component.clone());
            let (sha256, kept) = (ready.facts.sha256.clone(), handlers.clone());
            let work = move || {
                if let Some(cache) = &cell.cache {
                    cache.store(&sha256, &component, &kept);
                }
            };
            let stored = self.0.threads.guests().spawn_blocking(work);
            stored.await.map_err(host_failed)?;
        }
        Ok(handlers)
    }

    /// Reads a component without compiling it; it need not be one the host would load.
    ///
    /// # Errors
    /// [`PrepareError`] where the bytes are no component, or exceed the limits.
    pub fn read_facts(&self, bytes: &[u8]) -> Result<ComponentFacts, PrepareError> {
        let shape = compile::read(bytes, &self.0.config.compile)?;
        Ok(ComponentFacts::of(bytes, shape))
    }

    async fn describe(&self, ready: &Ready) -> Result<Vec<HandlerSpec>, PrepareError> {
        let visit = Visit {
            cell: Arc::clone(&self.0),
            component: ComponentId::of(&ready.facts.sha256),
            linked: ready.linked.clone(),
            workdir: None,
            protected: WriteProtected::default(),
            grants: Grants::none(),
            agents: None,
            meter: Arc::new(Meter::new(
                Limits {
                    deadline: self.0.config.describing,
                    ..Limits::default()
                },
                Arc::clone(&self.0.host_files),
            )),
        };
        let (answer, ..) = visit.run(Errand::Describe).await;
        let answer = answer.map_err(|error| {
            // Nothing of the guest ran: the engine found that its exports have other types.
            if let SandboxError::Host(differs) = &error {
                let reason = format!("{differs:#}");
                return PrepareError::WrongShape { reason };
            }
            PrepareError::Describe(error)
        })?;
        match answer {
            Answer::Exports(exports) => checked(exports),
            Answer::Outcome(_) | Answer::Cancelled => {
                Err(PrepareError::Host("describe was not asked".to_owned()))
            }
        }
    }
}

/// A component whose code is there, before it was asked what it serves.
struct Ready {
    component: Component,
    linked: Linked,
    facts: ComponentFacts,
    handlers: Option<Vec<HandlerSpec>>,
}

fn ready(cell: &Cell, bytes: &[u8]) -> Result<Ready, PrepareError> {
    let shape = compile::read(bytes, &cell.config.compile)?;
    shape.check()?;
    let facts = ComponentFacts::of(bytes, shape);
    let cached = cell.cache.as_ref();
    let cached = cached.and_then(|cache| cache.load(&cell.engine, &facts.sha256));
    let (component, handlers) = match cached {
        Some(Cached {
            component,
            handlers,
        }) => (component, Some(handlers)),
        None => (compile(cell, bytes)?, None),
    };
    let shape_differs = |error: wasmtime::Error| PrepareError::WrongShape {
        reason: format!("{error:#}"),
    };
    let pre = cell
        .linker
        .instantiate_pre(&component)
        .map_err(shape_differs)?;
    let linked = Linked::new(pre).map_err(shape_differs)?;
    Ok(Ready {
        component,
        linked,
        facts,
        handlers,
    })
}

fn compile(cell: &Cell, bytes: &[u8]) -> Result<Component, PrepareError> {
    Component::from_binary(&cell.engine, bytes).map_err(|error| PrepareError::Compile {
        reason: format!("{error:#}"),
    })
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
            name: crate::output::printable(&export.name, 80),
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
        self.0.linked.polling.is_some()
    }

    /// Asks one thing of a fresh instance, which is gone when this returns: to run a handler, for
    /// the outcome of a handle, or to forget one.
    ///
    /// Runs where it is awaited, on any executor; a guest that keeps computing moves to the
    /// sandbox's own threads. Dropping the future stops the guest and gives back its place.
    pub async fn call(&self, invocation: Invocation) -> CallReport {
        let host_files = Arc::clone(&self.0.cell.host_files);
        let meter = Arc::new(Meter::new(invocation.limits, host_files));
        let unanswered = Unanswered::new(&meter, &invocation.ask);
        let visit = Visit {
            cell: Arc::clone(&self.0.cell),
            component: self.0.component,
            linked: self.0.linked.clone(),
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
        let outcome = answer.and_then(|answer| outcome_of(answer, &meter));
        report(outcome, &meter, queued, wall)
    }

    fn errand(&self, ask: Ask, context: ToolContext) -> Result<Errand, SandboxError> {
        let polling = || self.0.linked.polling.clone();
        let context = lowered(context);
        match ask {
            Ask::Handler {
                name: handler,
                input,
            } => Ok(Errand::Call {
                handler,
                context,
                input,
            }),
            Ask::Poll { handle } => Ok(Errand::Poll {
                polling: polling().ok_or(SandboxError::NoPolling)?,
                context,
                handle,
            }),
            Ask::Cancel { handle } => Ok(Errand::Cancel {
                polling: polling().ok_or(SandboxError::NoPolling)?,
                context,
                handle,
            }),
        }
    }
}

/// The context in the guest's types.
fn lowered(context: ToolContext) -> handlers::ToolContext {
    handlers::ToolContext {
        agent_name: context.agent_name,
        instance_key: context.instance_key,
        turn_id: context.turn_id,
        tool_call_id: context.tool_call_id,
        trace_id: context.trace_id,
        message: context.message.as_json().to_owned(),
        workdir: context.workdir,
    }
}
