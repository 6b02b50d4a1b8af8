//! The store of a guest whose call is recorded or replayed.

use std::sync::Arc;

use toolhost_contract::Limits;

use crate::recording::forward::Forward;
use crate::recording::player::Player;
use crate::store::meters::CallMeters;
use crate::store::resource_limiter::MemoryLimiter;
use crate::store::state::StoreState;

/// What answers the host calls of a guest.
pub(crate) enum Answers {
    /// The host, and the answers are recorded.
    Host(Box<Forward>),
    Recording(Box<Player>),
}

/// The data of the store.
pub(crate) struct GuestState {
    pub(crate) meters: Arc<CallMeters>,
    pub(crate) memory: MemoryLimiter,
    /// None while a host call is answered.
    pub(crate) answers: Option<Answers>,
}

impl StoreState for GuestState {
    fn limits(&self) -> &Limits {
        &self.meters.limits
    }

    fn limiter(&mut self) -> &mut MemoryLimiter {
        &mut self.memory
    }

    fn after_host_call(&mut self) -> wasmtime::Result<()> {
        Ok(())
    }
}
