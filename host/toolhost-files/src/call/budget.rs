//! Counts changes of files against the limits of the call and of the workdir.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use rustix::io::Errno;
use toolhost_contract::{DiskLimit, Limits};
use toolhost_runtime::QuotaGuard;

use super::meter::FileMeter;
use crate::workdir::{ChangeGuard, FreedSpace, Target, WorkdirUsage};

/// Bytes charged for a name: one block, of its directory or of its own.
const NAME_BYTES: u64 = 4 << 10;

/// Counts changes against the limits of the call and of the workdir.
#[derive(Clone)]
pub(super) struct Budget {
    pub(super) meter: Arc<FileMeter>,
    pub(super) usage: WorkdirUsage,
    /// The deadline of the call. None where that is beyond the range of the clock.
    pub(super) ends: Option<Instant>,
}

/// One of the call's open descriptors. Dropping it frees the slot.
pub struct OpenSlot {
    meter: Arc<FileMeter>,
    _share: QuotaGuard,
}

impl Drop for OpenSlot {
    fn drop(&mut self) {
        self.meter.open_files.fetch_sub(1, Relaxed);
    }
}

impl Budget {
    /// Locks files or names of the workdir, until a change of them is counted.
    ///
    /// # Errors
    /// `EBUSY` if another call still changes one of them at the deadline.
    pub(super) fn lock<const N: usize>(
        &self,
        targets: [Target; N],
    ) -> Result<ChangeGuard<'_, N>, Errno> {
        self.usage.lock(targets, self.ends)
    }

    /// Reserves an open descriptor.
    ///
    /// # Errors
    /// `ENOMEM`: WASI has no code for too many open files.
    pub(super) fn open_slot(&self) -> Result<OpenSlot, Errno> {
        let meter = &self.meter;
        let share = meter.all_open_files.hold(meter.component, 1);
        let share = share.ok_or(Errno::NOMEM)?;
        let open = meter.open_files.fetch_add(1, Relaxed);
        let slot = OpenSlot {
            meter: Arc::clone(meter),
            _share: share,
        };
        if open >= meter.limits.open_files {
            return Err(Errno::NOMEM);
        }
        Ok(slot)
    }

    /// Creates a file, directory or link if the budget allows one more.
    ///
    /// # Errors
    /// `ENOSPC` if the budget is spent; the error of `create`.
    pub(super) fn create<T>(&self, create: impl FnOnce() -> Result<T, Errno>) -> Result<T, Errno> {
        let meter = &self.meter;
        if !meter.add_within(|meter| &meter.files_made, |limits| limits.files, 1) {
            meter.note_disk_limit(DiskLimit::Files);
            return Err(Errno::NOSPC);
        }
        let charged = self.charge(NAME_BYTES, NAME_BYTES);
        let created = charged.and_then(|()| {
            let created = create();
            if created.is_err() {
                meter.take_back(|meter| &meter.disk_charged, NAME_BYTES);
                self.give_back(NAME_BYTES);
            }
            created
        });
        if created.is_err() {
            meter.take_back(|meter| &meter.files_made, 1);
        }
        created
    }

    /// Counts a removed name, and the space of its file if it was the last one.
    pub(super) fn removed(&self, freed: FreedSpace) {
        self.give_back(NAME_BYTES);
        self.usage.shrink(freed);
    }

    /// Takes the bytes of a copy that a transaction makes of a file from the call's budget, and from the workdir's
    /// until the transaction has ended.
    ///
    /// # Errors
    /// `ENOSPC` if either is spent; then nothing is taken.
    pub(super) fn stage(&self, bytes: u64) -> Result<(), Errno> {
        self.take(bytes, |bytes, limit| self.usage.stage(bytes, limit))
    }

    /// Takes `bytes` from the call's budget and `growth` from the workdir's.
    ///
    /// # Errors
    /// `ENOSPC` if either is spent; then nothing is taken.
    pub(super) fn charge(&self, bytes: u64, growth: u64) -> Result<(), Errno> {
        self.take(bytes, |_, limit| self.usage.grow(growth, limit))
    }

    /// Takes `bytes` from the call's budget, and from the workdir's what `of_workdir` takes.
    fn take(&self, bytes: u64, of_workdir: impl FnOnce(u64, u64) -> bool) -> Result<(), Errno> {
        let meter = &self.meter;
        let limit = |limits: &Limits| limits.disk_bytes;
        if !meter.add_within(|meter| &meter.disk_charged, limit, bytes) {
            meter.note_disk_limit(DiskLimit::CallBytes);
            return Err(Errno::NOSPC);
        }
        if !of_workdir(bytes, meter.limits.workdir_bytes) {
            meter.take_back(|meter| &meter.disk_charged, bytes);
            meter.note_disk_limit(DiskLimit::WorkdirBytes);
            return Err(Errno::NOSPC);
        }
        Ok(())
    }

    /// Counts a failed operation: a full disk is a limit that the call met.
    pub(super) fn failed(&self, errno: Errno) {
        if matches!(errno, Errno::NOSPC | Errno::DQUOT) {
            self.meter.note_disk_limit(DiskLimit::Disk);
        }
    }

    /// Gives back charged bytes by which the workdir did not grow.
    pub(super) fn give_back(&self, bytes: u64) {
        self.usage.shrink(FreedSpace {
            bytes,
            on_disk: bytes,
        });
    }

    /// Counts a listed name.
    ///
    /// # Errors
    /// `EOVERFLOW` beyond the limit of the call.
    pub(super) fn listed_name(&self) -> Result<(), Errno> {
        let limit = |limits: &Limits| limits.listed_names;
        if self.meter.add_within(|meter| &meter.names_listed, limit, 1) {
            Ok(())
        } else {
            Err(Errno::OVERFLOW)
        }
    }
}
