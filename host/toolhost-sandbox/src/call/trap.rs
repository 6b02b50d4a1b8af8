//! Why the engine ended a call.

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

/// Marks an error that came while an instance was asked something, and not while it was made.
#[derive(Debug)]
pub(crate) struct WhileAsked;

impl fmt::Display for WhileAsked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("while it was asked")
    }
}

/// Reads an engine's error: the guest's own doing, a limit, or the host's fault.
pub(crate) fn why_it_stopped(error: wasmtime::Error, meter: &Meter) -> SandboxError {
    let limits = &meter.limits;
    // Another agent's port, or the place to go on in.
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
    // A guest whose memory may not grow ends in a trap of its own making.
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
        None => without_trap(error, meter),
    }
}

/// Errors of the engine that are no traps: what a guest passed was too much, or malformed.
fn without_trap(error: wasmtime::Error, meter: &Meter) -> SandboxError {
    let said = format!("{error:#}");
    if said.contains("fuel allocated for hostcalls") {
        return SandboxError::HostcallTooLarge {
            limit: meter.limits.hostcall_bytes,
        };
    }
    // While it is made: it needs more instances, memories or elements of tables than its call may have.
    let of_a_limit =
        said.contains("resource limit exceeded") || said.contains("exceeds table limits");
    // While it is asked, what is no trap is a pointer or a text of the guest's that is none.
    let guests_doing = of_a_limit
        || error.is::<WhileAsked>()
        || error.is::<wasmtime::WasmBacktrace>()
        || error.is::<wasmtime::component::ResourceTableError>()
        // More headers than one request may have.
        || error.is::<wasmtime_wasi_http::FieldMapError>();
    if guests_doing {
        return SandboxError::Trap {
            reason: printable(&format!("{}", error.root_cause()), REASON_MAX),
        };
    }
    SandboxError::Host(error)
}

/// What a panic printed before it trapped, else the trap itself.
fn reason(trap: Trap, meter: &Meter) -> String {
    let panicked = trap == Trap::UnreachableCodeReached;
    let printed = panicked.then(|| panic_line(&lock(&meter.stderr).text()));
    printed.flatten().unwrap_or_else(|| trap_words(trap))
}

/// A trap in plain words.
fn trap_words(trap: Trap) -> String {
    if trap == Trap::StackOverflow {
        return "the call stack is exhausted (endless recursion?)".to_owned();
    }
    if trap == Trap::UnreachableCodeReached {
        return "it reached an `unreachable` instruction".to_owned();
    }
    trap.to_string()
}

/// The panic's own line: what a Rust panic prints, else the last line of stderr.
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
    use super::*;

    #[test]
    fn finds_the_panics_own_line() {
        let rust = "before\n\nthread '<unnamed>' panicked at src/lib.rs:5:9:\nthe reason\n\
                    note: run with `RUST_BACKTRACE=1` environment variable\n";
        assert_eq!(panic_line(rust).as_deref(), Some("the reason"));
        let python = "Traceback (most recent call last):\n  x\nValueError: no\n\n";
        assert_eq!(panic_line(python).as_deref(), Some("ValueError: no"));
        assert_eq!(panic_line(" \n"), None);
    }
}
