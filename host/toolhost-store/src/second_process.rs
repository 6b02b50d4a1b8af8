//! A second process on the same state root: this test binary once more, running one test alone.
//!
//! That test asks [`told_root`] whether it is the second process, and does nothing where it is not.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Names the state root to the second process.
const ROOT_VARIABLE: &str = "TOOLHOST_TEST_STATE_ROOT";

/// Beginning of what the second process says, in between what the test harness says.
const MARK: &str = "second process: ";

/// The second process, as the first sees it. It ends by itself when this is dropped.
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

    /// Waits for the next thing it says.
    pub(crate) fn hear(&mut self) -> String {
        loop {
            let mut line = String::new();
            let read = self.stdout.read_line(&mut line).unwrap();
            assert_ne!(read, 0, "the second process ended without a word");
            if let Some((_, said)) = line.split_once(MARK) {
                return said.trim_end().to_owned();
            }
        }
    }

    /// Lets it go on from [`wait`].
    pub(crate) fn go_on(&mut self) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(b"\n").unwrap();
        stdin.flush().unwrap();
    }

    /// Kills it with SIGKILL, and waits until the kernel has taken its locks away.
    pub(crate) fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Waits for its end, which must be a good one.
    pub(crate) fn finish(mut self) {
        self.stdin = None;
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        let status = self.process.wait().unwrap();
        assert!(status.success(), "{status}: {rest}");
        assert!(rest.contains("1 passed"), "{rest}");
    }
}

/// The state root, where this is the second process.
#[expect(
    clippy::disallowed_methods,
    reason = "the first process has no other way to tell a test which one it is"
)]
pub(crate) fn told_root() -> Option<PathBuf> {
    std::env::var_os(ROOT_VARIABLE).map(PathBuf::from)
}

/// Says something to the first process.
pub(crate) fn say(what: &str) {
    println!("\n{MARK}{what}");
}

/// Waits until the first process lets this one go on, or ends.
pub(crate) fn wait() {
    let _ = std::io::stdin().read(&mut [0]).unwrap();
}
