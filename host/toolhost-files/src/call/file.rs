//! An open regular file, read and written within the budget.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;

use cap_primitives::fs::MetadataExt;
use cap_std::fs::Metadata;
use rustix::buffer::spare_capacity;
use rustix::fs::Timestamps;
use rustix::io::{Errno, pread};
use toolhost_contract::FileId;

use super::budget::{Budget, OpenSlot};
use super::meter::FileMeter;
use crate::platform;
use crate::workdir::{ChangeGuard, FreedSpace, Target, WorkdirFile, errno_of};

/// Maximum bytes of one read or write of a stream.
pub const CHUNK: usize = 64 << 10;

/// The access that a guest asked for when it opened a file.
#[derive(Clone, Copy)]
pub struct FileAccess {
    /// Whether it may be read.
    pub read: bool,
    /// Whether it may be written.
    pub write: bool,
    /// `O_RSYNC`, which is reported and otherwise ignored: no read waits for the disk.
    pub read_sync: bool,
}

/// What is written to the disk.
#[derive(Debug, Clone, Copy)]
pub enum Synced {
    /// The data of a file, and what is needed to read it.
    Data,
    /// All of it.
    All,
}

/// An open regular file.
pub struct OpenFile {
    pub(crate) file: WorkdirFile,
    /// What the guest may do with it.
    pub access: FileAccess,
    pub(super) budget: Budget,
    /// Its identity; of a copy that a transaction has made, that of the file of the workdir.
    pub(super) id: FileId,
    _slot: OpenSlot,
}

/// The size of a file before a change.
#[derive(Clone, Copy)]
struct Extent {
    size: u64,
    on_disk: u64,
    counts: bool,
}

impl Extent {
    /// Returns how many of the changed bytes count for the workdir: none if another program has removed the
    /// file, which is not seen. The space of one that a call has removed counts until it is closed.
    fn in_workdir(self, bytes: u64) -> u64 {
        if self.counts { bytes } else { 0 }
    }
}

impl OpenFile {
    /// Takes a file that was opened.
    ///
    /// # Errors
    /// `ENOENT` if it was removed meanwhile: then its space counts as freed.
    pub(super) fn new(
        file: WorkdirFile,
        id: FileId,
        access: FileAccess,
        budget: Budget,
        slot: OpenSlot,
    ) -> io::Result<Self> {
        budget.usage.hold(id);
        let opened = Self {
            file,
            access,
            budget,
            id,
            _slot: slot,
        };
        // After it is held: whoever removes it from now on leaves its space to the last one that closes it.
        match opened.links()? {
            0 => Err(Errno::NOENT.into()),
            _ => Ok(opened),
        }
    }

