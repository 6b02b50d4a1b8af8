//! What a process holds of its machine.

/// Memory, files and threads of this process.
#[derive(Debug, Clone, Copy)]
pub struct Held {
    /// Bytes of memory.
    pub rss: u64,
    /// The most there ever were.
    pub peak: u64,
    /// Open files, the one counted among them that this is read from.
    pub fds: usize,
    /// Threads.
    pub threads: usize,
}

impl Held {
    /// What it holds now.
    #[must_use]
    pub fn now() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
        let field = |name: &str| -> u64 {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let number = line.and_then(|rest| rest.split_whitespace().next());
            number.and_then(|n| n.parse().ok()).expect("a number")
        };
        Self {
            rss: field("VmRSS:") << 10,
            peak: field("VmHWM:") << 10,
            fds: std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count),
            threads: usize::try_from(field("Threads:")).unwrap_or(usize::MAX),
        }
    }
}
