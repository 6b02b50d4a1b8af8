//! Loads a component: finds its code in the cache, or checks it, compiles it and calls its `describe`.

mod compiled_code;
mod describe;
mod resume;

use std::error::Error as StdError;
use std::future::pending;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fmt, io};

use tokio::sync::{OwnedSemaphorePermit, oneshot};
use toolhost_runtime::{debug_fields, spawn_blocking};
use wasmtime::OutOfMemory;
use wasmtime::component::Component;

use crate::PrepareError;
use crate::call::code::ComponentCode;
use crate::component::cache::{CompileLock, CompileQueue, CompileTurn, ComponentRecord, FileStamp};
use crate::component::code_origin::CodeOrigin;
use crate::component::digest::ComponentDigest;
use crate::component::facts::ComponentFacts;
use crate::component::inspect::{InspectionRules, polls, read};
use crate::engine::memory::image::Image;
use crate::engine::memory::source::MemorySource;
use crate::sandbox::{Sandbox, SandboxInner};
use crate::tool::PreparedTool;
use compiled_code::{CompiledCode, compile};
use describe::{describe, reason};
pub use resume::{BuildFolder, ResumeError};

/// How long a component waits while others are compiled.
const MAX_WAIT: Duration = Duration::from_secs(60 * 60);

/// How long a component that waits for another process does so before it looks again: at first, and at most.
const LOOK_AGAIN: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(50));

/// Seconds that a compiler may take for each second of processor time, as it shares the machine.
const WALL_PER_PROCESSOR: u32 = 4;

/// What takes long while a component is prepared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrepareStage {
    /// It is compiled: 0.2–30 s.
    Compiling,
    /// Another process with the same cache compiles it, or as many other components as the machine has cores for.
    Waiting,
}

/// A component that was checked: see [`Sandbox::check`].
#[derive(Debug)]
pub enum CheckedTool {
    /// It can be called.
    Ready(PreparedTool, CodeOrigin),
    /// It must be compiled.
    Uncompiled(UncompiledTool),
}

/// A component that was checked, and whose code is neither in the process nor in the cache.
pub struct UncompiledTool(Box<Uncompiled>);

impl UncompiledTool {
    /// What it is.
    pub fn facts(&self) -> &ComponentFacts {
        &self.0.facts
    }

    /// Whether it exports `goondan:tool/polling`, so that its handles can be polled.
    pub fn polls(&self) -> bool {
        polls(&self.0.facts.exports)
    }
}

debug_fields!(UncompiledTool, this => sha256: this.0.facts.sha256);

struct Uncompiled {
    bytes: Vec<u8>,
    digest: ComponentDigest,
    facts: ComponentFacts,
    /// The artifact that the cache had and did not map.
    refused: Option<FileStamp>,
    /// None without a cache.
    queue: Option<CompileQueue>,
}

/// A component that was compiled now.
struct New {
    code: Arc<ComponentCode>,
    digest: ComponentDigest,
    facts: ComponentFacts,
    /// Whether it may be stored in the cache.
    is_cacheable: bool,
    /// See [`ComponentRecord::code`].
    code_digest: Option<String>,
    /// Held until it is stored.
    lock: Option<CompileLock>,
}

/// Whether a component can be compiled now.
enum Begun {
    /// None without a cache.
    Turn(Option<CompileTurn>),
    /// Another call, or another process, has compiled it meanwhile.
    Meanwhile(PreparedTool),
    /// Another process compiles it, or others.
    Blocked,
}

impl Sandbox {
    /// Compiles a component, or maps it from the cache, and reads which handlers it serves.
    ///
    /// Compiling takes 0.2–30 s, mapping some milliseconds. A component that is compiled is checked
    /// against [`CompileLimits`](crate::CompileLimits) first; one from the cache is checked again if it
    /// was checked against other limits, or by another release of this crate. A component that is not in
    /// the cache waits while others are compiled, for an hour at most. Processes that share a cache compile a
    /// component once, and half as many components at a time as there are cores; who waits for another process
    /// looks again every 50 ms, and compiles anyway once that one has held the same lock for
    /// [`CompileLimits::time`](crate::CompileLimits::time). Dropping the future ends a
    /// [`Compiler`](crate::Compiler); without one, a thread compiles, and continues to its end.
    ///
    /// # Errors
    /// [`PrepareError`] says why this host cannot run it.
    pub async fn prepare(
        &self,
        bytes: Vec<u8>,
    ) -> Result<(PreparedTool, CodeOrigin), PrepareError> {
        self.prepare_again(bytes, &[], |_| {}).await
    }

