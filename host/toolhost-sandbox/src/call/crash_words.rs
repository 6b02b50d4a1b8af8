//! Finds in a guest's stderr why it crashed. Each runtime prints the cause in its own form, and often other
//! lines after it.

use toolhost_contract::text::printable;

/// Longest reason, in bytes.
const REASON_MAX: usize = 4 << 10;

/// Returns the cause that the runtime of a guest printed, or else the last line of stderr.
pub(super) fn crash_words(stderr: &str) -> Option<String> {
    let cause = rust_panic(stderr)
        .or_else(|| go_panic(stderr))
        .or_else(|| python_fatal(stderr))
        .or_else(|| before_stack(stderr))
        .or_else(|| last_line(stderr))?;
    let cause = printable(cause.trim(), REASON_MAX);
    (!cause.is_empty()).then_some(cause)
}

/// Returns the words of a Go program that panicked. Such a program ends its process.
pub(super) fn go_words(stderr: &str) -> Option<String> {
    Some(printable(go_panic(stderr)?.trim(), REASON_MAX))
}

/// Returns the last line of stderr that is not blank.
pub(super) fn last_words(stderr: &str) -> Option<String> {
    Some(printable(last_line(stderr)?.trim(), REASON_MAX))
}

/// The message of a Rust panic. componentize-py panics after it printed the traceback of an exception: then
/// the exception is the cause.
fn rust_panic(stderr: &str) -> Option<String> {
    let mut lines = stderr.lines();
    let before = lines
        .by_ref()
        .take_while(|line| !is_rust_header(line))
        .collect::<Vec<_>>();
    let message = lines.take_while(|line| !line.starts_with("note: "));
    let message = joined(message)?;
    Some(python_exception(&before).unwrap_or(message))
}

/// Whether a line is of the form `thread 'main' panicked at src/lib.rs:1:2:`.
fn is_rust_header(line: &str) -> bool {
    line.contains("panicked at")
}

/// The exception of a Python traceback that ends these lines: its type and message, without the frames.
fn python_exception(lines: &[&str]) -> Option<String> {
    let start = lines
        .iter()
        .rposition(|line| line.starts_with("Traceback (most recent call last):"))?;
    let after = lines.iter().skip(start + 1);
    joined(after.skip_while(|line| line.starts_with(' ')).copied())
}

/// A Go panic or fatal error: the lines before the goroutines' stacks.
fn go_panic(stderr: &str) -> Option<String> {
    let is_header = |line: &&str| line.starts_with("panic: ") || line.starts_with("fatal error: ");
    let is_stack =
        |line: &&str| line.starts_with("goroutine ") || line.starts_with("runtime stack:");
    stderr.lines().find(is_stack)?;
    let lines = stderr.lines().skip_while(|line| !is_header(line));
    let ends = |line: &&str| !line.is_empty() && !is_stack(line) && !line.starts_with("[signal ");
    joined(lines.take_while(ends))
}

/// A fatal error of the Python interpreter, which prints the stacks of its threads afterwards.
fn python_fatal(stderr: &str) -> Option<String> {
    let is_fatal = |line: &&str| line.starts_with("Fatal Python error: ");
    stderr.lines().find(is_fatal).map(str::to_owned)
}

/// The line before `Stack:`, as StarlingMonkey prints an exception.
fn before_stack(stderr: &str) -> Option<String> {
    let lines: Vec<&str> = stderr.lines().collect();
    let stack = lines.iter().rposition(|line| line.trim() == "Stack:")?;
    let before = lines.iter().take(stack).rev();
    let mut spoken = before.filter(|line| !line.trim().is_empty());
    spoken.next().map(|line| (*line).to_owned())
}

fn last_line(stderr: &str) -> Option<String> {
    // What StarlingMonkey prints after the cause.
    let is_cause =
        |line: &&str| !line.trim().is_empty() && !line.starts_with("Redirecting call to abort()");
    stderr.lines().rev().find(is_cause).map(str::to_owned)
}

