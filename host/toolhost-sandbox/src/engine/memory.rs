//! The linear memories of instances, which are reused from one call to the next.
//!
//! A memory occupies a [slot]: an address range that is reserved once. A component's slots begin with its
//! [image]: the kernel maps it copy-on-write, so that calls share the pages that they only read. After a
//! call, the host asks the kernel [which pages the call may have written to](page_scan), and writes the
//! initial data over these pages alone. They stay resident: the next call takes no page fault.
//!
//! [`idle_memory_bytes`](crate::SandboxConfig::idle_memory_bytes) limits what all slots together keep.

pub(in crate::engine) mod address_space;
pub(crate) mod creator;
mod idle;
mod idle_slots;
pub(crate) mod image;
#[cfg(all(target_os = "linux", not(feature = "portable")))]
pub(crate) mod page_scan;
#[cfg(not(all(target_os = "linux", not(feature = "portable"))))]
#[path = "memory/no_page_scan.rs"]
pub(crate) mod page_scan;
mod slot;
pub(crate) mod source;

pub(crate) use idle::IdleMemory;
