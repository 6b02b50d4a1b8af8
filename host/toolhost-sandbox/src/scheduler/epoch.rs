//! Interrupts guests: a thread that advances the engine's epoch while calls run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use wasmtime::EngineWeak;

/// Length of an epoch. A deadline is noticed in guest code at most this much later.
const TICK: Duration = Duration::from_millis(1);

/// Ticks without a running call after which the thread sleeps.
const IDLE_TICKS: u32 = 100;

/// Advances the epoch while calls run, and sleeps otherwise. Dropping it ends its thread.
pub(crate) struct EpochTicker {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

#[derive(Default)]
struct Shared {
    running: AtomicUsize,
    asleep: AtomicBool,
    ended: AtomicBool,
}

/// Keeps the epoch advancing, until dropped.
pub(crate) struct EpochGuard(Arc<Shared>);

impl Drop for EpochGuard {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, SeqCst);
    }
}

impl EpochTicker {
    pub(crate) fn spawn(engine: EngineWeak) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("toolhost-epoch".to_owned())
            .spawn(move || tick(&engine, &own))?;
        Ok(Self { shared, thread })
    }

    pub(crate) fn start(&self) -> EpochGuard {
        self.shared.running.fetch_add(1, SeqCst);
        if self.shared.asleep.load(SeqCst) {
            self.thread.thread().unpark();
        }
        EpochGuard(Arc::clone(&self.shared))
    }
}

impl Drop for EpochTicker {
    fn drop(&mut self) {
        self.shared.ended.store(true, SeqCst);
        self.thread.thread().unpark();
    }
}

fn tick(engine: &EngineWeak, shared: &Shared) {
    let mut idle = 0;
    while !shared.ended.load(SeqCst) {
        thread::sleep(TICK);
        match engine.upgrade() {
            Some(engine) => engine.increment_epoch(),
            None => return,
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
        // A call that starts now is either counted here, or it sees `asleep` and wakes this thread.
        while shared.running.load(SeqCst) == 0 && !shared.ended.load(SeqCst) {
            thread::park();
        }
        shared.asleep.store(false, SeqCst);
        idle = 0;
    }
}
