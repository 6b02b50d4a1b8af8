//! What a call may still do to the disk.

use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, MutexGuard};

use rustix::io::Errno;
use toolhost_contract::Denial;

use super::code::{FsError, FsResult};
use crate::DiskLimit;
use crate::accounting::meter::Meter;
use crate::accounting::quota::QuotaGuard;
use crate::component_id::ComponentId;
use crate::host::bindings::filesystem::types::ErrorCode;
use crate::workdir::Growth;

/// What a name takes of the disk, in bytes: a block of its folder, or of its own.
const NAME_BYTES: u64 = 4 << 10;

/// Counts changes against the call's limits and the workdir's.
#[derive(Clone)]
pub(crate) struct Budget {
    meter: Arc<Meter>,
    /// Bytes by which all calls of this sandbox have grown the workdir.
    growth: Growth,
}

/// What a file does not take any more.
#[derive(Clone, Copy, Default)]
pub(crate) struct Gone {
    /// By its size.
    pub(crate) bytes: u64,
    /// The most of it that was on the disk, and no hole.
    pub(crate) on_disk: u64,
}

/// A place among the open descriptors, given back when dropped.
pub(crate) struct OpenSlot {
    meter: Arc<Meter>,
    _share: QuotaGuard,
}

impl Drop for OpenSlot {
    fn drop(&mut self) {
        self.meter.open_files.fetch_sub(1, Relaxed);
    }
}

impl Budget {
    pub(crate) fn new(meter: Arc<Meter>, growth: Growth) -> Self {
        Self { meter, growth }
    }

    /// Whose call it is.
    pub(crate) fn component(&self) -> ComponentId {
        self.meter.component
    }

    pub(crate) fn open_slot(&self) -> FsResult<OpenSlot> {
        let meter = &self.meter;
        // WASI has no code for "too many open files"; libc reads this one as ENOMEM.
        let too_many = FsError::Code(ErrorCode::InsufficientMemory);
        let Some(share) = meter.host_files.hold(meter.component, 1) else {
            return Err(too_many);
        };
        let own = meter.open_files.fetch_add(1, Relaxed);
        let slot = OpenSlot {
            meter: Arc::clone(meter),
            _share: share,
        };
        if own >= meter.limits.open_files {
            return Err(too_many);
        }
        Ok(slot)
    }

    /// Held from the look at what a file takes until its change is counted.
    pub(crate) fn changing(&self) -> MutexGuard<'_, ()> {
        self.growth.changing()
    }

    /// Makes one more file, directory or link, where that is within the budget.
    pub(crate) fn make<T>(&self, make: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if self.meter.files_made.load(Relaxed) >= self.meter.limits.files {
            self.meter.meet(DiskLimit::Files);
            return Err(Errno::NOSPC.into());
        }
        self.charge(NAME_BYTES, NAME_BYTES)?;
        let made = make();
        match &made {
            Ok(_) => {
                self.meter.files_made.fetch_add(1, Relaxed);
            }
            Err(_) => {
                self.meter.disk_charged.fetch_sub(NAME_BYTES, Relaxed);
                self.freed(NAME_BYTES);
            }
        }
        made
    }

    /// A name is gone, and with it what a file took.
    pub(crate) fn removed(&self, gone: Gone) {
        self.freed(NAME_BYTES);
        self.cut(gone);
    }

    /// Takes `bytes` of the call's budget, and `growth` of the workdir's.
    ///
    /// # Errors
    /// `ENOSPC` where either is spent; nothing is taken then.
    pub(crate) fn charge(&self, bytes: u64, growth: u64) -> io::Result<()> {
        let limits = &self.meter.limits;
        let spent = self.meter.disk_charged.load(Relaxed).saturating_add(bytes);
        let refused = if spent > limits.disk_bytes {
            Some(DiskLimit::CallBytes)
        } else if !self.growth.take(growth, limits.workdir_bytes) {
            Some(DiskLimit::WorkdirBytes)
        } else {
            None
        };
        if let Some(limit) = refused {
            self.meter.meet(limit);
            return Err(Errno::NOSPC.into());
        }
        self.meter.disk_charged.fetch_add(bytes, Relaxed);
        Ok(())
    }

    /// A change failed: a disk that is full is a limit met, though not one of ours.
    pub(crate) fn failed(&self, code: ErrorCode) {
        if matches!(code, ErrorCode::InsufficientSpace | ErrorCode::Quota) {
            self.meter.meet(DiskLimit::Disk);
        }
    }

    /// `bytes` reached the disk.
    pub(crate) fn wrote(&self, bytes: u64) {
        self.meter.bytes_written.fetch_add(bytes, Relaxed);
    }

    /// The workdir shrank by `bytes` that it had taken.
    pub(crate) fn freed(&self, bytes: u64) {
        self.growth.give_back(bytes, bytes);
    }

    /// A file was cut.
    pub(crate) fn cut(&self, gone: Gone) {
        self.growth.give_back(gone.bytes, gone.on_disk);
    }

    pub(crate) fn read(&self, bytes: usize) {
        self.meter.bytes_read.fetch_add(bytes as u64, Relaxed);
    }

    /// One more name was listed.
    pub(crate) fn list_name(&self) -> FsResult<()> {
        if self.meter.names_listed.fetch_add(1, Relaxed) >= self.meter.limits.listed_names {
            return Err(FsError::Code(ErrorCode::Overflow));
        }
        Ok(())
    }

    pub(crate) fn deny(&self, what: Denial) {
        self.meter.deny(what);
    }

    /// The guest makes a call of a file or a directory.
    pub(crate) fn used(&self) {
        self.meter.goes_on();
    }
}
