//! Classifies the errors with which the engine ends a call.

use std::char::DecodeUtf16Error;
use std::fmt;
use std::str::Utf8Error;
use std::sync::atomic::Ordering::Relaxed;

use wasmtime::{PoolConcurrencyLimitError, Trap};
use wasmtime_wasi::I32Exit;

use crate::SandboxError;
use crate::accounting::output::Stream;
use crate::call::crash_words::{crash_words, go_words, last_words};
use crate::store::meters::CallMeters;
use crate::store::state::HOSTCALL_FUEL;
use toolhost_contract::text::printable;

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
pub(crate) fn classify_trap(error: wasmtime::Error, meters: &CallMeters) -> SandboxError {
    let limits = &meters.limits;
    // The agents port panicked, or the call could not be resumed.
    if let Some(SandboxError::HostPanic) = error.downcast_ref::<SandboxError>() {
        return SandboxError::HostPanic;
    }
    if let Some(exit) = error.downcast_ref::<I32Exit>() {
        return classify_exit(exit.0, meters);
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
    if let Some(refused) = memory_refused(meters) {
        return refused;
    }
    match trap {
        Some(trap) => SandboxError::Trap {
            reason: reason(*trap, meters),
        },
        None => classify_other(error, meters),
    }
}

/// Returns the error of a guest that crashed because it was refused memory: it got no other memory afterwards, or it
/// did nothing more. What it printed does not count.
fn memory_refused(meters: &CallMeters) -> Option<SandboxError> {
    let limit = meters.memory.limit();
    if meters.memory.is_refused() {
        return Some(SandboxError::OutOfMemory { limit });
    }
    if meters.memory.is_refused_by_all() {
        return Some(SandboxError::MemoryExhausted);
    }
    let is_last = meters.attempts.was_memory_refused_last();
    is_last.then_some(SandboxError::OutOfMemory { limit })
}

/// Classifies the end of a guest's process. Go ends it after a panic, and where memory is refused.
fn classify_exit(status: i32, meters: &CallMeters) -> SandboxError {
    if status == 0 {
        return SandboxError::Exit {
            status,
            printed: None,
        };
    }
    if let Some(refused) = memory_refused(meters) {
        return refused;
    }
    let stderr = meters.output.printed(Stream::Stderr);
    match go_words(&stderr) {
        Some(reason) => SandboxError::Trap { reason },
        None => SandboxError::Exit {
            status,
            printed: last_words(&stderr),
        },
    }
}

/// Returns why memory was refused to a guest whose handler then returned an error, if that is the cause: it got no
/// other memory afterwards, and did nothing more.
pub(crate) fn out_of_memory(meters: &CallMeters) -> Option<SandboxError> {
    let memory = &meters.memory;
    let is_refused = memory.is_refused() || memory.is_refused_by_all();
    if is_refused && meters.attempts.was_memory_refused_last() {
        memory_refused(meters)
    } else {
        None
    }
}

/// How the engine's error begins if a component needs more instances, memories or tables than its store
/// allows. It has no type.
const STORE_LIMIT: &str = "resource limit exceeded";

/// Classifies errors other than traps: a guest passed too much, or malformed values.
fn classify_other(error: wasmtime::Error, meters: &CallMeters) -> SandboxError {
    let cause = error.root_cause().to_string();
    if cause.starts_with(HOSTCALL_FUEL) {
        return SandboxError::HostcallTooLarge {
            limit: meters.limits.hostcall_bytes,
        };
    }
    if let Some(reason) = not_unicode(&error) {
        return if error.is::<wasmtime::WasmBacktrace>() {
            SandboxError::Trap {
                reason: format!("it passed text to the host that {reason}"),
            }
        } else {
            SandboxError::InvalidOutput { reason }
        };
    }
    let of_a_limit = cause.starts_with(STORE_LIMIT) || meters.table_refused.load(Relaxed);
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

/// Describes why a text of the guest is not Unicode, if that is the error.
fn not_unicode(error: &wasmtime::Error) -> Option<String> {
    if let Some(error) = error.downcast_ref::<Utf8Error>() {
        let at = error.valid_up_to();
        return Some(format!(
            "is not UTF-8 text: the byte at offset {at} is invalid"
        ));
    }
    let of_utf16 = error.is::<DecodeUtf16Error>();
    of_utf16.then(|| "is not UTF-16 text: it has half of a surrogate pair".to_owned())
}

/// Describes a trap by what the guest's panic printed, or else by its kind.
fn reason(trap: Trap, meters: &CallMeters) -> String {
    if trap == Trap::StackOverflow {
        return "the call stack is exhausted (endless recursion?)".to_owned();
    }
    // Compilers put a stack of their own at the beginning of the memory.
    if trap == Trap::MemoryOutOfBounds {
        return "it read or wrote outside its memory (endless recursion?)".to_owned();
    }
    if trap != Trap::UnreachableCodeReached {
        return trap.to_string();
    }
    let printed = crash_words(&meters.output.printed(Stream::Stderr));
    printed.unwrap_or_else(|| "it reached an `unreachable` instruction".to_owned())
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;
    use toolhost_runtime::{ComponentId, Quota};

    use super::*;
    use crate::Limits;

    fn meters() -> CallMeters {
        let all = Arc::new(Quota::new(1, 3));
        CallMeters::new(ComponentId(1), Limits::default(), &all, &all, None, None)
    }

    #[test]
    fn words_of_the_engine_within_other_errors_decide_nothing() {
        for words in [HOSTCALL_FUEL, STORE_LIMIT, "table exceeds table limits"] {
            let quoted = || wasmtime::Error::from(io::Error::other(format!("no file '{words}'")));
            let error = classify_trap(quoted(), &meters());
            assert!(matches!(error, SandboxError::Host(_)), "{error:?}");
            // Above the cause, they are of the host or of the guest.
            let error = quoted().context(words);
            let error = classify_trap(error.context(GuestCallContext), &meters());
            assert!(matches!(error, SandboxError::Trap { .. }), "{error:?}");
        }
    }

    #[test]
    fn a_table_that_was_refused_is_a_limit_whatever_the_engine_says_of_it() {
        let meters = meters();
        meters.table_refused.store(true, Relaxed);
        let error = classify_trap(wasmtime::Error::msg("no"), &meters);
        assert!(matches!(error, SandboxError::Trap { .. }), "{error:?}");
    }

    #[test]
    fn an_answer_that_is_not_unicode_is_no_crash() {
        let invalid = || {
            wasmtime::Error::from(
                String::from_utf8(b"ab\xff".to_vec())
                    .unwrap_err()
                    .utf8_error(),
            )
        };
        let error = classify_trap(invalid().context(GuestCallContext), &meters());
        let SandboxError::InvalidOutput { reason } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(reason, "is not UTF-8 text: the byte at offset 2 is invalid");
    }

    fn exit(stderr: &str, status: i32, meters: &CallMeters) -> String {
        meters.output.print(Stream::Stderr, stderr.as_bytes());
        classify_trap(I32Exit(status).into(), meters).to_string()
    }

    #[test]
    fn the_end_of_a_process_has_the_cause_that_was_printed() {
        let panic = "panic: no table\n\ngoroutine 1 [running]:\nmain.main()\n";
        assert_eq!(exit(panic, 1, &meters()), "it crashed: panic: no table");
        let ended = "it ended its process instead of answering, reporting";
        assert_eq!(
            exit("no table\n", 1, &meters()),
            format!("{ended} failure: no table")
        );
        assert_eq!(exit("", 1, &meters()), format!("{ended} failure"));
        assert_eq!(exit("done\n", 0, &meters()), format!("{ended} success"));
    }

    #[test]
    fn facts_of_the_host_alone_make_a_call_out_of_memory() {
        let words = "fatal error: out of memory: MemoryError: cannot allocate memory";
        let crashes = |meters: &CallMeters| {
            meters.output.print(Stream::Stderr, words.as_bytes());
            let exit = classify_trap(I32Exit(1).into(), meters);
            let trap = classify_trap(Trap::UnreachableCodeReached.into(), meters);
            let of_memory = [exit, trap].map(|it| matches!(it, SandboxError::OutOfMemory { .. }));
            assert_eq!(of_memory[0], of_memory[1]);
            of_memory[0]
        };
        let fails = |meters: &CallMeters| out_of_memory(meters).is_some();
        let check = |meters: &CallMeters, fails_of: bool, crashes_of: bool| {
            assert_eq!((fails(meters), crashes(meters)), (fails_of, crashes_of));
        };
        check(&meters(), false, false);
        let refused = meters();
        refused.memory.refuse();
        check(&refused, true, true);
        // It used its files: an error after that is one of its own.
        refused.attempts.count_step();
        check(&refused, false, true);
        // It got less memory, with which it made its error, or printed that it crashes.
        let less = meters();
        less.memory.refuse();
        less.memory.got_less();
        check(&less, false, true);
        // It got less memory and worked on with it, whatever it prints at its end.
        less.attempts.count_step();
        check(&less, false, false);
    }
}
