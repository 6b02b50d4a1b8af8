//! `goondan:tool/tools`: calls of a guest to other tools. What it passes is limited, and the call is parked while it waits.

#![expect(
    clippy::result_large_err,
    reason = "the bindings' failures are values that guests get"
)]

pub(crate) mod call_handle;
pub(crate) mod port;

use std::sync::Arc;

use toolhost_contract::{Attempts, Denial, ToolErrorCode};
use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::p2::bindings::io::poll;
use wasmtime_wasi::p2::{DynPollable, subscribe};

use crate::Limits;
use crate::host::bindings::agents::ToolError;
use crate::host::bindings::tools::{self, Failure, Tool};
use crate::host::tools::call_handle::CallHandle;
use crate::host::tools::port::{CallFailure, OuterCall, ToolEntry, ToolsPort};
use crate::host::wit_error::{host_error, to_wit};
use crate::scheduler::call_slot::CallSlot;

/// Longest name or query that a guest may pass, in bytes.
const QUERY_BYTES: usize = 1 << 10;

/// Most tools that a search returns.
const SEARCH_MAX: u32 = 50;

/// The tools port of one call. None where it is not granted.
pub(crate) type Tools = Option<Box<GrantedTools>>;

/// What a call needs to call other tools.
pub(crate) struct GrantedTools {
    pub(crate) port: Arc<dyn ToolsPort>,
    pub(crate) slot: Arc<CallSlot>,
}

/// Selects the tools port in a store.
pub(crate) struct HasTools;

impl HasData for HasTools {
    type Data<'a> = ToolsView<'a>;
}

/// The tools port, borrowed for one host call.
pub(crate) struct ToolsView<'a> {
    pub(crate) tools: &'a Tools,
    pub(crate) table: &'a mut ResourceTable,
    pub(crate) attempts: &'a Attempts,
    pub(crate) limits: &'a Limits,
    /// What its calls count for.
    pub(crate) caller: OuterCall,
}

/// The result for the guest. The outer error ends its call.
type GuestResult<T, E> = wasmtime::Result<Result<T, E>>;

impl ToolsView<'_> {
    /// Returns the port, where one is granted.
    fn port(&self, denial: impl FnOnce() -> Denial) -> Result<&dyn ToolsPort, ToolError> {
        match self.tools {
            Some(granted) => Ok(&*granted.port),
            None => {
                self.attempts.deny(denial());
                let message = "The operator's policy does not allow this tool to call other tools.";
                Err(host_error(ToolErrorCode::Denied, message))
            }
        }
    }
}

impl tools::Host for ToolsView<'_> {
    fn names(&mut self) -> GuestResult<Vec<String>, ToolError> {
        Ok(self.port(|| Denial::ToolsList).map(ToolsPort::names))
    }

    fn describe(&mut self, name: String) -> GuestResult<Tool, Failure> {
        let port = self.port(|| Denial::ToolsList);
        let entry = port.map_err(without_parameters).and_then(|port| {
            within("name", &name).map_err(without_parameters)?;
            port.describe(&name).map_err(failure_of)
        });
        Ok(entry.map(tool_of))
    }

    async fn search(&mut self, query: String, limit: u32) -> GuestResult<Vec<Tool>, ToolError> {
        let port = self.port(|| Denial::ToolsList);
        let port = port.and_then(|port| within("query", &query).map(|()| port));
        let limit = limit.min(SEARCH_MAX) as usize;
        Ok(match port {
            Ok(port) => {
                let entries = port.search(&query, limit).await.into_iter();
                Ok(entries.map(tool_of).collect())
            }
            Err(error) => Err(error),
        })
    }

    fn start(
        &mut self,
        name: String,
        arguments: String,
    ) -> GuestResult<Resource<CallHandle>, Failure> {
        let started = self
            .port(|| Denial::tool_call(&name))
            .map_err(without_parameters)
            .and_then(|port| {
                within("name", &name).map_err(without_parameters)?;
                let (bytes, most) = (arguments.len(), self.limits.input_bytes);
                if bytes as u64 > most {
                    let message =
                        format!("`arguments` has {bytes} bytes, at most {most} are allowed.");
                    let error = host_error(ToolErrorCode::InvalidArgs, message);
                    return Err(without_parameters(error));
                }
                let outer = self.caller.clone();
                let started = port.start(&name, &arguments, outer);
                started.map_err(|failure| {
                    if let Some(denial) = &failure.denied {
                        self.attempts.deny(denial.clone());
                    }
                    failure_of(failure)
                })
            });
        match started {
            Ok(started) => Ok(Ok(self.table.push(CallHandle::new(started))?)),
            Err(failure) => Ok(Err(failure)),
        }
    }
}

