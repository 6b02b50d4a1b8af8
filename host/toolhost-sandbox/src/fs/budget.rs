//! What a call may still do to the disk.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use rustix::io::Errno;

use super::code::{FsError, FsResult};
use crate::bindings::filesystem::types::ErrorCode;
use crate::meter::Meter;
use crate::workdir::Growth;

/// Counts changes against the call's limits and the workdir's.
#[derive(Clone)]
pub(crate) struct Budget {
    meter: Arc<Meter>,
    /// Bytes by which all calls of this sandbox have grown the workdir.
    growth: Growth,
}

/// A place among the open descriptors, given back when dropped.
pub(crate) struct OpenSlot(Arc<Meter>);

impl Drop for OpenSlot {
    fn drop(&mut self) {
        self.0.open_files.fetch_sub(1, Relaxed);
        self.0.host_files.open.fetch_sub(1, Relaxed);
    }
}

impl Budget {
    pub(crate) fn new(meter: Arc<Meter>, growth: Growth) -> Self {
        Self { meter, growth }
    }

    pub(crate) fn open_slot(&self) -> FsResult<OpenSlot> {
        let (meter, host) = (&self.meter, &self.meter.host_files);
        let own = meter.open_files.fetch_add(1, Relaxed);
        let all = host.open.fetch_add(1, Relaxed);
        // Gives both back where it is not kept.
        let slot = OpenSlot(Arc::clone(meter));
        if own >= meter.limits.open_files || all >= host.most {
            // WASI has no code for "too many open files"; libc reads this one as ENOMEM.
            return Err(FsError::Code(ErrorCode::InsufficientMemory));
        }
        Ok(slot)
    }

    /// Whether one more file, directory or link may be made.
    pub(crate) fn check_new_file(&self) -> io::Result<()> {
        if self.meter.files_made.load(Relaxed) < self.meter.limits.files {
            return Ok(());
        }
        self.meter.disk_refused.store(true, Relaxed);
        Err(Errno::NOSPC.into())
    }

    /// One more was made.
    pub(crate) fn made_file(&self) {
        self.meter.files_made.fetch_add(1, Relaxed);
    }

    /// Takes `bytes` of the call's budget, and `growth` of the workdir's.
    ///
    /// # Errors
    /// `ENOSPC` where either is spent; nothing is taken then.
    pub(crate) fn charge(&self, bytes: u64, growth: u64) -> io::Result<()> {
        let limits = &self.meter.limits;
        let spent = self.meter.disk_charged.load(Relaxed).saturating_add(bytes);
        if spent > limits.disk_bytes || !self.growth.take(growth, limits.workdir_bytes) {
            self.meter.disk_refused.store(true, Relaxed);
            return Err(Errno::NOSPC.into());
        }
        self.meter.disk_charged.fetch_add(bytes, Relaxed);
        Ok(())
    }

    /// A write failed: a disk that is full is a limit reached, though not one of ours.
    pub(crate) fn failed(&self, error: &io::Error) {
        if matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        ) {
            self.meter.disk_refused.store(true, Relaxed);
        }
    }

    /// `bytes` reached the disk.
    pub(crate) fn wrote(&self, bytes: u64) {
        self.meter.bytes_written.fetch_add(bytes, Relaxed);
    }

    /// The workdir shrank by `bytes`.
    pub(crate) fn freed(&self, bytes: u64) {
        self.growth.give_back(bytes);
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

    pub(crate) fn deny(&self, what: &'static str) {
        self.meter.deny(what);
    }
}