    /// Locks the size of the file, until its change is counted.
    fn lock_size(&self) -> Result<ChangeGuard<'_, 1>, Errno> {
        self.budget.lock([Target::Size(self.id)])
    }

    /// Reads its metadata.
    ///
    /// # Errors
    /// Those of the system.
    pub fn metadata(&self) -> io::Result<Metadata> {
        Metadata::from_file(&self.file.get())
    }

    /// The meter of the call.
    pub fn meter(&self) -> &FileMeter {
        &self.budget.meter
    }

    /// Waits until the data that was written is on the disk.
    pub(super) fn sync(&self, what: Synced) -> io::Result<()> {
        match what {
            Synced::Data => self.file.get().sync_data(),
            Synced::All => self.file.get().sync_all(),
        }
    }

    /// Tells the system how the file will be read.
    pub fn advise(
        &self,
        offset: u64,
        length: Option<NonZeroU64>,
        advice: platform::Advice,
    ) -> Result<(), Errno> {
        platform::advise(&self.file.get(), offset, length, advice)
    }

    fn links(&self) -> io::Result<u64> {
        Ok(self.file.links(&self.metadata()?)?)
    }

    /// Makes sure that a change reaches no file of the workdir in a transaction: copies the first `keep` bytes
    /// of it, once. They count for the call.
    fn copy_up(&self, keep: u64) -> Result<(), Errno> {
        self.file.copy_up(keep, &|bytes| self.budget.stage(bytes))
    }

    fn extent(&self) -> io::Result<Extent> {
        let metadata = self.metadata()?;
        Ok(Extent {
            size: metadata.len(),
            on_disk: metadata.blocks().saturating_mul(512),
            counts: self.file.links(&metadata)? > 0 || self.budget.usage.holds_removed(self.id),
        })
    }

    /// Sets the times of the file.
    pub(super) fn set_times(&self, times: &Timestamps) -> Result<(), Errno> {
        self.copy_up(u64::MAX)?;
        rustix::fs::futimens(&*self.file.get(), times)
    }

    /// Cuts the file, or lets it grow by a hole.
    ///
    /// # Errors
    /// `ENOSPC` if the budget is spent; those of the system.
    pub fn set_size(&self, size: u64) -> io::Result<()> {
        let _size = self.lock_size()?;
        // Of the file that a transaction copies, too: what it cuts is freed.
        let before = self.extent()?;
        self.copy_up(size)?;
        let growth = size.saturating_sub(before.size);
        self.budget.charge(growth, before.in_workdir(growth))?;
        if let Err(error) = self.file.get().set_len(size) {
            self.budget.give_back(before.in_workdir(growth));
            return Err(error);
        }
        let cut = before.size.saturating_sub(size);
        self.budget.usage.shrink(FreedSpace {
            bytes: before.in_workdir(cut),
            on_disk: before.in_workdir(before.on_disk),
        });
        Ok(())
    }

    /// Reads at most `size` bytes, and at most [`CHUNK`]. None are left at the end of the file.
    pub fn read_at(&self, size: usize, at: u64) -> io::Result<Vec<u8>> {
        // Not zeroed: the system writes what is read, and nothing else of it is used.
        let mut bytes = Vec::with_capacity(size.min(CHUNK));
        let file = self.file.get();
        let read = loop {
            match pread(&*file, spare_capacity(&mut bytes), at) {
                Err(Errno::INTR) => {}
                done => break done?,
            }
        };
        self.budget
            .meter
            .add(|meter| &meter.bytes_read, read as u64);
        Ok(bytes)
    }

    /// Returns whether the file ends at this offset or before.
    pub fn ends_at(&self, at: u64) -> io::Result<bool> {
        Ok(self.extent()?.size <= at)
    }

    /// Writes all of `bytes`, or none if the budget is spent.
    pub fn write_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        self.write(bytes, |_| at, || self.file.get().write_all_at(bytes, at))
    }

    /// Writes all of `bytes` at the end of the file, even if another process moves the end meanwhile.
    pub fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let end = |before: Extent| before.size;
        self.write(bytes, end, || append_all(&self.file.get(), bytes))
    }

    fn write(
        &self,
        bytes: &[u8],
        at: impl FnOnce(Extent) -> u64,
        write: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let _size = self.lock_size()?;
        if !bytes.is_empty() {
            self.copy_up(u64::MAX)?;
        }
        let before = self.extent()?;
        let length = bytes.len() as u64;
        let end = at(before).checked_add(length).ok_or(Errno::FBIG)?;
        let growth = match length {
            0 => 0,
            _ => end.saturating_sub(before.size),
        };
        self.budget
            .charge(length.max(growth), before.in_workdir(growth))?;
        let written = write();
        match &written {
            Ok(()) => {
                self.budget.meter.add(|meter| &meter.bytes_written, length);
            }
            // A part may have been written. The growth that did not happen is given back.
            Err(error) => {
                self.budget.failed(errno_of(error));
                let grown = self.extent()?.size.saturating_sub(before.size);
                let bytes = grown.min(length);
                self.budget.meter.add(|meter| &meter.bytes_written, bytes);
                let missing = growth.saturating_sub(grown);
                self.budget.give_back(before.in_workdir(missing));
            }
        }
        written
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        if !self.budget.usage.release(self.id) {
            return;
        }
        if let Ok(removed) = self.extent() {
            self.budget.usage.shrink(FreedSpace {
                bytes: removed.size,
                on_disk: removed.on_disk,
            });
        }
    }
}