/// Joins lines. None if they are blank.
fn joined<'a>(lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let text = lines.collect::<Vec<_>>().join("\n");
    (!text.trim().is_empty()).then(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What runtimes print when a guest crashes, and the cause in it.
    const PRINTED: [(&str, &str, &str); 14] = [
        (
            "Rust",
            "before\n\nthread '<unnamed>' panicked at src/lib.rs:5:9:\nthe reason\n\
             note: run with `RUST_BACKTRACE=1` environment variable\n",
            "the reason",
        ),
        (
            "Rust, a message of two lines",
            "thread 'main' (1) panicked at src/lib.rs:5:9:\none\ntwo\nnote: run with\n",
            "one\\u{a}two",
        ),
        (
            "componentize-py",
            "Traceback (most recent call last):\n  File \"/0/app.py\", line 9, in call\n    \
             return self.run(1)\nValueError: no such sheet\n\nthread '<unnamed>' panicked at \
             runtime/src/lib.rs:482:21:\nPython function threw an unexpected exception\nnote: run with \
             `RUST_BACKTRACE=1`\n",
            "ValueError: no such sheet",
        ),
        (
            "componentize-py, an exception during another",
            "Traceback (most recent call last):\n  File \"/0/app.py\", line 3\nKeyError: 'a'\n\nDuring \
             handling of the above exception, another exception occurred:\n\nTraceback (most recent call \
             last):\n  File \"/0/app.py\", line 5\nRuntimeError: second\nthread '<unnamed>' panicked at \
             a.rs:1:1:\nunexpected\n",
            "RuntimeError: second",
        ),
        (
            "Python without a panic after it",
            "Traceback (most recent call last):\n  x\nValueError: no\n\n",
            "ValueError: no",
        ),
        (
            "the Python interpreter",
            "Fatal Python error: _PyObject_AssertFailed: object\nPython runtime state: \
             initialized\n\nCurrent thread (most recent call first):\n  File \"/0/app.py\", line 2\n",
            "Fatal Python error: _PyObject_AssertFailed: object",
        ),
        (
            "Go",
            "reading\npanic: runtime error: index out of range [5] with length 3\n\ngoroutine 1 \
             [running]:\nmain.run(...)\n\t/src/main.go:9\nexit status 2\n",
            "panic: runtime error: index out of range [5] with length 3",
        ),
        (
            "Go, a panic within a panic",
            "panic: first [recovered]\n\tpanic: second\n\ngoroutine 1 [running]:\nmain.main()\n",
            "panic: first [recovered]\\u{a}\tpanic: second",
        ),
        (
            "Go, its runtime",
            "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [chan receive]:\n",
            "fatal error: all goroutines are asleep - deadlock!",
        ),
        (
            "StarlingMonkey",
            "log\nError: no such city\nStack:\n  find@tool.js:3:11\n  call@tool.js:9:2\n",
            "Error: no such city",
        ),
        (
            "StarlingMonkey, abort",
            "\"out of memory\"\nRedirecting call to abort() to mozalloc_abort\n\n",
            "\"out of memory\"",
        ),
        (
            "C, assert",
            "Assertion failed: n < 3 (tool.c: run: 12)\n",
            "Assertion failed: n < 3 (tool.c: run: 12)",
        ),
        (
            "C, abort after a message",
            "one\nfatal: no table\n\n",
            "fatal: no table",
        ),
        (
            "a line of a tool that begins like one of Go",
            "panic: not really\nthe end\n",
            "the end",
        ),
    ];

    #[test]
    fn the_cause_of_a_crash_is_found_in_what_each_runtime_prints() {
        for (runtime, stderr, cause) in PRINTED {
            let found = crash_words(stderr).map(|found| found.replace("\\u{9}", "\t"));
            assert_eq!(found.as_deref(), Some(cause), "{runtime}");
        }
        assert_eq!(crash_words(" \n"), None);
    }
}
