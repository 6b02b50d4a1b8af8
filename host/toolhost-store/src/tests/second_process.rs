//! A second process on the same state root: runs one test of this test binary.
//!
//! That test calls [`given_state_root`], and does nothing if it is not in the second process.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Environment variable with the state root for the second process.
const ROOT_VARIABLE: &str = "TOOLHOST_TEST_STATE_ROOT";

/// Beginning of the reports of the second process, which distinguishes them from the test harness's lines.
const MARK: &str = "second process: ";

/// Controls the second process, which ends when this is dropped.
pub(crate) struct SecondProcess {
    process: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl SecondProcess {
    /// Starts `test`, such as `tests::adds_rows_as_a_second_process`.
    pub(crate) fn start(test: &str, state_root: &Path) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture", "--test-threads=1"])
            .env(ROOT_VARIABLE, state_root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdin = process.stdin.take();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        Self {
            process,
            stdin,
            stdout,
        }
    }

    /// Waits for its next report.
    pub(crate) fn next_line(&mut self) -> String {
        loop {
            let mut line = String::new();
            let read = self.stdout.read_line(&mut line).unwrap();
            assert_ne!(read, 0, "the second process ended without a report");
            if let Some((_, report)) = line.split_once(MARK) {
                return report.trim_end().to_owned();
            }
        }
    }

    /// Ends its [`wait`].
    pub(crate) fn resume(&mut self) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    /// Kills it with SIGKILL, and waits until the kernel has released its locks.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Waits until it has ended; it must have passed its test.
    pub(crate) fn finish(mut self) {
        self.stdin = None;
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        let status = self.process.wait().unwrap();
        assert!(status.success(), "{status}: {rest}");
        assert!(rest.contains("1 passed"), "{rest}");
    }
}

/// Returns the state root in the second process; none in the first.
#[expect(
    clippy::disallowed_methods,
    reason = "arguments of a test binary select tests, so only the environment can pass a path"
)]
pub(crate) fn given_state_root() -> Option<PathBuf> {
    std::env::var_os(ROOT_VARIABLE).map(PathBuf::from)
}

/// Sends a report to the first process.
pub(crate) fn report(what: &str) {
    println!("\n{MARK}{what}");
}

/// Waits until the first process calls [`SecondProcess::resume`], or ends.
pub(crate) fn wait() {
    let _ = std::io::stdin().read(&mut [0]).unwrap();
}
