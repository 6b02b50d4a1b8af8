//! Classifies the errors with which the engine ends a call.

use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

use wasmtime::{PoolConcurrencyLimitError, Trap};
use wasmtime_wasi::I32Exit;

use crate::SandboxError;
use crate::accounting::meter::Meter;
use crate::accounting::output::printable;
use crate::sync::lock;

/// Longest reason taken from a guest's stderr, in bytes.
const REASON_MAX: usize = 4 << 10;

/// Marks an error of a call to an export, as opposed to one of instantiation.
#[derive(Debug)]
pub(crate) struct GuestCallContext;

impl fmt::Display for GuestCallContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("while an export was called")
    }
}

/// Marks an error of an interface that the component exports with other types than the host's. It holds
/// the name of the interface.
#[derive(Debug)]
pub(crate) struct ExportDiffers(pub(crate) &'static str);

impl fmt::Display for ExportDiffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Tells whether the guest, a limit or the host caused an error.
pub(crate) fn classify_trap(error: wasmtime::Error, meter: &Meter) -> SandboxError {
    let limits = &meter.limits;
    // The agents port panicked, or the call could not be resumed.
    if let Some(SandboxError::HostPanic) = error.downcast_ref::<SandboxError>() {
        return SandboxError::HostPanic;
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return SandboxError::Exit { status: exit.0 };
    }
    if error.is::<PoolConcurrencyLimitError>() {
        return SandboxError::Busy {
            reason: "every slot for instances is taken",
        };
    }
    let trap = error.downcast_ref::<Trap>();
    if trap == Some(&Trap::Interrupt) {
        return SandboxError::Timeout {
            deadline: limits.deadline,
        };
    }
    // Most guests trap where their memory cannot grow.
    if meter.memory_refused.load(Relaxed) {
        return SandboxError::OutOfMemory {
            limit: limits.memory_bytes,
        };
    }
    if meter.pool_refused.load(Relaxed) {
        return SandboxError::MemoryExhausted;
    }
    match trap {
        Some(trap) => SandboxError::Trap {
            reason: reason(*trap, meter),
        },
        None => classify_other(error, meter),
    }
}

/// How the engine's error begins if a guest passed too much at once. Its type is private.
const HOSTCALL_FUEL: &str = "too much data is being copied between the host and the guest";

/// How the engine's error begins if a component needs more instances, memories or tables than its store
/// allows. It has no type.
const STORE_LIMIT: &str = "resource limit exceeded";

/// Classifies errors other than traps: a guest passed too much, or malformed values.
fn classify_other(error: wasmtime::Error, meter: &Meter) -> SandboxError {
    let cause = error.root_cause().to_string();
    if cause.starts_with(HOSTCALL_FUEL) {
        return SandboxError::HostcallTooLarge {
            limit: meter.limits.hostcall_bytes,
        };
    }
    let of_a_limit = cause.starts_with(STORE_LIMIT) || meter.table_refused.load(Relaxed);
    // Within an export, the other errors are invalid pointers and texts that the guest passed.
    let by_guest = of_a_limit
        || error.is::<GuestCallContext>()
        || error.is::<wasmtime::WasmBacktrace>()
        || error.is::<wasmtime::component::ResourceTableError>()
        // More headers than one request may have.
        || error.is::<wasmtime_wasi_http::FieldMapError>();
    if by_guest {
        return SandboxError::Trap {
            reason: printable(&cause, REASON_MAX),
        };
    }
    SandboxError::Host(error)
}

/// Describes a trap by what the guest's panic printed, or else by its kind.
fn reason(trap: Trap, meter: &Meter) -> String {
    if trap == Trap::StackOverflow {
        return "the call stack is exhausted (endless recursion?)".to_owned();
    }
    if trap != Trap::UnreachableCodeReached {
        return trap.to_string();
    }
    let printed = panic_line(&lock(&meter.stderr).text());
    printed.unwrap_or_else(|| "it reached an `unreachable` instruction".to_owned())
}

/// Returns the message of a Rust panic, or else the last line of stderr.
fn panic_line(stderr: &str) -> Option<String> {
    let mut lines = stderr.lines();
    let of_rust = lines
        .find(|line| line.contains("panicked at"))
        .map(|_| lines.take_while(|line| !line.starts_with("note: ")))
        .map(|lines| lines.collect::<Vec<_>>().join("\n"))
        .filter(|reason| !reason.trim().is_empty());
    let last = || stderr.lines().rev().find(|line| !line.trim().is_empty());
    let reason = of_rust.or_else(|| last().map(str::to_owned))?;
    Some(printable(reason.trim(), REASON_MAX))
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;

    use super::*;
    use crate::Limits;
    use crate::accounting::quota::Quota;
    use crate::component_id::ComponentId;

    fn meter() -> Meter {
        let files = Arc::new(Quota::new(1, 3));
        Meter::new(Limits::default(), ComponentId(1), files)
    }

    #[test]
    fn words_of_the_engine_within_other_errors_decide_nothing() {
        for words in [HOSTCALL_FUEL, STORE_LIMIT, "table exceeds table limits"] {
            let quoted = || wasmtime::Error::from(io::Error::other(format!("no file '{words}'")));
            let error = classify_trap(quoted(), &meter());
            assert!(matches!(error, SandboxError::Host(_)), "{error:?}");
            // Above the cause, they are of the host or of the guest.
            let error = quoted().context(words);
            let error = classify_trap(error.context(GuestCallContext), &meter());
            assert!(matches!(error, SandboxError::Trap { .. }), "{error:?}");
        }
    }

    #[test]
    fn a_table_that_was_refused_is_a_limit_whatever_the_engine_says_of_it() {
        let meter = meter();
        meter.table_refused.store(true, Relaxed);
        let error = classify_trap(wasmtime::Error::msg("no"), &meter);
        assert!(matches!(error, SandboxError::Trap { .. }), "{error:?}");
    }

    #[test]
    fn finds_the_message_of_a_panic() {
        let rust = "before\n\nthread '<unnamed>' panicked at src/lib.rs:5:9:\nthe reason\n\
                    note: run with `RUST_BACKTRACE=1` environment variable\n";
        assert_eq!(panic_line(rust).as_deref(), Some("the reason"));
        let python = "Traceback (most recent call last):\n  x\nValueError: no\n\n";
        assert_eq!(panic_line(python).as_deref(), Some("ValueError: no"));
        assert_eq!(panic_line(" \n"), None);
    }
}
