//! What all calls of a sandbox share.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::accounting::quota::Quota;
use crate::call::store_data::CallState;
use crate::component::cache::ComponentCache;
use crate::config::SandboxConfig;
use crate::engine::pools::InstancePools;
use crate::host::http::Network;
use crate::scheduler::admission::Admission;
use crate::scheduler::executor::Executor;
use crate::workdir::WorkdirUsages;

/// What a [`Sandbox`](crate::Sandbox) holds.
pub(crate) struct SandboxInner {
    pub(crate) config: SandboxConfig,
    pub(crate) pools: InstancePools<CallState>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) executor: Executor,
    pub(crate) memory: Arc<Quota>,
    pub(crate) open_files: Arc<Quota>,
    pub(crate) compiling: Arc<Semaphore>,
    pub(crate) cache: Option<ComponentCache>,
    pub(crate) network: Arc<Network>,
    pub(crate) workdir_usages: WorkdirUsages,
}