    /// Prepares a component as [`Self::prepare`] does, or returns the one of `earlier` that this sandbox
    /// prepared from the same bytes. Calls `on_stage` when it begins to compile, and when it begins to wait for
    /// another process.
    ///
    /// # Errors
    /// [`PrepareError`] says why this host cannot run it.
    pub async fn prepare_again(
        &self,
        bytes: Vec<u8>,
        earlier: &[PreparedTool],
        on_stage: impl Fn(PrepareStage) + Send + Sync,
    ) -> Result<(PreparedTool, CodeOrigin), PrepareError> {
        match self.check(bytes, earlier).await? {
            CheckedTool::Ready(tool, origin) => Ok((tool, origin)),
            CheckedTool::Uncompiled(tool) => self.compile(tool, on_stage).await,
        }
    }

    /// Reads and checks a component as [`Self::prepare_again`] does, and does not compile it: what is not found among
    /// the `earlier` ones or in the cache is returned for [`Self::compile`].
    ///
    /// What a check cannot find out, the types of imports and exports and the answer of `describe`, is an error of
    /// [`Self::compile`].
    ///
    /// # Errors
    /// [`PrepareError`] says why this host cannot run it.
    pub async fn check(
        &self,
        bytes: Vec<u8>,
        earlier: &[PreparedTool],
    ) -> Result<CheckedTool, PrepareError> {
        let started = Instant::now();
        let (sandbox, earlier) = (Arc::clone(&self.0), earlier.to_vec());
        let checked = self.on_thread(move || check(&sandbox, bytes, &earlier));
        let checked = checked.await.flatten();
        match &checked {
            Ok(CheckedTool::Ready(tool, origin)) => self.count(started, Some((tool, *origin))),
            Ok(CheckedTool::Uncompiled(_)) => {}
            Err(_) => self.count(started, None),
        }
        checked
    }

    /// Compiles a component that was checked, and reads which handlers it serves. Waits, calls `on_stage` and can be
    /// dropped as [`Self::prepare_again`].
    ///
    /// # Errors
    /// [`PrepareError`] says why this host cannot run it.
    pub async fn compile(
        &self,
        tool: UncompiledTool,
        on_stage: impl Fn(PrepareStage) + Send + Sync,
    ) -> Result<(PreparedTool, CodeOrigin), PrepareError> {
        let started = Instant::now();
        let compiled = self.compile_uncounted(tool.0, &on_stage).await;
        let prepared = compiled.as_ref().ok();
        self.count(started, prepared.map(|(tool, origin)| (tool, *origin)));
        compiled
    }

    /// How many components are compiled at once, here and in all processes with the same cache.
    pub fn compile_slots(&self) -> usize {
        self.0.compile_slots
    }

    /// Counts a component; `None` is one that could not be prepared.
    fn count(&self, started: Instant, prepared: Option<(&PreparedTool, CodeOrigin)>) {
        self.0.prepared.add(prepared.map(|(_, origin)| origin));
        if let Some((tool, origin)) = prepared {
            tracing::debug!(
                sha256 = tool.facts().sha256,
                ?origin,
                elapsed_ms = started.elapsed().as_secs_f64() * 1000.0,
                "prepared a component"
            );
        }
    }

    async fn compile_uncounted(
        &self,
        mut uncompiled: Box<Uncompiled>,
        on_stage: &(impl Fn(PrepareStage) + Send + Sync),
    ) -> Result<(PreparedTool, CodeOrigin), PrepareError> {
        let (started, mut wait) = (Instant::now(), LOOK_AGAIN.0);
        loop {
            let left = MAX_WAIT.saturating_sub(started.elapsed());
            let permit = self.compile_permit(left).await?;
            let (same, begun) = self.begin(uncompiled).await?;
            uncompiled = same;
            match begun {
                Begun::Turn(turn) => {
                    on_stage(PrepareStage::Compiling);
                    let new = self.compile_now(uncompiled, permit, turn).await?;
                    let tool = self.describe_and_store(new).await?;
                    return Ok((tool, CodeOrigin::Compiled));
                }
                Begun::Meanwhile(tool) => return Ok((tool, CodeOrigin::Cached)),
                Begun::Blocked => {}
            }
            drop(permit);
            if left.is_zero() {
                return Err(PrepareError::WaitedTooLong { limit: MAX_WAIT });
            }
            if wait == LOOK_AGAIN.0 {
                on_stage(PrepareStage::Waiting);
            }
            self.threads().within(wait, pending::<()>()).await;
            wait = (wait * 2).min(LOOK_AGAIN.1);
        }
    }

