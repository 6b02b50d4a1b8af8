//! Makes the spare instances of a component, on the sandbox's own threads.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use toolhost_contract::Limits;
use wasmtime::Trap;

use super::host_calls::{CallsHost, refuse_host_calls};
use super::stock::{Next, OFTEN, Spare, Stock};
use crate::accounting::quota::Quota;
use crate::call::instantiated::Instantiated;
use crate::call::resource_limiter::MemoryLimiter;
use crate::call::store::{RunTime, new_store};
use crate::call::task::CallTask;
use crate::component::code::ComponentCode;
use crate::component_id::ComponentId;
use crate::sandbox::SandboxInner;

/// How long making a spare instance may take: less than `OFTEN`, after which the attempt is dropped.
const MAX_TIME: Duration = Duration::from_millis(500);

/// Bytes that a spare instance counts for its store and its stack.
const STORE_BYTES: u64 = 512 << 10;

/// Bytes that an element of a table takes.
const ELEMENT_BYTES: u64 = 8;

/// Has spare instances made after a call, if the component is called often and a core is idle. Returns at
/// once.
pub(crate) fn make_after_call(
    sandbox: &Arc<SandboxInner>,
    component: ComponentId,
    code: &Arc<ComponentCode>,
) {
    let Some(spares) = &code.spares else { return };
    match spares.0.after_call(Instant::now()) {
        Next::Nothing => {}
        Next::Wake => spares.0.wake.notify_one(),
        Next::Start => {
            let maker = SpareMaker {
                sandbox: Arc::clone(sandbox),
                code: Arc::downgrade(code),
                component,
                stock: Arc::clone(&spares.0),
            };
            drop(sandbox.executor.threads.spawn(maker.run()));
        }
    }
}

/// Makes spare instances while the component is called. It does not keep the component alive, and ends when
/// that is dropped. Only then can the sandbox be dropped, whose clock it uses.
struct SpareMaker {
    sandbox: Arc<SandboxInner>,
    code: Weak<ComponentCode>,
    component: ComponentId,
    stock: Arc<Stock>,
}

/// Why no spare instance was made.
enum NotMade {
    /// A limit on memory refuses it, or it fails under the limits of the call.
    NotNow,
    /// The component can have none: making it calls the host or takes too long.
    Never,
}

/// Drops the spare instances when the task ends, however it ends.
struct EndsWithTask(Arc<Stock>);

impl Drop for EndsWithTask {
    fn drop(&mut self) {
        self.0.end_task();
    }
}

impl SpareMaker {
    async fn run(self) {
        let _ends = EndsWithTask(Arc::clone(&self.stock));
        loop {
            let calls = self.stock.calls();
            let refill = self.sandbox.executor.clock.within(OFTEN, self.refill());
            if refill.await.is_some() || !self.stock.was_called_since(calls) {
                return;
            }
        }
    }

    /// Makes spare instances each time they run low. Returns where none can be made any more.
    async fn refill(&self) {
        loop {
            while let Some(limits) = self.stock.next_limits(Instant::now()) {
                let Some(code) = self.code.upgrade() else {
                    return;
                };
                let sandbox = Arc::clone(&self.sandbox);
                if sandbox.admission.waiting() > 0 {
                    self.stock.set_full();
                    continue;
                }
                match self.make(sandbox, code, limits).await {
                    Ok(spare) => self.stock.put(spare),
                    Err(NotMade::NotNow) => self.stock.set_full(),
                    Err(NotMade::Never) => return self.stock.refuse(),
                }
            }
            if self.code.strong_count() == 0 {
                return;
            }
            self.stock.wake.notified().await;
        }
    }

    async fn make(
        &self,
        sandbox: Arc<SandboxInner>,
        code: Arc<ComponentCode>,
        limits: Limits,
    ) -> Result<Spare, NotMade> {
        let component = self.component;
        let quota = &self.stock.budget.memory;
        let hold = |bytes| quota.hold(component, bytes).ok_or(NotMade::NotNow);
        let stack = hold(STORE_BYTES)?;
        // The guest's code may run, so the engine's clock must.
        let _epoch = sandbox.admission.run_epoch();
        let fresh = instantiate(sandbox, &code, component, limits, quota).await?;
        let tables = hold(fresh.memory().table_elements() * ELEMENT_BYTES)?;
        Ok(Spare {
            fresh,
            _stack_and_tables: [stack, tables],
        })
    }
}

/// Makes an instance for no call: without a directory, grants or agents. Its memory counts against `quota`.
async fn instantiate(
    sandbox: Arc<SandboxInner>,
    code: &Arc<ComponentCode>,
    component: ComponentId,
    limits: Limits,
    quota: &Arc<Quota>,
) -> Result<Instantiated, NotMade> {
    let time = RunTime::of(&Limits {
        deadline: MAX_TIME,
        ..limits.clone()
    });
    let task = CallTask::without_grants(sandbox, component, code, limits);
    let memory = MemoryLimiter::new(Arc::clone(quota), Arc::clone(&task.meter));
    let state = task.into_state(memory, None, time);
    let mut store = new_store(code.pre.engine(), state, time);
    refuse_host_calls(&mut store, time);
    let fresh = Instantiated::new(store, &code.pre, &code.memory).await;
    let fresh = fresh.and_then(|fresh| fresh.with_handlers(&code.handlers));
    let fresh = fresh.map_err(|error| {
        let is_late = error.downcast_ref::<Trap>() == Some(&Trap::Interrupt);
        if is_late || error.is::<CallsHost>() {
            tracing::debug!(%error, "a component can have no spare instances");
            return NotMade::Never;
        }
        NotMade::NotNow
    })?;
    // A guest that was refused memory may go on, and be another one than it would be in a call.
    if fresh.memory().allowed_all() {
        Ok(fresh)
    } else {
        Err(NotMade::NotNow)
    }
}
