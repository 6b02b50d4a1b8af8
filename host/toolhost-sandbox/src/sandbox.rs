//! The shared handle: one per process, cloned freely.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::Semaphore;
use toolhost_egress::Egress;
use toolhost_files::{Workdir, WorkdirError, WorkdirRules, WorkdirUsages};
use toolhost_runtime::{Quota, Threads};
use wasmtime::Engine;
use wasmtime::component::Linker;

use crate::SandboxStartError;
use crate::component::cache::ComponentCache;
use crate::component::code_origin::{PreparedCount, PreparedCounters};
use crate::component::limits::CompileLimits;
use crate::config::SandboxConfig;
use crate::engine;
use crate::engine::memory::IdleMemory;
use crate::scheduler::admission::{Admission, AdmissionLimits, MAX_HANGING};
use crate::scheduler::epoch::EpochTicker;
use crate::store::data::CallState;
use crate::store::linker::link;

/// The engine and everything calls share. One per process; every clone is the same sandbox.
///
/// It knows no tool: see [`Sandbox::prepare`].
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use toolhost_sandbox::{CacheConfig, Sandbox, SandboxConfig};
///
/// let mut config = SandboxConfig::default();
/// config.cache = Some(CacheConfig::new("/var/cache/agent", "/var/lib/agent/cache.key"));
/// let sandbox = Sandbox::new(config)?;
/// let (tool, origin) = sandbox.prepare(std::fs::read("tool.wasm")?).await?;
/// println!("{} handlers, {origin:?}", tool.handlers().len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Sandbox(pub(crate) Arc<SandboxInner>);

/// What all calls of a sandbox share.
pub(crate) struct SandboxInner {
    pub(crate) config: SandboxConfig,
    pub(crate) engine: Engine,
    pub(crate) linker: Linker<CallState>,
    pub(crate) idle_memory: Arc<IdleMemory>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) threads: Threads,
    pub(crate) memory: Arc<Quota>,
    pub(crate) open_files: Arc<Quota>,
    pub(crate) compiling: Arc<Semaphore>,
    /// How many components are compiled at once, here and in all processes with the same cache.
    pub(crate) compile_slots: usize,
    pub(crate) cache: Option<ComponentCache>,
    pub(crate) prepared: PreparedCounters,
    pub(crate) egress: Egress,
    workdir_usages: WorkdirUsages,
}

impl Sandbox {
    /// Starts a sandbox.
    ///
    /// # Errors
    /// [`SandboxStartError`] where the engine refuses this machine, the cache cannot be used, or a root
    /// certificate is invalid.
    pub fn new(config: SandboxConfig) -> Result<Self, SandboxStartError> {
        let share = config.share_per_free;
        let slots = config.live_calls.saturating_add(config.parked_calls);
        let slots = slots.saturating_add(u32::try_from(MAX_HANGING).unwrap_or(u32::MAX));
        let engine = engine::start().map_err(start_failed)?;
        let linker = link(&engine).map_err(start_failed)?;
        let epoch = EpochTicker::spawn(engine.weak()).map_err(SandboxStartError::Thread)?;
        let cache = config.cache.as_ref();
        let cache = cache.map(|config| ComponentCache::open(config, &engine));
        let cache = cache.transpose()?;
        let memory = Arc::new(Quota::new(config.memory_bytes, share));
        let open_files = Arc::new(Quota::open_files(share));
        let threads = Threads::start(slots).map_err(SandboxStartError::Thread)?;
        let files = Arc::clone(&open_files);
        let egress = Egress::new(&config.http, files, share, threads.clone())
            .map_err(|error| SandboxStartError::Certificate(error.reason))?;
        let clock = threads.clock().clone();
        let limits = AdmissionLimits {
            live_calls: config.live_calls,
            parked_calls: config.parked_calls,
            share_per_free: share,
            waiting_calls: config.waiting_calls,
            queueing: config.queueing,
        };
        let admission = Admission::new(&limits, Arc::clone(&memory), epoch, clock);
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let compile_slots = (cores / 2).max(1);
        Ok(Self(Arc::new(SandboxInner {
            idle_memory: IdleMemory::new(config.idle_memory_bytes, share),
            engine,
            linker,
            admission: Arc::new(admission),
            threads,
            memory,
            open_files,
            compiling: Arc::new(Semaphore::new(compile_slots)),
            compile_slots,
            cache,
            prepared: PreparedCounters::default(),
            egress,
            workdir_usages: WorkdirUsages::default(),
            config,
        })))
    }

    /// Opens a directory to be a guest's `/`.
    ///
    /// # Errors
    /// [`WorkdirError`] where it cannot be opened, is `/`, contains the cache or its key, or is refused
    /// by the rules.
    pub fn open_workdir(&self, path: &Path, rules: &WorkdirRules) -> Result<Workdir, WorkdirError> {
        let mut rules = rules.clone();
        // Whoever can write the cache or read its key can make the host map their code.
        if let Some(cache) = &self.0.config.cache {
            rules.keep_private("the cache of compiled components", &cache.dir);
            rules.keep_out_of("the key of the cache", &cache.key_file);
        }
        Workdir::open(path, &rules, &self.0.workdir_usages)
    }

    /// Opens a directory that the host itself made for guests. No rule applies to it.
    ///
    /// # Errors
    /// [`WorkdirError`] where it cannot be opened.
    pub fn open_own_workdir(&self, path: &Path) -> Result<Workdir, WorkdirError> {
        Workdir::open_own(path, &self.0.workdir_usages)
    }

    /// What sends the requests of guests, for requests of the host.
    pub fn egress(&self) -> &Egress {
        &self.0.egress
    }

    /// The threads that run guests, for work of the host.
    pub fn threads(&self) -> &Threads {
        &self.0.threads
    }

    /// The cache of compiled components. None where none is configured.
    pub fn cache(&self) -> Option<&ComponentCache> {
        self.0.cache.as_ref()
    }

    /// The components that were prepared since the sandbox started, by where their code came from.
    pub fn prepared_count(&self) -> PreparedCount {
        self.0.prepared.now()
    }

    /// Limits on components that are compiled.
    pub fn compile_limits(&self) -> &CompileLimits {
        &self.0.config.compile
    }

    /// Call slots that no call holds. A component that runs nothing could start a call now.
    pub fn free_call_slots(&self) -> usize {
        self.0.admission.free()
    }

    /// Calls that wait for a call slot.
    pub fn waiting_calls(&self) -> usize {
        self.0.admission.waiting()
    }

    /// Calls that wait for another agent.
    pub fn parked_calls(&self) -> usize {
        self.0.admission.parked()
    }

    /// Calls that were answered at their deadline while a file call of theirs had not returned. Each keeps
    /// a thread, its files and its memory until it returns. There are at most 32; with the default
    /// [`share_per_free`](SandboxConfig::share_per_free), one component has at most 24 of them. A component
    /// that has as many as it may starts no call whose workdir is [`FileIo::Offload`](crate::FileIo::Offload).
    pub fn hanging_calls(&self) -> usize {
        self.0.admission.hanging()
    }

    /// Linear memory that stays resident between calls, in bytes, as counted after each call: at most
    /// [`idle_memory_bytes`](SandboxConfig::idle_memory_bytes).
    pub fn idle_memory(&self) -> u64 {
        self.0.idle_memory.kept()
    }

    /// Linear memory that running and parked calls hold, in bytes.
    pub fn memory_in_use(&self) -> u64 {
        self.0.memory.held()
    }
}

fn start_failed(error: wasmtime::Error) -> SandboxStartError {
    SandboxStartError::Engine(format!("{error:#}"))
}
