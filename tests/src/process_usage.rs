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

/// Returns the page faults of this process that took no input or output, since it started.
#[must_use]
pub fn page_faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux has this file");
    // The second field is a name in brackets, which may hold anything; `minflt` is the tenth.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let faults = fields.split_whitespace().nth(7);
    faults.and_then(|n| n.parse().ok()).expect("a number")
}

fn status(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux has this file");
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    number.and_then(|n| n.parse().ok()).expect("a number")
}
