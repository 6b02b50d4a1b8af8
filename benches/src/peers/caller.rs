//! What is measured: a way to do one work, and the calls of one round.

use std::future::Future;
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

/// One way to do one work. Calls panic if an output is not the expected one.
pub(super) trait Caller {
    /// Does the work once and returns the JSON of its output.
    fn once(&mut self) -> String;

    /// Calls for some time, with so many calls at once. Calls that have begun are finished.
    fn run(&mut self, in_flight: usize, time: Duration) -> Calls;

    /// The most calls at once that it can do.
    fn most_in_flight(&self) -> usize;

    /// The process that does the work, if it lives from call to call.
    fn process(&self) -> Option<u32> {
        None
    }
}

/// The calls of one round.
pub(super) struct Calls {
    pub(super) latencies: Vec<Duration>,
    pub(super) took: Duration,
}

impl Calls {
    pub(super) fn since(started: Instant, latencies: Vec<Duration>) -> Self {
        Self {
            latencies,
            took: started.elapsed(),
        }
    }

    pub(super) fn per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.took.as_secs_f64()
    }
}

/// Calls from so many tasks; a single one runs on this thread.
pub(super) fn from_tasks<F, Called>(
    runtime: &Handle,
    in_flight: usize,
    time: Duration,
    call: F,
) -> Calls
where
    F: Fn() -> Called + Clone + Send + 'static,
    Called: Future<Output = ()> + Send,
{
    let started = Instant::now();
    let caller = move || {
        let call = call.clone();
        async move {
            let mut latencies = Vec::new();
            // At least one call, however late this task began.
            loop {
                let begin = Instant::now();
                call().await;
                latencies.push(begin.elapsed());
                if started.elapsed() >= time {
                    return latencies;
                }
            }
        }
    };
    if in_flight == 1 {
        return Calls::since(started, runtime.block_on(caller()));
    }
    let callers: Vec<_> = (0..in_flight).map(|_| runtime.spawn(caller())).collect();
    let latencies = runtime.block_on(async {
        let mut latencies = Vec::new();
        for caller in callers {
            latencies.extend(caller.await.unwrap());
        }
        latencies
    });
    Calls::since(started, latencies)
}

/// Calls from a thread for each of `callers`.
pub(super) fn from_threads<C: Send>(
    callers: &mut [C],
    time: Duration,
    call: impl Fn(&mut C) + Sync,
) -> Calls {
    let started = Instant::now();
    let run = |caller: &mut C| {
        let mut latencies = Vec::new();
        // At least one call, however late this thread began.
        loop {
            let begin = Instant::now();
            call(caller);
            latencies.push(begin.elapsed());
            if started.elapsed() >= time {
                return latencies;
            }
        }
    };
    let latencies = match callers {
        [caller] => run(caller),
        callers => thread::scope(|scope| {
            let run = &run;
            let threads: Vec<_> = callers
                .iter_mut()
                .map(|caller| scope.spawn(move || run(caller)))
                .collect();
            let joined = threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap());
            joined.collect()
        }),
    };
    Calls::since(started, latencies)
}