fn append_all(file: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match platform::append(file, bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::thread;
    use std::time::Duration;
    use toolhost_runtime::{ComponentId, Quota};

    use super::*;
    use crate::workdir::{WorkdirUsage, file_id};
    use toolhost_contract::Limits;

    fn budget() -> Budget {
        let files = Arc::new(Quota::new(100, 3));
        let meter = FileMeter::new(ComponentId(1), Limits::default(), files, Arc::default());
        Budget {
            meter: Arc::new(meter),
            usage: WorkdirUsage::default(),
            ends: None,
        }
    }

    /// A new file, with a name in this directory.
    fn open(budget: &Budget, dir: &tempfile::TempDir, name: &str) -> OpenFile {
        let access = FileAccess {
            read: true,
            write: true,
            read_sync: false,
        };
        let file = File::create(dir.path().join(name)).unwrap();
        let slot = budget.open_slot().unwrap();
        let id = file_id(&Metadata::from_file(&file).unwrap());
        OpenFile::new(WorkdirFile::Own(file), id, access, budget.clone(), slot).unwrap()
    }

    #[test]
    fn a_write_that_hangs_delays_no_change_of_another_file() {
        let (budget, dir) = (budget(), tempfile::tempdir().unwrap());
        let [hanging, other] = ["hanging", "other"].map(|name| open(&budget, &dir, name));
        let (begun, begins) = mpsc::channel();
        let (changed, changes) = mpsc::channel();
        let other = &other;
        let other_changes = move || {
            begins.recv().unwrap();
            other.write_at(b"abc", 0).unwrap();
            other.append(b"def").unwrap();
            other.set_size(4).unwrap();
            let _ = changed.send(());
        };
        thread::scope(|scope| {
            scope.spawn(other_changes);
            let written = hanging.write(
                b"xy",
                |_| 0,
                || {
                    begun.send(()).unwrap();
                    // Long enough for the busiest machine; it ends with the first change.
                    let changed = changes.recv_timeout(Duration::from_secs(60));
                    changed.map_err(io::Error::other)?;
                    hanging.file.get().write_all_at(b"xy", 0)
                },
            );
            written.unwrap();
        });
        // Each change counts once.
        assert!(budget.usage.grow(0, 0) && !budget.usage.grow(1, 6));
        assert!(budget.usage.grow(1, 7));
    }

    #[test]
    fn the_space_of_a_removed_file_counts_until_its_last_handle_is_closed() {
        let (budget, dir) = (budget(), tempfile::tempdir().unwrap());
        let [one, other] = [(); 2].map(|()| open(&budget, &dir, "f"));
        let grown = |bytes: u64| {
            let usage = &budget.usage;
            // Neither more nor less.
            usage.grow(0, 0) && !usage.grow(1, bytes) && usage.grow(1, bytes + 1)
        };
        one.write_at(&[1; 100], 0).unwrap();
        std::fs::remove_file(dir.path().join("f")).unwrap();
        assert!(!budget.usage.remove(one.id), "it is open");
        one.write_at(&[1; 100], 100).unwrap();
        assert!(grown(200));
        drop(one);
        other.append(&[1; 50]).unwrap();
        assert!(grown(251));
        drop(other);
        assert!(grown(2), "only the bytes that the test counted are left");
    }

    #[test]
    fn two_handles_of_one_file_count_its_growth_once() {
        let (budget, dir) = (budget(), tempfile::tempdir().unwrap());
        let one = open(&budget, &dir, "f");
        let other = open(&budget, &dir, "f");
        thread::scope(|scope| {
            for file in [&one, &other, &one, &other] {
                scope.spawn(move || {
                    for size in 1..=100 {
                        file.write_at(b"a", size - 1).unwrap();
                        file.set_size(50).unwrap();
                    }
                });
            }
        });
        let size = one.extent().unwrap().size;
        assert!(budget.usage.grow(1, size + 1));
        assert!(!budget.usage.grow(1, size + 1));
    }
}
