//! The host without file descriptors, addresses, disk space or write access, and killed.
//! Each test runs a host in a child process and limits a resource of it.

mod addresses;
mod descriptors;
mod disk;
pub(crate) mod host_process;
mod killed;
mod killed_calls;
