//! System calls of memories and of the process that compiles. They differ between systems; the feature `portable`
//! chooses the other memories on Linux, so that its tests run over both.

#[cfg(all(target_os = "linux", not(feature = "portable")))]
#[path = "platform/linux.rs"]
mod memory;
#[cfg(not(all(target_os = "linux", not(feature = "portable"))))]
#[path = "platform/portable.rs"]
mod memory;

use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit};

pub(crate) use memory::{discard, keep_small_pages, memory_file};

/// Kills this process when its parent ends. Elsewhere than on Linux, a compiler ends by its limits.
pub(crate) fn end_with_parent() {
    // It works also where the system refuses.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
}

/// Limits what a process may use.
#[cfg(target_os = "linux")]
pub(crate) fn limit_process(pid: Pid, resource: Resource, limit: Rlimit) -> Result<(), Errno> {
    rustix::process::prlimit(Some(pid), resource, limit).map(drop)
}

/// The system has no such request.
#[cfg(not(target_os = "linux"))]
pub(crate) fn limit_process(_: Pid, _: Resource, _: Rlimit) -> Result<(), Errno> {
    Err(Errno::NOTSUP)
}
