//! An instance in a store of its own, and the call of one of its exports.

use std::sync::Arc;

use toolhost_contract::{Operation, ToolContext};
use wasmtime::Store;
use wasmtime::component::{Instance, InstancePre};

use crate::call::code::ComponentCode;
use crate::call::response::RawResponse;
use crate::call::trap::{ExportDiffers, GuestCallContext};
use crate::engine::memory::creator::with_memories;
use crate::engine::memory::source::MemorySource;
use crate::host::bindings::{handlers, outputs, polling};
use crate::store::state::StoreState;

/// The export to call.
pub(crate) enum Request {
    Describe,
    Run(Arc<Operation>, ToolContext),
}

/// An instance in a store of its own.
pub(crate) struct Instantiated<T: 'static> {
    store: Store<T>,
    instance: Instance,
}

impl<T: StoreState> Instantiated<T> {
    /// Makes an instance.
    ///
    /// # Errors
    /// The instance exceeds a limit of the store, or code that runs when it is made traps.
    pub(crate) async fn new(
        mut store: Store<T>,
        pre: &InstancePre<T>,
        memory: &Arc<MemorySource>,
    ) -> wasmtime::Result<Self> {
        let instance = with_memories(memory, pre.instantiate_async(&mut store)).await?;
        Ok(Self { store, instance })
    }

    /// Calls one export. The store is dropped when this returns.
    ///
    /// # Errors
    /// The component has other exports than the host's, or its code trapped.
    pub(super) async fn call(
        mut self,
        request: Request,
        code: &ComponentCode,
    ) -> wasmtime::Result<RawResponse> {
        let response = match request {
            Request::Describe => {
                let differs = |interface| {
                    move |error: wasmtime::Error| error.context(ExportDiffers(interface))
                };
                let handlers = self.handlers(code);
                let handlers = handlers.map_err(differs("goondan:tool/handlers"))?;
                if code.polls() {
                    let polling = self.polling(code);
                    polling.map_err(differs("goondan:tool/polling"))?;
                }
                let outputs = self.outputs(code);
                let outputs = outputs.map_err(differs("goondan:tool/outputs"))?;
                let exports = handlers.call_describe(&mut self.store).await;
                let exports = exports.map_err(|error| error.context(GuestCallContext))?;
                let schemas = match outputs {
                    Some(outputs) => outputs.call_describe_outputs(&mut self.store).await,
                    None => Ok(Vec::new()),
                };
                schemas.map(|schemas| RawResponse::Exports(exports, schemas))
            }
            Request::Run(operation, context) => match &*operation {
                Operation::Handler { name, input } => {
                    let handlers = self.handlers(code)?;
                    let (store, context) = (&mut self.store, to_wit(&context));
                    let returned = handlers.call_call(store, name.as_str(), context, input);
                    returned.await.map(RawResponse::Outcome)
                }
                Operation::Poll { handle } => {
                    let polling = self.polling(code)?;
                    let store = &mut self.store;
                    let returned = polling.call_poll(store, to_wit(&context), handle).await;
                    returned.map(RawResponse::Outcome)
                }
                Operation::Cancel { handle } => {
                    let polling = self.polling(code)?;
                    let store = &mut self.store;
                    let returned = polling.call_cancel(store, to_wit(&context), handle).await;
                    returned.map(|()| RawResponse::Cancelled)
                }
            },
        };
        response.map_err(|error| error.context(GuestCallContext))
    }

    fn handlers(&mut self, code: &ComponentCode) -> wasmtime::Result<handlers::Guest> {
        code.handlers.load(&mut self.store, &self.instance)
    }

    fn outputs(&mut self, code: &ComponentCode) -> wasmtime::Result<Option<outputs::Guest>> {
        let outputs = code.outputs.as_ref();
        let load = |outputs: &outputs::GuestIndices| outputs.load(&mut self.store, &self.instance);
        outputs.map(load).transpose()
    }

    fn polling(&mut self, code: &ComponentCode) -> wasmtime::Result<polling::Guest> {
        let polling = code.polling.as_ref().ok_or_else(|| {
            wasmtime::Error::msg("the component does not export goondan:tool/polling")
        })?;
        polling.load(&mut self.store, &self.instance)
    }
}

/// Converts the context to the guest's types. Its texts are copied into the guest's memory, and nowhere
/// else: a message may have megabytes.
fn to_wit(context: &ToolContext) -> handlers::ToolContext<'_> {
    handlers::ToolContext {
        agent_name: &context.agent_name,
        instance_key: &context.instance_key,
        turn_id: &context.turn_id,
        tool_call_id: &context.tool_call_id,
        trace_id: context.trace_id.as_deref(),
        message: context.message.as_json(),
        workdir: &context.workdir,
    }
}
