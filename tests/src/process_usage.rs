//! The memory, files and threads of this process.

/// The resources that this process uses.
#[derive(Debug, Clone, Copy)]
pub struct ProcessUsage {
    /// Resident memory in bytes.
    pub rss: u64,
    /// Peak resident memory in bytes.
    pub peak: u64,
    /// Open files, with the one from which the number is read.
    pub fds: usize,
    /// Threads.
    pub threads: usize,
}

impl ProcessUsage {
    /// Reads the current usage.
    #[must_use]
    pub fn now() -> Self {
        Self {
            rss: status_bytes("VmRSS:"),
            peak: status_bytes("VmHWM:"),
            fds: std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count),
            threads: usize::try_from(status("Threads:")).unwrap_or(usize::MAX),
        }
    }
}

/// Returns a field of `/proc/self/status` that is a size, in bytes.
#[must_use]
pub fn status_bytes(field: &str) -> u64 {
    status(field) << 10
}

fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has this file");
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    number.and_then(|n| n.parse().ok()).expect("a number")
}
