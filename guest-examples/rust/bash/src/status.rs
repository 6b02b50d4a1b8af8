//! What `stat` tells beyond [`std::fs::Metadata`], which stable std does not have for this target.

use std::ffi::{CString, c_char, c_int, c_long};
use std::io;
use std::mem::MaybeUninit;
use std::path::Path;
use std::time::{Duration, SystemTime};

#[repr(C)]
struct Time {
    seconds: i64,
    nanoseconds: c_long,
}

/// `struct stat` of wasi-libc.
#[repr(C)]
struct Stat {
    device: u64,
    inode: u64,
    links: u64,
    mode: u32,
    user: u32,
    group: u32,
    padding: u32,
    special: u64,
    size: i64,
    block_size: c_long,
    blocks: i64,
    accessed: Time,
    modified: Time,
    changed: Time,
    reserved: [i64; 3],
}

unsafe extern "C" {
    /// From the C library that std uses.
    #[link_name = "lstat"]
    fn c_lstat(path: *const c_char, stat: *mut Stat) -> c_int;
}

/// Identity and times of a file, a folder or a link.
pub(crate) struct Status {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) links: u64,
    pub(crate) size: u64,
    pub(crate) accessed: SystemTime,
    pub(crate) changed: SystemTime,
}

impl Status {
    /// Reads what is at a path; a link is not followed.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        let path = CString::new(path.as_os_str().as_encoded_bytes())?;
        let mut stat = MaybeUninit::<Stat>::zeroed();
        // SAFETY: the path ends in NUL, and the memory has the size and the layout of `struct stat`.
        if unsafe { c_lstat(path.as_ptr(), stat.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: each bit pattern is a value of these integers, and `lstat` has filled them.
        let stat = unsafe { stat.assume_init() };
        Ok(Self {
            device: stat.device,
            inode: stat.inode,
            links: stat.links.max(1),
            size: u64::try_from(stat.size).unwrap_or(0),
            accessed: stat.accessed.moment(),
            changed: stat.changed.moment(),
        })
    }
}

impl Time {
    fn moment(&self) -> SystemTime {
        let nanoseconds = Duration::from_nanos(u64::try_from(self.nanoseconds).unwrap_or(0));
        let seconds = Duration::from_secs(self.seconds.unsigned_abs());
        let moment = if self.seconds < 0 {
            SystemTime::UNIX_EPOCH.checked_sub(seconds)
        } else {
            SystemTime::UNIX_EPOCH.checked_add(seconds)
        };
        moment.unwrap_or(SystemTime::UNIX_EPOCH) + nanoseconds
    }
}
