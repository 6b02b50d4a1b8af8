//! Calls the `describe` of a component, and checks what it answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use toolhost_contract::{ExportName, HandlerSpec};

use crate::accounting::output::printable;
use crate::call::response::Response;
use crate::call::run::Request;
use crate::call::task::CallTask;
use crate::call::trap::ExportDiffers;
use crate::component::code::ComponentCode;
use crate::component_id::ComponentId;
use crate::host::bindings::handlers;
use crate::sandbox::SandboxInner;
use crate::{Limits, PrepareError, SandboxError};

/// Most handlers `describe` may name.
const HANDLERS_MAX: usize = 256;

/// Most bytes `describe` may answer.
const DESCRIBE_BYTES_MAX: usize = 1 << 20;

/// Longest reason of the engine's, in bytes.
const REASON_MAX: usize = 4 << 10;

/// Calls `describe`, without a workdir and without grants.
pub(super) async fn describe(
    sandbox: &Arc<SandboxInner>,
    code: &Arc<ComponentCode>,
    component: ComponentId,
) -> Result<Vec<HandlerSpec>, PrepareError> {
    let limits = Limits {
        deadline: sandbox.config.describing,
        ..Limits::default()
    };
    let task = CallTask::without_grants(Arc::clone(sandbox), component, code, limits);
    match task.run(Request::Describe).await.0 {
        Ok(Response::Exports(exports)) => check(exports),
        Ok(Response::Outcome(_)) => Err(PrepareError::Host("describe was not called".to_owned())),
        // The engine found exports of other types before anything of the guest ran.
        Err(SandboxError::Host(error)) if error.is::<ExportDiffers>() => {
            Err(PrepareError::WrongShape {
                reason: reason(&error),
            })
        }
        // The machine had no memory for an instance, for example: no fault of the component.
        Err(SandboxError::Host(error)) => Err(PrepareError::Host(reason(&error))),
        Err(
            error @ (SandboxError::HostPanic
            | SandboxError::Busy { .. }
            | SandboxError::MemoryExhausted),
        ) => Err(PrepareError::Host(format!("describe: {error}"))),
        Err(error) => Err(PrepareError::Describe(error)),
    }
}

/// The engine's message, which may quote names of the component.
pub(super) fn reason(error: &wasmtime::Error) -> String {
    printable(&format!("{error:#}"), REASON_MAX)
}

/// Checks the answer of `describe` against its limits.
fn check(exports: Vec<handlers::ExportSpec>) -> Result<Vec<HandlerSpec>, PrepareError> {
    let too_large = |what, found, limit| Err(PrepareError::DescribeTooLarge { what, found, limit });
    if exports.len() > HANDLERS_MAX {
        return too_large("handlers", exports.len(), HANDLERS_MAX);
    }
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let bytes = exports
        .iter()
        .map(|e| e.name.len() + length(&e.description) + length(&e.parameters))
        .sum();
    if bytes > DESCRIBE_BYTES_MAX {
        return too_large("bytes", bytes, DESCRIBE_BYTES_MAX);
    }
    let mut names = BTreeSet::new();
    let mut specs = Vec::with_capacity(exports.len());
    for export in exports {
        let name = ExportName::parse(&export.name).map_err(|e| PrepareError::HandlerName {
            name: printable(&export.name, 80),
            reason: e.to_string(),
        })?;
        if !names.insert(name.clone()) {
            return Err(PrepareError::HandlerTwice(name));
        }
        specs.push(HandlerSpec {
            name,
            description: export.description,
            parameters: export.parameters,
        });
    }
    Ok(specs)
}
