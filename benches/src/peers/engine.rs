//! The engine alone: wasmtime and wasmtime-wasi, with the settings of `raw.rs`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use toolhost::AssistantMessage;
use wasmtime::Engine;

use super::caller::{Caller, Calls, from_tasks};
use super::works::Work;
use crate::measure::call;
use crate::raw::{self, Pool, Raw};

/// An engine that does all works.
pub(super) struct EngineAlone {
    engine: Engine,
    runtime: Handle,
}

impl EngineAlone {
    pub(super) fn new(runtime: &Handle, pool: Pool) -> Result<Self, String> {
        Ok(Self {
            engine: raw::engine(pool).map_err(|error| format!("{error:#}"))?,
            runtime: runtime.clone(),
        })
    }

    pub(super) fn prepare(&self, work: &Work, workdir: &Path) -> Box<dyn Caller> {
        let message = AssistantMessage::for_call(&call(work.tool, work.input.clone()));
        let call = Call {
            raw: Raw::in_engine(&self.engine, &work.component()),
            workdir: workdir.to_owned(),
            handler: work.handler(),
            message: message.as_json().to_owned(),
            input: work.input.to_string(),
        };
        Box::new(RawCalls {
            runtime: self.runtime.clone(),
            call: Arc::new(call),
            most_in_flight: work.most_in_flight,
        })
    }
}

struct Call {
    raw: Raw,
    workdir: PathBuf,
    handler: &'static str,
    message: String,
    input: String,
}

impl Call {
    async fn run(&self) -> String {
        let (message, input) = (&self.message, &self.input);
        self.raw
            .call(&self.workdir, self.handler, message, input)
            .await
    }
}

struct RawCalls {
    runtime: Handle,
    call: Arc<Call>,
    most_in_flight: usize,
}

impl Caller for RawCalls {
    fn once(&mut self) -> String {
        self.runtime.block_on(self.call.run())
    }

    fn run(&mut self, in_flight: usize, time: Duration) -> Calls {
        let call = Arc::clone(&self.call);
        from_tasks(&self.runtime, in_flight, time, move || {
            let call = Arc::clone(&call);
            async move { assert!(call.run().await.len() > 2) }
        })
    }

    fn most_in_flight(&self) -> usize {
        self.most_in_flight
    }
}
