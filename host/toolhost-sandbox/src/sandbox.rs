//! The shared handle: one per process, cloned freely.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::accounting::meter;
use crate::accounting::quota::Shares;
use crate::component::cache::{CacheConfig, ComponentCache};
use crate::component::compiler::Compiler;
use crate::component::inspect::CompileLimits;
use crate::engine::Ticker;
use crate::engine::pools::{Allocation, InstancePools};
use crate::host::http::{HttpConfig, Network};
use crate::scheduler::admission::{MOST_HANGING, Places};
use crate::scheduler::executor::{GuestThreads, NoThread, spawn_blocking};
use crate::workdir::{Growths, Workdir, WorkdirError, WorkdirRules};
use crate::{SandboxError, SandboxStartError};

/// How a [`Sandbox`] is set up.
#[derive(Debug, Clone)]
pub struct SandboxConfig {
    /// How instances get their memory. Default: [`Allocation::Pooling`].
    pub allocation: Allocation,
    /// Calls that run at once. Default 1,024.
    pub live_calls: u32,
    /// Calls that wait for another agent at once. Each keeps its instance and its memory, and gives
    /// its place to others; one more than these is told that it cannot wait. Instances have
    /// `live_calls + parked_calls` slots. Default 256.
    pub parked_calls: u32,
    /// Places that one component's calls may hold for each that is free, when another of them starts.
    /// With 3, the default, a component may take three quarters of the places while no other wants
    /// any, and less as others run; with `u32::MAX` there is no such limit. At least 1. The same
    /// holds for the line of those that wait, for memory, for open files and for parked calls. A call
    /// that was parked goes on whatever its share.
    pub share_per_free: u32,
    /// How long `describe` may take. Default 10 s.
    pub describing: Duration,
    /// Calls that may wait for a place. Default 16,384; one component's fill at most the share of
    /// them that it may have of places.
    pub waiting_calls: usize,
    /// How long a call waits for a place. Default 30 s.
    pub queueing: Duration,
    /// Linear memory of all running and parked calls, in bytes. Default 4 GiB.
    pub memory_bytes: u64,
    /// Linear memory that may stay resident in slots between calls, in bytes, beside `memory_bytes`.
    /// Calls in such slots take fewer page faults. A third of the bytes goes to slots that keep
    /// 4 MiB of a memory, the rest to slots that keep 32 MiB; below 192 MiB there are none of the
    /// latter, below 48 MiB none at all. Calls beyond them, and components whose memory is large and
    /// mostly empty, run in memory that is returned to the kernel. Default 1.5 GiB. Not counted are
    /// 64 KiB for each table in such a slot, and the stacks that calls ran on, 512 KiB each at most.
    pub idle_memory_bytes: u64,
    /// What a component may be made of.
    pub compile: CompileLimits,
    /// Compiles in processes of its own. Default: this process compiles, on a thread, which has no
    /// limit of memory and runs on when the time is up.
    pub compiler: Option<Compiler>,
    /// Where compiled components are kept. Default: nowhere; each load compiles.
    pub cache: Option<CacheConfig>,
    /// How guests' HTTP requests find their servers.
    pub http: HttpConfig,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            allocation: Allocation::Pooling,
            live_calls: 1_024,
            parked_calls: 256,
            share_per_free: 3,
            describing: Duration::from_secs(10),
            waiting_calls: 16_384,
            queueing: Duration::from_secs(30),
            memory_bytes: 4 << 30,
            idle_memory_bytes: 1536 << 20,
            compile: CompileLimits::default(),
            compiler: None,
            cache: None,
            http: HttpConfig::default(),
        }
    }
}

/// The engine and everything calls share. One per process; every clone is the same sandbox.
///
/// It knows no tool: see [`Sandbox::prepare`].
#[derive(Clone)]
pub struct Sandbox(pub(crate) Arc<Cell>);

/// What a [`Sandbox`] holds.
pub(crate) struct Cell {
    pub(crate) pools: InstancePools,
    pub(crate) ticker: Ticker,
    pub(crate) threads: GuestThreads,
    pub(crate) config: SandboxConfig,
    pub(crate) places: Arc<Places>,
    pub(crate) parked: Arc<Shares>,
    pub(crate) hanging: Arc<Semaphore>,
    pub(crate) memory: Arc<Shares>,
    pub(crate) host_files: Arc<Shares>,
    pub(crate) compiling: Arc<Semaphore>,
    pub(crate) computing: Arc<Semaphore>,
    pub(crate) cache: Option<ComponentCache>,
    pub(crate) network: Arc<Network>,
    growths: Growths,
}

