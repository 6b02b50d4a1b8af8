//! The engines and their clock.

pub(crate) mod pools;
pub(crate) mod settings;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wasmtime::{Engine, EngineWeak};

/// One tick of the epoch: how late a deadline is noticed in guest code.
const TICK: Duration = Duration::from_millis(1);

/// Ticks without a running call after which the clock sleeps.
const IDLE_TICKS: u32 = 100;

/// Makes an engine that only compiles, for the engines of every pool.
pub(crate) fn for_compiling() -> wasmtime::Result<Engine> {
    Engine::new(&settings::config(None))
}

/// Advances the engines' epochs while calls run, and sleeps while none does.
pub(crate) struct Ticker {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    running: AtomicUsize,
    asleep: AtomicBool,
    ended: AtomicBool,
}

/// Says that a call runs, until dropped.
pub(crate) struct Running(Arc<Shared>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

impl Ticker {
    pub(crate) fn start(engines: Vec<EngineWeak>) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("toolhost-epoch".to_owned())
            .spawn(move || tick(&engines, &own))?;
        Ok(Self { shared, thread })
    }

    pub(crate) fn running(&self) -> Running {
        self.shared.running.fetch_add(1, SeqCst);
        if self.shared.asleep.load(SeqCst) {
            self.thread.thread().unpark();
        }
        Running(Arc::clone(&self.shared))
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.shared.ended.store(true, SeqCst);
        self.thread.thread().unpark();
    }
}

fn tick(engines: &[EngineWeak], shared: &Shared) {
    let mut idle = 0;
    while !shared.ended.load(SeqCst) {
        thread::sleep(TICK);
        let mut alive = false;
        for engine in engines.iter().filter_map(EngineWeak::upgrade) {
            engine.increment_epoch();
            alive = true;
        }
        if !alive {
            return;
        }
        idle = if shared.running.load(SeqCst) == 0 {
            idle + 1
        } else {
            0
        };
        if idle < IDLE_TICKS {
            continue;
        }
        shared.asleep.store(true, SeqCst);
        // A call that starts now either is seen here or sees `asleep` and wakes this thread.
        while shared.running.load(SeqCst) == 0 && !shared.ended.load(SeqCst) {
            thread::park();
        }
        shared.asleep.store(false, SeqCst);
        idle = 0;
    }
}