    /// Reads a component without compiling it. It need not be one that the host would load.
    ///
    /// # Errors
    /// [`PrepareError`] where the bytes are not a component, or exceed the limits.
    pub fn read_facts(&self, bytes: &[u8]) -> Result<ComponentFacts, PrepareError> {
        let info = read(bytes, &self.0.config.compile)?;
        Ok(ComponentFacts::new(bytes, info))
    }

    /// Waits while this process compiles other components.
    async fn compile_permit(&self, time: Duration) -> Result<OwnedSemaphorePermit, PrepareError> {
        let permit = Arc::clone(&self.0.compiling).acquire_owned();
        let permit = self.threads().within(time, permit).await;
        let too_long = PrepareError::WaitedTooLong { limit: MAX_WAIT };
        permit.ok_or(too_long)?.map_err(host_failed)
    }

    /// Finds out whether a component can be compiled now, on a thread.
    async fn begin(
        &self,
        mut component: Box<Uncompiled>,
    ) -> Result<(Box<Uncompiled>, Begun), PrepareError> {
        let sandbox = Arc::clone(&self.0);
        let work = move || {
            let begun = begin(&sandbox, &mut component)?;
            Ok((component, begun))
        };
        self.on_thread(work).await?
    }

    /// Compiles a component on a thread of its own.
    async fn compile_now(
        &self,
        component: Box<Uncompiled>,
        permit: OwnedSemaphorePermit,
        turn: Option<CompileTurn>,
    ) -> Result<New, PrepareError> {
        let limit = self.0.config.compile.time_for(component.bytes.len());
        let timeout = match self.0.config.compiler {
            Some(_) => limit.saturating_mul(WALL_PER_PROCESSOR),
            None => limit,
        };
        let sandbox = Arc::clone(&self.0);
        // Dropped with this future, which ends the compiler.
        let (cancelled, _alive) = oneshot::channel::<()>();
        let work = move || {
            // Both are held until the compiler ends.
            let (_permit, turn) = (permit, turn);
            let Uncompiled {
                bytes,
                digest,
                facts,
                ..
            } = *component;
            let started = Instant::now();
            let compiled = compile(&sandbox, bytes, || !cancelled.is_closed());
            sandbox.prepared.add_compile_time(started.elapsed());
            let CompiledCode {
                component,
                image,
                is_cacheable,
                code,
            } = compiled?;
            Ok(New {
                code: link(&sandbox, &component, image, digest)?,
                digest,
                facts,
                is_cacheable,
                code_digest: code,
                lock: turn.and_then(CompileTurn::leave_slot),
            })
        };
        let compiled = self.threads().within(timeout, self.on_thread(work)).await;
        compiled.unwrap_or(Err(PrepareError::TooSlow { limit }))?
    }

    /// Runs blocking work on a thread of its own.
    async fn on_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PrepareError> {
        let done = spawn_blocking(self.0.threads.handle(), work).map_err(host_failed)?;
        done.await.map_err(host_failed)
    }

    /// Calls `describe`, and stores the answer with the compiled code in the cache.
    async fn describe_and_store(&self, new: New) -> Result<PreparedTool, PrepareError> {
        let New {
            code,
            digest,
            facts,
            is_cacheable,
            code_digest,
            lock,
        } = new;
        let handlers = describe(&self.0, &code, digest.id()).await?;
        let sandbox = Arc::clone(&self.0);
        let work = move || {
            let record = ComponentRecord {
                facts,
                rules: InspectionRules::with(&sandbox.config.compile),
                handlers,
                code: code_digest,
            };
            if let (Some(cache), true) = (&sandbox.cache, is_cacheable) {
                let image = code.memory.image();
                cache.store(digest, code.pre.component(), image, &record);
            }
            drop(lock);
            PreparedTool::new(&sandbox, code, digest, record)
        };
        self.on_thread(work).await
    }
}

