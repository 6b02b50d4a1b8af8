//! What differs between systems.
//!
//! [`system`] has what each system names differently, or lacks: Linux and macOS. [`calls`] has what Linux does in
//! one system call and other systems step by step; the feature `portable` chooses the steps on Linux too, so that its
//! tests run over both. [`options`] has how cap-std opens a file.

#[cfg(target_vendor = "apple")]
#[path = "platform/apple.rs"]
mod system;
#[cfg(target_os = "linux")]
#[path = "platform/linux.rs"]
mod system;

mod options;

#[cfg(all(target_os = "linux", not(feature = "portable")))]
#[path = "platform/linux_calls.rs"]
mod calls;
#[cfg(not(all(target_os = "linux", not(feature = "portable"))))]
#[path = "platform/portable.rs"]
mod calls;

pub(crate) use calls::{
    Advice, advise, append, clone_file, copy_range, discard, has_proc, keep_small_pages,
    memory_file, resolve_beneath, resolves_beneath, sync_file_system,
};
pub(crate) use options::open_options;
pub(crate) use system::{
    KEEP_ACCESS_TIME, PATH_ONLY, birth_time, device, end_with_parent, fd_path, file_system_type,
    handle_path, limit_process, may_hold_devices, mode, mount_id, open_again, path_of,
    read_link_of, set_times,
};

/// How [`resolve_beneath`] resolves a path. It never leaves the directory, nor follows a link of the kernel's own.
#[cfg_attr(
    not(all(target_os = "linux", not(feature = "portable"))),
    expect(dead_code, reason = "only `openat2` reads the fields")
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
