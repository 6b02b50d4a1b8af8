//! Refuses calls of host functions while a spare instance is made.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Instant;

use wasmtime::{CallHook, CallHookHandler, Store, StoreContextMut, UpdateDeadline};

use crate::call::store::RunTime;
use crate::call::store_data::CallState;

/// Ends an instantiation that calls a host function, as what that returns would be of no call.
///
/// The engine reports each time that the guest leaves its code, also when its epoch has ended. Whatever
/// is reported beyond the ends of epochs counts as a call, even a function of the engine itself.
#[derive(Clone, Default)]
struct RefuseHostCalls(Arc<AtomicUsize>);

/// The guest called the host.
#[derive(Debug, thiserror::Error)]
#[error("its instantiation calls the host")]
pub(super) struct CallsHost;

/// Has the guest in this store end when it calls the host, or when its time is up.
pub(super) fn refuse_host_calls(store: &mut Store<CallState>, time: RunTime) {
    let refuse = RefuseHostCalls::default();
    let RefuseHostCalls(calls) = refuse.clone();
    store.call_hook_async(refuse);
    store.epoch_deadline_callback(move |_| {
        // Otherwise the next call of the host would not be noticed.
        if calls.fetch_sub(1, Relaxed) == 0 {
            return Err(CallsHost.into());
        }
        if time.ends.is_some_and(|ends| Instant::now() >= ends) {
            return Ok(UpdateDeadline::Interrupt);
        }
        Ok(UpdateDeadline::Yield(1))
    });
}

impl CallHookHandler<CallState> for RefuseHostCalls {
    fn handle_call_event<'h, 's, 'f>(
        &'h self,
        _: StoreContextMut<'s, CallState>,
        event: CallHook,
    ) -> Pin<Box<dyn Future<Output = wasmtime::Result<()>> + Send + 'f>>
    where
        'h: 'f,
        's: 'f,
        Self: 'f,
    {
        let called = match event {
            CallHook::CallingHost => {
                self.0.fetch_add(1, Relaxed);
                false
            }
            CallHook::ReturningFromHost => self.0.load(Relaxed) > 0,
            CallHook::CallingWasm | CallHook::ReturningFromWasm => false,
        };
        Box::pin(ready(if called {
            Err(CallsHost.into())
        } else {
            Ok(())
        }))
    }
}
