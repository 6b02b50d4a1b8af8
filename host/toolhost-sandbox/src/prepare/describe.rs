//! Calls the `describe` and the `describe-outputs` of a component, and checks what they answer.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use toolhost_contract::{ExportName, HandlerSpec};
use toolhost_runtime::ComponentId;

use crate::call::code::ComponentCode;
use crate::call::instantiated::Request;
use crate::call::response::Response;
use crate::call::task::CallTask;
use crate::call::trap::ExportDiffers;
use crate::host::bindings::{handlers, outputs};
use crate::sandbox::SandboxInner;
use crate::{Limits, PrepareError, SandboxError};
use toolhost_contract::text::printable;

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
        Ok(Response::Exports(exports, outputs)) => check(exports, outputs),
        Ok(Response::Outcome(_)) => Err(PrepareError::Host("describe was not called".to_owned())),
        Err(error) => Err(failed(error)),
    }
}

/// Tells what is wrong with the component from what the host or the machine lacks.
fn failed(error: SandboxError) -> PrepareError {
    match error {
        // The engine found exports of other types before anything of the guest ran.
        SandboxError::Host(error) if error.is::<ExportDiffers>() => PrepareError::WrongShape {
            reason: reason(&error),
        },
        // The machine has no memory for an instance, for example.
        SandboxError::Host(error) => PrepareError::Host(reason(&error)),
        SandboxError::HostPanic | SandboxError::Busy { .. } | SandboxError::MemoryExhausted => {
            PrepareError::Host(format!("describe: {error}"))
        }
        SandboxError::Timeout { .. }
        | SandboxError::OutOfMemory { .. }
        | SandboxError::Trap { .. }
        | SandboxError::Exit { .. }
        | SandboxError::InvalidOutput { .. }
        | SandboxError::OutputTooDeep { .. }
        | SandboxError::OutputTooMany { .. }
        | SandboxError::OutputTooLarge { .. }
        | SandboxError::HostcallTooLarge { .. }
        | SandboxError::NoPolling => PrepareError::Describe(error),
    }
}

/// The engine's message, which may quote names of the component.
pub(super) fn reason(error: &wasmtime::Error) -> String {
    printable(&format!("{error:#}"), REASON_MAX)
}

/// Checks the answers against their limits.
fn check(
    exports: Vec<handlers::ExportSpec>,
    outputs: Vec<outputs::OutputSpec>,
) -> Result<Vec<HandlerSpec>, PrepareError> {
    let too_large = |what, found, limit| Err(PrepareError::DescribeTooLarge { what, found, limit });
    let handlers = exports.len().max(outputs.len());
    if handlers > HANDLERS_MAX {
        return too_large("handlers", handlers, HANDLERS_MAX);
    }
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let bytes = exports
        .iter()
        .map(|e| e.name.len() + length(&e.description) + length(&e.parameters))
        .chain(outputs.iter().map(|it| it.name.len() + it.schema.len()))
        .sum();
    if bytes > DESCRIBE_BYTES_MAX {
        return too_large("bytes", bytes, DESCRIBE_BYTES_MAX);
    }
    let schemas = outputs.into_iter().map(|it| (it.name, it.schema));
    let mut schemas: HashMap<String, String> = schemas.collect();
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
            output_schema: schemas.remove(&export.name),
        });
    }
    Ok(specs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describe_fails_by_the_component_only_where_the_component_is_at_fault() {
        let host = |reason| SandboxError::Host(wasmtime::Error::msg(reason));
        for (error, cause) in [
            (host("cannot add seals to the memfd"), "seals to the memfd"),
            (SandboxError::HostPanic, "panicked"),
            (SandboxError::MemoryExhausted, "is used up"),
            (SandboxError::Busy { reason: "no slot" }, "no slot"),
        ] {
            let error = failed(error);
            assert!(matches!(error, PrepareError::Host(_)), "{error:?}");
            assert!(error.to_string().contains(cause), "{error}");
        }
        let types = wasmtime::Error::msg("expected func").context(ExportDiffers("goondan:tool"));
        let error = failed(SandboxError::Host(types));
        assert!(matches!(&error, PrepareError::WrongShape { reason } if reason.contains("func")));
        let reason = "unreachable".to_owned();
        let error = failed(SandboxError::Trap { reason });
        assert!(matches!(error, PrepareError::Describe(_)), "{error:?}");
    }
}
