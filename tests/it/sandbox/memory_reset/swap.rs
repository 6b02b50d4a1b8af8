//! Turns on swap, and swaps out this process.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Stdio};

use rustix::mm::{Advice, madvise};
use toolhost_tests::process_usage::status_bytes;
use toolhost_tests::root;

use crate::helper::helper;

/// Enables the test, which turns on swap for the whole machine while it runs.
const ENABLED_BY: &str = "TOOLHOST_TEST_SWAP";

/// Swap in a file until this value is dropped. A child process turns swap off, also if this process
/// is killed.
pub(super) struct Swap(Child);

impl Swap {
    /// Turns swap on.
    ///
    /// # Errors
    /// Swap is not enabled by [`ENABLED_BY`], or the machine does not allow it.
    pub(super) fn on() -> Result<Self, String> {
        if std::env::var_os(ENABLED_BY).is_none() {
            return Err(format!(
                "{ENABLED_BY}=1 enables it; it needs root and turns on swap for a minute"
            ));
        }
        let mut guard = helper("swap-file")
            .arg(root("target/tmp").join(format!("swap-{}", std::process::id())))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // Its own group, so that a test runner that kills this group leaves it time to turn swap off.
            .process_group(0)
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut line = String::new();
        let read = guard.stdout.as_mut().map(BufReader::new);
        let read = read.map(|mut stdout| stdout.read_line(&mut line));
        match (read, line.trim_end()) {
            (Some(Ok(_)), "on") => Ok(Self(guard)),
            (_, reason) => {
                let _ended = guard.wait();
                Err(format!("swap cannot be turned on: {reason}"))
            }
        }
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        // The child process turns swap off at the end of its input.
        drop(self.0.stdin.take());
        let ended = self.0.wait();
        let off = ended.is_ok_and(|status| status.success());
        assert!(off || std::thread::panicking(), "swap is still on");
    }
}

/// Pages out all private memory of this process, as memory pressure would.
#[expect(
    unsafe_code,
    reason = "the advice moves pages and changes no byte; a range that is gone meanwhile is an error"
)]
pub(super) fn page_out() {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    for line in maps.lines() {
        let Some((range, rest)) = line.split_once(' ') else {
            continue;
        };
        if !rest.starts_with("rw-p") {
            continue;
        }
        let address = |text: &str| usize::from_str_radix(text, 16).unwrap();
        let (start, end) = range.split_once('-').unwrap();
        let (start, end) = (address(start), address(end));
        let at = std::ptr::without_provenance_mut(start);
        let _gone = unsafe { madvise(at, end - start, Advice::LinuxPageOut) };
    }
}

/// Returns the bytes of this process that are swapped out now.
pub(super) fn swapped() -> u64 {
    status_bytes("VmSwap:")
}