impl Sandbox {
    /// Starts a sandbox.
    ///
    /// # Errors
    /// [`SandboxStartError`] where the engine refuses this machine, the cache cannot be used, or a
    /// root certificate is none.
    pub fn new(config: SandboxConfig) -> Result<Self, SandboxStartError> {
        // Instances that are there at once.
        let slots = config.live_calls.saturating_add(config.parked_calls);
        let slots = slots.saturating_add(u32::try_from(MOST_HANGING).unwrap_or(u32::MAX));
        let share = config.share_per_free;
        let pools =
            InstancePools::start(config.allocation, slots, config.idle_memory_bytes, share)?;
        let ticker = Ticker::start(pools.engines()).map_err(SandboxStartError::Thread)?;
        let cache = config.cache.as_ref();
        let cache = cache.map(|config| ComponentCache::open(config, &pools.rest().engine));
        let cache = cache.transpose()?;
        let network = Arc::new(Network::new(&config.http, config.share_per_free)?);
        let memory = Arc::new(Shares::new(config.memory_bytes, share));
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self(Arc::new(Cell {
            pools,
            ticker,
            threads: GuestThreads::start(slots).map_err(SandboxStartError::Thread)?,
            host_files: Arc::new(meter::host_files(share)),
            places: Arc::new(Places::new(&config, Arc::clone(&memory))),
            parked: Arc::new(Shares::new(config.parked_calls.into(), share)),
            hanging: Arc::new(Semaphore::new(MOST_HANGING)),
            memory,
            compiling: Arc::new(Semaphore::new((cores / 2).max(1))),
            computing: Arc::new(Semaphore::new(cores)),
            cache,
            network,
            growths: Growths::default(),
            config,
        })))
    }

    /// Opens a directory to be a guest's `/`.
    ///
    /// # Errors
    /// [`WorkdirError`] where it cannot be opened, is `/`, contains the cache or its key, or the
    /// rules refuse it.
    pub fn open_workdir(&self, path: &Path, rules: &WorkdirRules) -> Result<Workdir, WorkdirError> {
        let mut rules = rules.clone();
        // Whoever can write the cache or read its key can have code of theirs mapped.
        if let Some(cache) = &self.0.config.cache {
            rules.keep_private("the cache of compiled components", &cache.dir);
            rules.keep_out_of("the key of the cache", &cache.key_file);
        }
        Workdir::open(path, &rules, &self.0.growths)
    }

    /// Opens a directory that the host itself made for guests; no rule is asked.
    ///
    /// # Errors
    /// [`WorkdirError`] where it cannot be opened.
    pub fn open_own_workdir(&self, path: &Path) -> Result<Workdir, WorkdirError> {
        Workdir::open_own(path, &self.0.growths)
    }

    /// Awaits a future of the host's own for so long, by the sandbox's clock: the caller needs no timer
    /// of its own. None where it takes longer; it is dropped then.
    pub async fn within<T>(&self, time: Duration, future: impl Future<Output = T>) -> Option<T> {
        let too_long = self.0.threads.timer(time);
        tokio::select! {
            biased;
            done = future => Some(done),
            () = too_long => None,
        }
    }

    /// Runs a future of the host's own in the background: on the caller's runtime, where there is one,
    /// else on the sandbox's threads.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(future)),
            Err(_) => self.spawn_own(future),
        }
    }

    /// Runs what computes for long on a thread of the sandbox's own, as many at once as there are cores.
    /// What has not begun when the future is dropped never does.
    ///
    /// # Errors
    /// [`SandboxError::HostPanic`] where it panicked; [`SandboxError::Busy`] where the system has no thread.
    pub async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, SandboxError> {
        let busy = || SandboxError::Busy {
            reason: "the system has no thread for it",
        };
        let turn = Arc::clone(&self.0.computing).acquire_owned().await;
        let turn = turn.map_err(|_| busy())?;
        let task = spawn_blocking(self.0.threads.guests(), move || {
            let done = work();
            drop(turn);
            done
        });
        let done = task.map_err(|NoThread| busy())?.await;
        done.map_err(|_| SandboxError::HostPanic)
    }

    /// Runs a future of the host's own on the sandbox's threads, which outlive the caller's runtime.
    pub fn spawn_own(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.0.threads.guests().spawn(future));
    }

    /// How instances get their memory: what was asked for, or what was possible.
    #[must_use]
    pub fn allocation(&self) -> Allocation {
        self.0.pools.allocation()
    }

    /// The compiled components it keeps, for people to look at. None where it keeps none.
    #[must_use]
    pub fn cache(&self) -> Option<&ComponentCache> {
        self.0.cache.as_ref()
    }

    /// What a component may be made of.
    #[must_use]
    pub fn compile_limits(&self) -> &CompileLimits {
        &self.0.config.compile
    }

    /// Places that no call holds: one of a component that runs nothing could start now.
    #[must_use]
    pub fn free_places(&self) -> usize {
        self.0.places.free()
    }

    /// Calls that wait for a place.
    #[must_use]
    pub fn waiting_calls(&self) -> usize {
        self.0.places.waiting()
    }

    /// Calls that wait for another agent.
    #[must_use]
    pub fn parked_calls(&self) -> usize {
        usize::try_from(self.0.parked.held()).unwrap_or(usize::MAX)
    }

    /// Calls that were answered at their deadline while a file call of theirs hangs on: each keeps a
    /// thread, its files and its memory until the system ends that. While there are 32, no call starts
    /// whose workdir is [`FileIo::Offload`](crate::FileIo::Offload).
    #[must_use]
    pub fn hanging_calls(&self) -> usize {
        MOST_HANGING.saturating_sub(self.0.hanging.available_permits())
    }

    /// Memory that stays resident in slots that no call uses, in bytes, as the engine counts it after
    /// each call: at most [`idle_memory_bytes`](SandboxConfig::idle_memory_bytes), and 64 KiB for each
    /// table.
    #[must_use]
    pub fn idle_memory(&self) -> u64 {
        self.0.pools.idle_memory()
    }

    /// Linear memory that running and parked calls hold, in bytes.
    #[must_use]
    pub fn memory_in_use(&self) -> u64 {
        self.0.memory.held()
    }
}
