//! Calls of the library: what every server does for a call, and the call alone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use toolhost::{Instance, Step, ToolStatus};
use toolhost_tests::test_host::open_step;

use super::echo::{TOOL, arguments};
use super::samples::Samples;
use super::servers::Servers;
use crate::measure::call;

pub(super) struct LibraryCalls {
    instance: Instance,
    /// The step of all calls. None if each call has a turn and a step of its own.
    step: Option<Arc<Step>>,
}

impl LibraryCalls {
    pub(super) fn with_turns(servers: &Servers) -> Self {
        Self {
            instance: servers.instance(),
            step: None,
        }
    }

    pub(super) async fn in_a_step(servers: &Servers) -> Self {
        let instance = servers.instance();
        let step = open_step(instance.agent(), "bench", instance.workdir()).await;
        Self {
            step: Some(Arc::new(step)),
            instance,
        }
    }

    pub(super) async fn run(&self, in_flight: usize, time: Duration) -> Samples {
        let started = Instant::now();
        let caller = |_| {
            let (instance, step) = (self.instance.clone(), self.step.clone());
            tokio::spawn(async move {
                let mut latencies = Vec::new();
                while started.elapsed() < time {
                    let begin = Instant::now();
                    match &step {
                        Some(step) => execute(step).await,
                        None => in_a_turn(&instance).await,
                    }
                    latencies.push(begin.elapsed());
                }
                latencies
            })
        };
        let callers: Vec<_> = (0..in_flight).map(caller).collect();
        let mut latencies = Vec::new();
        for caller in callers {
            latencies.extend(caller.await.unwrap());
        }
        Samples::new(latencies, started)
    }
}

async fn in_a_turn(instance: &Instance) {
    let turn = instance.open_turn("turn-1").await.unwrap();
    let step = turn.open_step().await.unwrap();
    execute(&step).await;
    step.close(()).await.unwrap();
    turn.close(()).await.unwrap();
}

async fn execute(step: &Step) {
    let result = step.execute_without_message(call(TOOL, arguments())).await;
    assert_eq!(result.status(), ToolStatus::Ok);
}
