//! One call before it runs.

use std::sync::Arc;

use toolhost_files::{CallFiles, Workdir, WriteProtected};
use toolhost_runtime::ComponentId;

use crate::call::code::ComponentCode;
use crate::host::agents::port::AgentsPort;
use crate::host::agents::{Agents, GrantedAgents};
use crate::host::effects::EffectsPort;
use crate::host::filesystem::Filesystem;
use crate::host::http::Http;
use crate::host::tools::Tools;
use crate::host::tools::port::ToolsPort;
use crate::recording::call_imports::CallImports;
use crate::sandbox::SandboxInner;
use crate::store::RunTime;
use crate::store::data::CallState;
use crate::store::meters::CallMeters;
use crate::store::resource_limiter::MemoryLimiter;
use crate::{Grants, Limits};

/// One call before it runs.
pub(crate) struct CallTask {
    pub(crate) sandbox: Arc<SandboxInner>,
    pub(crate) component: ComponentId,
    pub(crate) code: Arc<ComponentCode>,
    pub(crate) workdir: Option<Workdir>,
    pub(crate) protected: WriteProtected,
    pub(crate) grants: Grants,
    pub(crate) agents: Option<Arc<dyn AgentsPort>>,
    pub(crate) tools: Option<Arc<dyn ToolsPort>>,
    pub(crate) effects: Option<Arc<dyn EffectsPort>>,
    pub(crate) meters: Arc<CallMeters>,
    pub(crate) imports: CallImports,
}

/// What a call needs to reach other agents and tools, as far as they are granted.
pub(crate) struct Ports {
    pub(crate) agents: Option<GrantedAgents>,
    pub(crate) tools: Tools,
}

impl CallTask {
    /// A call without a workdir, grants or agents.
    pub(crate) fn without_grants(
        sandbox: Arc<SandboxInner>,
        component: ComponentId,
        code: &Arc<ComponentCode>,
        limits: Limits,
    ) -> Self {
        let (memory, open_files) = (&sandbox.memory, &sandbox.open_files);
        let meters = CallMeters::new(component, limits, memory, open_files, None, None);
        Self {
            sandbox,
            component,
            code: Arc::clone(code),
            workdir: None,
            protected: WriteProtected::default(),
            grants: Grants::none(),
            agents: None,
            tools: None,
            effects: None,
            meters: Arc::new(meters),
            imports: CallImports::Host,
        }
    }

    /// Returns what the store of the call holds.
    pub(crate) fn into_state(
        self,
        memory: MemoryLimiter,
        ports: Ports,
        time: RunTime,
    ) -> CallState {
        let (sandbox, meters, ends) = (&self.sandbox, self.meters, time.ends);
        let files = CallFiles::new(
            self.workdir,
            self.grants.workdir,
            self.protected,
            Arc::clone(&meters.files),
            &meters.memory,
            ends,
        );
        let files = if self.code.has_modes {
            files
        } else {
            files.keep_modes()
        };
        let blocking = sandbox.threads.blocking().clone();
        let fs = Filesystem { files, blocking };
        let agents = Agents {
            granted: ports.agents,
            attempts: Arc::clone(&meters.attempts),
            limits: meters.limits.clone(),
            ends,
        };
        let sender = (sandbox.egress).sender(self.grants.http, Arc::clone(&meters.http), ends);
        let effects = self.effects;
        let http = Http::new(sender, Arc::clone(&meters.attempts), effects.clone());
        CallState::new(
            (self.grants.env, effects),
            fs,
            memory,
            (agents, ports.tools),
            http,
            meters,
        )
    }
}