/// Looks for the code of a component: among earlier ones, and in the cache. If it is in neither, checks the
/// component.
fn check(
    sandbox: &Arc<SandboxInner>,
    bytes: Vec<u8>,
    earlier: &[PreparedTool],
) -> Result<CheckedTool, PrepareError> {
    let digest = ComponentDigest::of(&bytes);
    let same = earlier.iter().find(|tool| tool.is_of(sandbox, digest));
    if let Some(same) = same {
        return Ok(CheckedTool::Ready(same.clone(), CodeOrigin::Reused));
    }
    let cache = sandbox.cache.as_ref();
    let refused = cache.and_then(|cache| cache.stamp(digest));
    if let Some(tool) = cached(sandbox, digest, &bytes)? {
        return Ok(CheckedTool::Ready(tool, CodeOrigin::Cached));
    }
    let limits = &sandbox.config.compile;
    let info = read(&bytes, limits)?;
    info.check()?;
    let patience = limits.time_for(bytes.len());
    Ok(CheckedTool::Uncompiled(UncompiledTool(Box::new(
        Uncompiled {
            facts: ComponentFacts::new(&bytes, info),
            digest,
            refused,
            queue: cache.map(|cache| cache.queue(digest, sandbox.compile_slots, patience)),
            bytes,
        },
    ))))
}

/// Takes the locks for compiling a component, unless its artifact is there meanwhile.
fn begin(sandbox: &Arc<SandboxInner>, component: &mut Uncompiled) -> Result<Begun, PrepareError> {
    let (Some(cache), Some(queue)) = (&sandbox.cache, &mut component.queue) else {
        return Ok(Begun::Turn(None));
    };
    let turn = queue.try_begin();
    let stamp = cache.stamp(component.digest);
    if stamp != component.refused {
        // Nobody waits while it is verified.
        drop(turn);
        component.refused = stamp;
        let tool = cached(sandbox, component.digest, &component.bytes)?;
        return Ok(tool.map_or(Begun::Blocked, Begun::Meanwhile));
    }
    Ok(turn.map_or(Begun::Blocked, |turn| Begun::Turn(Some(turn))))
}

/// Maps a component from the cache. None where it is not there.
fn cached(
    sandbox: &Arc<SandboxInner>,
    digest: ComponentDigest,
    bytes: &[u8],
) -> Result<Option<PreparedTool>, PrepareError> {
    let cache = sandbox.cache.as_ref();
    let found = cache.and_then(|cache| cache.load(&sandbox.engine, digest));
    let Some(found) = found else {
        return Ok(None);
    };
    let limits = &sandbox.config.compile;
    if found.record.rules != InspectionRules::with(limits) {
        read(bytes, limits)?.check()?;
    }
    let code = link(sandbox, &found.component, found.image, digest)?;
    Ok(Some(PreparedTool::new(sandbox, code, digest, found.record)))
}

fn link(
    sandbox: &SandboxInner,
    component: &Component,
    image: Option<Image>,
    digest: ComponentDigest,
) -> Result<Arc<ComponentCode>, PrepareError> {
    let memory = MemorySource::new(digest.id(), image, &sandbox.idle_memory);
    let code = ComponentCode::link(&sandbox.linker, component, memory);
    code.map(Arc::new).map_err(|error| link_failed(&error))
}

/// Tells a component with other types than the host's from a machine that lacks something.
fn link_failed(error: &wasmtime::Error) -> PrepareError {
    let of_host =
        |cause: &(dyn StdError + 'static)| cause.is::<OutOfMemory>() || cause.is::<io::Error>();
    let reason = reason(error);
    if error.chain().any(of_host) {
        PrepareError::Host(reason)
    } else {
        PrepareError::WrongShape { reason }
    }
}

fn host_failed(error: impl fmt::Display) -> PrepareError {
    PrepareError::Host(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_not_blamed_for_what_the_machine_lacks() {
        let differs = wasmtime::Error::msg("expected func, found nothing").context("goondan:tool");
        assert!(matches!(
            link_failed(&differs),
            PrepareError::WrongShape { .. }
        ));
        let lacks = wasmtime::Error::from(io::Error::from(io::ErrorKind::OutOfMemory));
        let error = link_failed(&lacks.context("while linking"));
        assert!(
            matches!(&error, PrepareError::Host(reason) if reason.contains("memory")),
            "{error}"
        );
    }
}
