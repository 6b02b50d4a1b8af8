//! The host itself, when the system refuses it: no descriptors, no room, nothing to write, no time to
//! end. Each test takes away what a real process needs, and gives it back.

mod descriptors;
mod disk;
mod host_process;
mod killed;
