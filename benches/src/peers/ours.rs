//! toolhost through its library: `Step::execute` in an open step.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use toolhost::{AssistantMessage, Host, Step, ToolCall, ToolStatus};
use toolhost_tests::test_host::open_step;
use toolhost_tests::{own_sandbox, root};

use super::caller::{Caller, Calls, from_tasks};
use super::works::Work;
use crate::measure::call;

/// A host that does all works.
pub(super) struct Ours {
    host: Host,
    runtime: Handle,
}

impl Ours {
    pub(super) fn new(runtime: &Handle) -> Self {
        let sandbox = own_sandbox(|_| {});
        Self {
            host: Host::builder().sandbox(sandbox).build().unwrap(),
            runtime: runtime.clone(),
        }
    }

    /// Prepares a work, or returns why its tool cannot be called.
    pub(super) fn prepare(&self, work: &Work, workdir: &Path) -> Result<Box<dyn Caller>, String> {
        let bundle = root("guest-examples").join(work.bundle);
        let loaded = self.runtime.block_on(self.host.load(&bundle));
        let loaded = loaded.map_err(|error| error.to_string())?;
        let agent = loaded.only_agent().unwrap();
        let workdir = self.host.workdir(workdir).unwrap();
        let step = self.runtime.block_on(open_step(&agent, "bench", &workdir));
        let call = call(work.tool, work.input.clone());
        let most = work.most_in_flight;
        let calls = ToolCalls::new(&self.runtime, Arc::new(step), call, most);
        Ok(Box::new(calls))
    }
}

pub(super) struct ToolCalls {
    runtime: Handle,
    step: Arc<Step>,
    call: ToolCall,
    message: Arc<AssistantMessage>,
    most_in_flight: usize,
}

impl ToolCalls {
    pub(super) fn new(
        runtime: &Handle,
        step: Arc<Step>,
        call: ToolCall,
        most_in_flight: usize,
    ) -> Self {
        Self {
            runtime: runtime.clone(),
            step,
            message: Arc::new(AssistantMessage::for_call(&call)),
            call,
            most_in_flight,
        }
    }
}

impl Caller for ToolCalls {
    fn once(&mut self) -> String {
        let execute = self.step.execute(self.call.clone(), &self.message);
        let result = self.runtime.block_on(execute);
        result.output().map(ToString::to_string).unwrap()
    }

    fn run(&mut self, in_flight: usize, time: Duration) -> Calls {
        let (step, call, message) = (self.step.clone(), self.call.clone(), self.message.clone());
        from_tasks(&self.runtime, in_flight, time, move || {
            let (step, call, message) = (step.clone(), call.clone(), message.clone());
            async move {
                let result = step.execute(call, &message).await;
                assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
            }
        })
    }

    fn most_in_flight(&self) -> usize {
        self.most_in_flight
    }
}
