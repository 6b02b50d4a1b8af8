//! System calls of files that differ between systems.
//!
//! `system` has what each system names differently, or lacks: Linux and macOS. `calls` has what Linux does in
//! one system call and other systems step by step; the feature `portable` chooses the steps on Linux too, so that its
//! tests run over both. `options` has how cap-std opens a file.

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

use rustix::fs::{FileType, RawMode};

pub use calls::{
    Advice, advise, append, clone_file, copy_range, has_proc, resolve_beneath, resolves_beneath,
    sync_file_system,
};
pub use options::open_options;
pub use system::{
    KEEP_ACCESS_TIME, PATH_ONLY, birth_time, device, fd_path, file_system_type, handle_path,
    may_hold_devices, mode, mount_id, open_again, path_of, read_link_of, set_mode, set_times,
    umask,
};

/// How [`resolve_beneath`] resolves a path. It never leaves the directory, nor follows a link of the kernel's own.
#[derive(Debug, Clone, Copy, Default)]
pub struct Resolve {
    /// Refuses every symlink.
    pub no_links: bool,
    /// Refuses to leave the file system.
    pub no_mounts: bool,
}

/// Returns the type of a file from its mode, whose width depends on the system.
pub fn file_type(mode: u32) -> FileType {
    FileType::from_raw_mode(mode as RawMode)
}

/// Returns a field of nanoseconds, whose type depends on the system.
pub fn nanoseconds(field: impl TryInto<i64>) -> i64 {
    field.try_into().unwrap_or_default()
}
