//! What differs between systems.
//!
//! [`system`] is what each system has under another name, or not at all: Linux and macOS. [`ways`] is what Linux does in
//! one system call, and other systems step by step; the feature `portable` chooses the steps on Linux too, so that its
//! tests run over both.

#[cfg(target_vendor = "apple")]
#[path = "platform/apple.rs"]
mod system;
#[cfg(target_os = "linux")]
#[path = "platform/linux.rs"]
mod system;

#[cfg(all(target_os = "linux", not(feature = "portable")))]
#[path = "platform/kernel.rs"]
mod ways;
#[cfg(not(all(target_os = "linux", not(feature = "portable"))))]
#[path = "platform/portable.rs"]
mod ways;

pub(crate) use system::{
    HANDLE, QUIET, born, device, end_with_parent, fd_path, limit_process, may_hold_devices, mode,
    mount, number, open_again, path_of, read_link_of, set_times,
};
pub(crate) use ways::{
    Advice, advise, append, clone_file, copy_range, discard, has_proc, keep_small_pages,
    memory_file, resolve_beneath, sync_file_system,
};

/// How [`resolve_beneath`] resolves a path. It never leaves the directory, nor follows a link of the kernel's own.
#[cfg_attr(
    not(all(target_os = "linux", not(feature = "portable"))),
    expect(dead_code, reason = "the system resolves no path")
)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Resolve {
    /// Refuses every symlink.
    pub(crate) no_links: bool,
    /// Refuses to leave the file system.
    pub(crate) no_mounts: bool,
}

/// Returns a field of nanoseconds, whose type depends on the system.
pub(crate) fn nanoseconds(field: impl TryInto<i64>) -> i64 {
    field.try_into().unwrap_or_default()
}
