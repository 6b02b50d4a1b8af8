//! What differs between systems.
//!
//! [`system`] is what each system has under another name, or not at all: Linux, macOS and Windows. [`ways`] is what
//! Linux does in one system call, and other systems step by step; the feature `portable` chooses the steps on Linux too,
//! so that its tests run over both. [`options`] is how cap-std opens a file.

#[cfg(target_vendor = "apple")]
#[path = "platform/apple.rs"]
mod system;
#[cfg(target_os = "linux")]
#[path = "platform/linux.rs"]
mod system;

#[cfg(windows)]
#[path = "platform/windows.rs"]
mod system;

#[cfg(unix)]
mod options;
#[cfg(windows)]
#[path = "platform/windows_options.rs"]
mod options;

#[cfg(all(target_os = "linux", not(feature = "portable")))]
#[path = "platform/kernel.rs"]
mod ways;
#[cfg(not(all(target_os = "linux", not(feature = "portable"))))]
#[path = "platform/portable.rs"]
mod ways;

pub(crate) use options::{check_opened, open_options};
pub(crate) use system::{
    HANDLE, HAS_ADDRESS_SPACE, HAS_EXCHANGE, HAS_FD_PATH, QUIET, born, device, end_with_parent,
    fd_path, handle_path, limit_process, may_hold_devices, mode, mount, number, open_again,
    path_of, read_link_of, set_times,
};
pub(crate) use ways::{
    Advice, advise, append, clone_file, copy_range, has_proc, memory_file, resolve_beneath,
    resolves_beneath, sync_file_system,
};
#[cfg(unix)]
pub(crate) use ways::{discard, keep_small_pages};

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
