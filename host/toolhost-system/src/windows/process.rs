//! Processes, their limits and their users. Windows has neither process groups nor limits like those of Unix: what asks
//! for one fails, and no limit is known.

use std::process::{Child, Command, ExitStatus};

use super::io::{Errno, Result};

/// The user of every file and process, as no owner is read.
const USER: u32 = 0;

/// A user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Uid(u32);

impl Uid {
    /// Returns the user with this number.
    #[must_use]
    pub const fn from_raw(number: u32) -> Self {
        Self(number)
    }

    /// Returns the number.
    #[must_use]
    pub const fn as_raw(self) -> u32 {
        self.0
    }
}

/// A group. There are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gid(u32);

impl Gid {
    /// Returns the group with this number.
    #[must_use]
    pub const fn from_raw(number: u32) -> Self {
        Self(number)
    }

    /// Returns the number.
    #[must_use]
    pub const fn as_raw(self) -> u32 {
        self.0
    }
}

/// Returns the user of this process: the one to whom all files belong.
#[must_use]
pub fn geteuid() -> Uid {
    Uid(USER)
}

/// The id of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pid(u32);

impl Pid {
    /// Returns the id of a child process.
    #[must_use]
    pub fn from_child(child: &Child) -> Self {
        Self(child.id())
    }

    /// Returns the process with this id; none for zero and less.
    #[must_use]
    pub fn from_raw(id: i32) -> Option<Self> {
        u32::try_from(id).ok().filter(|id| *id > 0).map(Self)
    }
}

/// A signal of Unix. None is ever received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signal(i32);

impl Signal {
    /// Ends a process at once.
    pub const KILL: Self = Self(9);
    /// The processor time is used up.
    pub const XCPU: Self = Self(24);

    /// Returns the number.
    #[must_use]
    pub const fn as_raw(self) -> i32 {
        self.0
    }
}

/// The signal that ended a process.
pub trait ExitStatusExt {
    /// Returns none: no process ends by a signal.
    fn signal(&self) -> Option<i32>;
}

impl ExitStatusExt for ExitStatus {
    fn signal(&self) -> Option<i32> {
        None
    }
}

/// What Unix limits for each process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Bytes of addresses.
    As,
    /// Seconds of processor time.
    Cpu,
    /// Bytes of a file.
    Fsize,
    /// Bytes of a core dump.
    Core,
    /// Open files.
    Nofile,
}

/// A limit. None: there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rlimit {
    /// The limit that holds.
    pub current: Option<u64>,
    /// How far it may be raised.
    pub maximum: Option<u64>,
}

/// Returns a limit of this process: there is none.
#[must_use]
pub fn getrlimit(_: Resource) -> Rlimit {
    Rlimit {
        current: None,
        maximum: None,
    }
}

/// Limits this process: the system has no such limit.
///
/// # Errors
/// `NOTSUP`.
pub fn setrlimit(_: Resource, _: Rlimit) -> Result<()> {
    Err(Errno::NOTSUP)
}

/// Lowers the priority of this process: it stays as it is.
///
/// # Errors
/// `NOTSUP`.
pub fn nice(_: i32) -> Result<i32> {
    Err(Errno::NOTSUP)
}

/// Whether a program can start in a process group of its own: its caller kills the process alone.
pub const HAS_GROUPS: bool = false;

/// Has a program start in a process group of its own: there are none, and it starts as any other.
pub fn own_group(_: &mut Command) {}

/// Sends a signal to a process group: there are none, and its caller kills the process alone.
///
/// # Errors
/// `NOTSUP`.
pub fn kill_process_group(_: Pid, _: Signal) -> Result<()> {
    Err(Errno::NOTSUP)
}
