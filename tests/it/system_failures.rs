//! The host without file descriptors, without disk space, without write access, and killed.
//! Each test runs a host in a child process and limits a resource of it.

mod descriptors;
mod disk;
mod host_process;
mod killed;