impl tools::HostCall for ToolsView<'_> {
    fn id(&mut self, call: Resource<CallHandle>) -> wasmtime::Result<String> {
        Ok(self.table.get(&call)?.call().id().to_owned())
    }

    fn subscribe(&mut self, call: Resource<CallHandle>) -> wasmtime::Result<Resource<DynPollable>> {
        subscribe(self.table, call)
    }

    fn get(
        &mut self,
        call: Resource<CallHandle>,
    ) -> wasmtime::Result<Option<Result<String, Failure>>> {
        let answer = self.table.get(&call)?.call().answer();
        Ok(answer.map(|answer| answer.clone().map_err(failure_of)))
    }

    fn cancel(&mut self, call: Resource<CallHandle>) -> wasmtime::Result<()> {
        self.table.get(&call)?.call().cancel();
        Ok(())
    }

    fn drop(&mut self, call: Resource<CallHandle>) -> wasmtime::Result<()> {
        self.table.delete(call)?;
        Ok(())
    }
}

/// Selects what `wasi:io/poll` needs in a store.
pub(crate) struct HasPolling;

impl HasData for HasPolling {
    type Data<'a> = Polling<'a>;
}

/// `wasi:io/poll`: the engine's, but that a call is parked while it waits and a call that it started runs.
pub(crate) struct Polling<'a> {
    pub(crate) table: &'a mut ResourceTable,
    pub(crate) tools: &'a Tools,
}

impl Polling<'_> {
    /// Returns the slot that the call gives back while it waits; none if it waits for no other call, or too many calls
    /// are parked.
    fn park(&self) -> Option<Arc<CallSlot>> {
        let granted = self.tools.as_deref()?;
        (granted.port.is_running() && granted.slot.park().is_ok())
            .then(|| Arc::clone(&granted.slot))
    }
}

impl poll::Host for Polling<'_> {
    async fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> wasmtime::Result<Vec<u32>> {
        let parked = self.park();
        let ready = poll::Host::poll(self.table, pollables).await;
        if let Some(slot) = parked {
            slot.resume().await?;
        }
        ready
    }
}

impl poll::HostPollable for Polling<'_> {
    async fn block(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        let parked = self.park();
        let ended = poll::HostPollable::block(self.table, pollable).await;
        if let Some(slot) = parked {
            slot.resume().await?;
        }
        ended
    }

    async fn ready(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<bool> {
        poll::HostPollable::ready(self.table, pollable).await
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        poll::HostPollable::drop(self.table, pollable)
    }
}

fn tool_of(entry: ToolEntry) -> Tool {
    Tool {
        name: entry.name,
        description: entry.description,
        parameters: entry.parameters,
        output_schema: entry.output_schema,
    }
}

fn failure_of(failure: CallFailure) -> Failure {
    Failure {
        error: to_wit(*failure.error),
        parameters: failure.parameters,
    }
}

fn without_parameters(error: ToolError) -> Failure {
    Failure {
        error,
        parameters: None,
    }
}

fn within(what: &str, text: &str) -> Result<(), ToolError> {
    let bytes = text.len();
    if bytes <= QUERY_BYTES {
        return Ok(());
    }
    let message = format!("`{what}` has {bytes} bytes, at most {QUERY_BYTES} are allowed.");
    Err(host_error(ToolErrorCode::InvalidArgs, message))
}
