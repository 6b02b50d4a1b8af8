//! The library in this process.

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use toolhost::{
    AssistantMessage, Host, Instance, Policy, Sandbox, SandboxConfig, Step, ToolCall,
    sandbox::CacheConfig,
};

use super::{FrontEnd, INSTANCE, Served};

pub(super) struct Library {
    runtime: Runtime,
    instance: Instance,
}

impl Library {
    pub(super) fn start(served: &Served) -> Self {
        let runtime = Runtime::new().unwrap();
        let state_root = served.state_home.join("toolhost");
        let cache = CacheConfig::new(
            served.cache_home.join("toolhost"),
            state_root.join("cache.key"),
        );
        let sandbox = Sandbox::new({
            let mut config = SandboxConfig::default();
            config.cache = Some(cache);
            config
        });
        let policy = std::fs::read_to_string(&served.policy).unwrap();
        let host = Host::builder()
            .sandbox(sandbox.unwrap())
            .policy(Policy::parse(&policy, "policy.yaml").unwrap())
            .state_root(state_root)
            .build()
            .unwrap();
        let bundle = runtime.block_on(host.load(&served.bundle)).unwrap();
        let workdir = host.workdir(served.workdir("library")).unwrap();
        let instance = bundle.only_agent().unwrap().instance(INSTANCE, workdir);
        Self { runtime, instance }
    }

    /// Begins a call in the background.
    pub(super) fn submit(&mut self, tool: &str, args: &Value) -> Value {
        let call = tool_call(tool, args);
        let message = AssistantMessage::for_call(&call);
        self.runtime.block_on(async {
            let step = step(&self.instance).await;
            json!(step.submit(call, &message).await)
        })
    }

    pub(super) fn cancel(&mut self, handle: &str) -> Value {
        json!(self.runtime.block_on(self.instance.cancel(handle)))
    }
}

impl FrontEnd for Library {
    fn call(&mut self, tool: &str, args: &Value) -> Value {
        self.runtime.block_on(async {
            let step = step(&self.instance).await;
            json!(step.execute_without_message(tool_call(tool, args)).await)
        })
    }

    fn poll(&mut self, handle: &str) -> Value {
        json!(self.runtime.block_on(self.instance.poll(handle)))
    }
}

async fn step(instance: &Instance) -> Step {
    let turn = instance.open_turn("turn").await.unwrap();
    turn.open_step().await.unwrap()
}

fn tool_call(tool: &str, args: &Value) -> ToolCall {
    ToolCall::new("call", tool, args.as_object().unwrap().clone())
}
