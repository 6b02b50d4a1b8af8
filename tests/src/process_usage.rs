//! What a process holds of its machine.

/// Memory, files and threads of this process.
#[derive(Debug, Clone, Copy)]
pub struct ProcessUsage {
    /// Bytes of memory.
    pub rss: u64,
    /// The most there ever were.
    pub peak: u64,
    /// Open files, the one counted among them that this is read from.
    pub fds: usize,
    /// Threads.
    pub threads: usize,
}

impl ProcessUsage {
    /// What it holds now.
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
