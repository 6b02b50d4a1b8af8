//! The methods of `wasi:filesystem/types.descriptor`.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata};
use rustix::io::Errno;
use toolhost_contract::{FileId, NameChange};
use wasmtime::component::Resource;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream};

use super::attributes::{metadata_hash, stat, timestamps};
use super::descriptor::Descriptor;
use super::dir_entry::{DirEntryRef, OpenEntry};
use super::error::{FsError, FsResult};
use super::file::CHUNK;
use super::listing::Listing;
use super::open::follow;
use super::stream::{FileReader, FileWriter, WriteFrom};
use super::view::FilesystemView;
use crate::host::bindings::filesystem::types::{
    Advice, DescriptorFlags, DescriptorStat, DescriptorType, HostDescriptor, MetadataHashValue,
    NewTimestamp, OpenFlags, PathFlags,
};
use crate::workdir::{FreedSpace, file_id};
use toolhost_files::platform;

type Handle = Resource<Descriptor>;

impl FilesystemView<'_> {
    fn descriptor(&self, handle: &Handle) -> FsResult<&Descriptor> {
        Ok(self.table.get(handle)?)
    }

    fn dir(&self, handle: &Handle) -> FsResult<&Dir> {
        self.descriptor(handle)?.dir()
    }

    fn dir_to_change(&self, handle: &Handle) -> FsResult<&Dir> {
        let dir = self.dir(handle)?;
        self.fs.check_writable()?;
        Ok(dir)
    }

    fn metadata_at(&self, handle: &Handle, flags: PathFlags, path: &str) -> FsResult<Metadata> {
        self.fs.metadata(self.dir(handle)?, path, follow(flags))
    }

    /// Returns the identity by which the guest knows what a handle is of.
    fn identity(&self, descriptor: &Descriptor) -> io::Result<FileId> {
        match descriptor {
            Descriptor::File(file) => Ok(file.id),
            Descriptor::Dir { dir, .. } => Ok(file_id(&dir.dir_metadata()?)),
        }
    }

    /// Creates a name if it is not write-protected and the budget allows one more.
    fn create_name(
        &self,
        entry: &DirEntryRef<'_>,
        change: NameChange,
        create: impl FnOnce() -> Result<(), Errno>,
    ) -> FsResult<()> {
        self.fs.check_name(entry, change)?;
        self.fs.budget.create(create)?;
        self.fs.record_created(entry);
        Ok(())
    }

    fn push_writer(
        &mut self,
        handle: &Handle,
        from: WriteFrom,
    ) -> FsResult<Resource<DynOutputStream>> {
        let file = Arc::clone(self.descriptor(handle)?.file_to_write()?);
        let stream: DynOutputStream = Box::new(FileWriter { file, from });
        Ok(self.table.push(stream)?)
    }

    /// Waits on another thread until written data is on the disk.
    async fn sync_with(
        &mut self,
        handle: &Handle,
        sync: fn(&File) -> io::Result<()>,
    ) -> FsResult<()> {
        let (blocking, component) = (self.fs.blocking.clone(), self.fs.budget.meter.component);
        let synced = match self.descriptor(handle)? {
            Descriptor::File(file) => {
                let file = Arc::clone(file);
                blocking
                    .run(component, move || sync(&file.file.get()))
                    .await
            }
            Descriptor::Dir { dir, .. } => {
                let dir = Arc::clone(dir);
                blocking.run(component, move || sync_dir(&dir)).await
            }
        };
        Ok(synced?)
    }
}

impl HostDescriptor for FilesystemView<'_> {
    fn read_via_stream(
        &mut self,
        handle: Handle,
        offset: u64,
    ) -> FsResult<Resource<DynInputStream>> {
        let file = Arc::clone(self.descriptor(&handle)?.file_to_read()?);
        let position = offset;
        let stream: DynInputStream = Box::new(FileReader { file, position });
        Ok(self.table.push(stream)?)
    }

    fn write_via_stream(
        &mut self,
        handle: Handle,
        offset: u64,
    ) -> FsResult<Resource<DynOutputStream>> {
        self.push_writer(&handle, WriteFrom::Offset(offset))
    }

    fn append_via_stream(&mut self, handle: Handle) -> FsResult<Resource<DynOutputStream>> {
        self.push_writer(&handle, WriteFrom::End)
    }

    fn advise(&mut self, handle: Handle, offset: u64, length: u64, advice: Advice) -> FsResult<()> {
        let advice = match advice {
            Advice::Normal => platform::Advice::Normal,
            Advice::Sequential => platform::Advice::Sequential,
            Advice::Random => platform::Advice::Random,
            Advice::WillNeed => platform::Advice::WillNeed,
            Advice::DontNeed => platform::Advice::DontNeed,
            Advice::NoReuse => platform::Advice::NoReuse,
        };
        let file = self.descriptor(&handle)?.file()?.file.get();
        let length = NonZeroU64::new(length);
        Ok(platform::advise(&file, offset, length, advice)?)
    }

    async fn sync_data(&mut self, handle: Handle) -> FsResult<()> {
        self.sync_with(&handle, File::sync_data).await
    }

    fn get_flags(&mut self, handle: Handle) -> FsResult<DescriptorFlags> {
        let mut flags = DescriptorFlags::empty();
        match self.descriptor(&handle)? {
            Descriptor::File(file) => {
                let access = file.access;
                for (is_set, flag) in [
                    (access.read, DescriptorFlags::READ),
                    (access.write, DescriptorFlags::WRITE),
                    (access.read_sync, DescriptorFlags::REQUESTED_WRITE_SYNC),
                ] {
                    if is_set {
                        flags |= flag;
                    }
                }
            }
            Descriptor::Dir { .. } => {
                flags |= DescriptorFlags::READ;
                if self.fs.is_writable() {
                    flags |= DescriptorFlags::MUTATE_DIRECTORY;
                }
            }
        }
        Ok(flags)
    }

    fn get_type(&mut self, handle: Handle) -> FsResult<DescriptorType> {
        match self.descriptor(&handle)? {
            Descriptor::File(_) => Ok(DescriptorType::RegularFile),
            Descriptor::Dir { .. } => Ok(DescriptorType::Directory),
        }
    }

    fn set_size(&mut self, handle: Handle, size: u64) -> FsResult<()> {
        Ok(self.descriptor(&handle)?.file_to_write()?.set_size(size)?)
    }

    fn set_times(
        &mut self,
        handle: Handle,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        self.fs.check_writable()?;
        let descriptor = self.descriptor(&handle)?;
        let id = self.identity(descriptor)?;
        self.fs.check_handle_unprotected(id)?;
        let times = timestamps(accessed, modified)?;
        match descriptor {
            Descriptor::File(file) => {
                file.copy_up(u64::MAX)?;
                rustix::fs::futimens(&*file.file.get(), &times)?;
            }
            Descriptor::Dir { dir, .. } => {
                self.fs.check_own_attributes(id)?;
                platform::set_times(&**dir, &times)?;
            }
        }
        Ok(())
    }

    fn read(&mut self, handle: Handle, length: u64, offset: u64) -> FsResult<(Vec<u8>, bool)> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let file = self.descriptor(&handle)?.file_to_read()?;
        let bytes = file.read_at(length, offset)?;
        let end = offset.saturating_add(bytes.len() as u64);
        // Asked of the file: some file systems read less than is there.
        let is_end = bytes.len() < length.min(CHUNK) && file.ends_at(end)?;
        Ok((bytes, is_end))
    }

    fn write(&mut self, handle: Handle, bytes: Vec<u8>, offset: u64) -> FsResult<u64> {
        let file = self.descriptor(&handle)?.file_to_write()?;
        file.write_at(&bytes, offset)?;
        Ok(bytes.len() as u64)
    }

    fn read_directory(&mut self, handle: Handle) -> FsResult<Resource<Listing>> {
        let overlay = self.fs.merged().map(|overlay| &**overlay);
        let listing = Listing::new(self.dir(&handle)?, overlay, &self.fs.budget)?;
        Ok(self.table.push(listing)?)
    }

    async fn sync(&mut self, handle: Handle) -> FsResult<()> {
        self.sync_with(&handle, File::sync_all).await
    }

    fn create_directory_at(&mut self, handle: Handle, path: String) -> FsResult<()> {
        let run = || -> FsResult<()> {
            let entry = self
                .fs
                .entry_to_change(self.dir_to_change(&handle)?, &path)?;
            self.create_name(&entry, NameChange::NewFolder, || entry.create_dir())
        };
        run().map_err(|error| error.of_path(&*path))
    }

    fn stat(&mut self, handle: Handle) -> FsResult<DescriptorStat> {
        let descriptor = self.descriptor(&handle)?;
        let metadata = descriptor.metadata()?;
        let links = match descriptor {
            Descriptor::File(file) => file.file.links(&metadata)?,
            Descriptor::Dir { .. } => self.fs.links(&metadata)?,
        };
        Ok(stat(&metadata, links))
    }

    fn stat_at(
        &mut self,
        handle: Handle,
        flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        let run = || -> FsResult<DescriptorStat> {
            let metadata = self.metadata_at(&handle, flags, &path)?;
            Ok(stat(&metadata, self.fs.links(&metadata)?))
        };
        run().map_err(|error| error.of_path(&*path))
    }

    fn set_times_at(
        &mut self,
        handle: Handle,
        flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let run = || -> FsResult<()> {
            let dir = self.dir_to_change(&handle)?;
            let times = timestamps(accessed, modified)?;
            let found = self.fs.find_to_change(dir, &path, follow(flags))?;
            self.fs.check_path_unprotected(&path, &found)?;
            let handle = self.fs.copy_found(found)?;
            Ok(platform::set_times(&handle, &times)?)
        };
        run().map_err(|error| error.of_path(&*path))
    }

    fn link_at(
        &mut self,
        handle: Handle,
        flags: PathFlags,
        path: String,
        new_handle: Handle,
        new_path: String,
    ) -> FsResult<()> {
        let run = || -> FsResult<()> {
            if flags.contains(PathFlags::SYMLINK_FOLLOW) {
                return Err(Errno::INVAL.into());
            }
            let (from, to) = (self.dir_to_change(&handle)?, self.dir(&new_handle)?);
            let from = self.fs.entry_to_change(from, &path)?;
            let to = self.fs.entry_to_change(to, &new_path)?;
            let linked = self.fs.open_unprotected(&from, NameChange::File)?;
            let linked = linked.ok_or(Errno::NOENT)?;
            // Checked before the system does, which follows a symlink if a slash follows its name.
            if linked.metadata.is_dir() {
                return Err(Errno::PERM.into());
            }
            self.create_name(&to, brings(&linked), || {
                from.hard_link(&to, &|bytes| self.fs.budget.stage(bytes))
            })
        };
        run().map_err(|error| error.of_path(format!("{path} -> {new_path}")))
    }

    fn open_at(
        &mut self,
        handle: Handle,
        path_flags: PathFlags,
        path: String,
        how: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Handle> {
        let mut run = || -> FsResult<Handle> {
            let dir = self.dir(&handle)?;
            let opened = self.fs.open(dir, path_flags, &path, how, flags)?;
            Ok(self.table.push(opened)?)
        };
        run().map_err(|error| error.of_path(&*path))
    }

    fn readlink_at(&mut self, handle: Handle, path: String) -> FsResult<String> {
        let run = || -> FsResult<String> {
            let entry = self.fs.entry(self.dir(&handle)?, &path)?;
            // Checked before the system does, which follows a symlink if a slash follows its name.
            let link = entry.open()?.ok_or(Errno::NOENT)?;
            if !link.metadata.is_symlink() {
                return Err(Errno::INVAL.into());
            }
            let target = entry.read_link()?;
            // An absolute target would show a path of the host.
            if target.starts_with(b"/") {
                return Err(Errno::PERM.into());
            }
            String::from_utf8(target).map_err(|_| Errno::ILSEQ.into())
        };
        run().map_err(|error| error.of_path(&*path))
    }

    fn remove_directory_at(&mut self, handle: Handle, path: String) -> FsResult<()> {
        let run = || -> FsResult<()> {
            let entry = self
                .fs
                .entry_to_change(self.dir_to_change(&handle)?, &path)?;
            let _name = self.fs.budget.lock([entry.target()?])?;
            self.fs.open_unprotected(&entry, NameChange::Remove)?;
            entry.remove_dir()?;
            self.fs.record_removed(&entry);
            self.fs.budget.removed(FreedSpace::default());
            Ok(())
        };
        run().map_err(|error| error.of_path(&*path))
    }

    fn rename_at(
        &mut self,
        handle: Handle,
        path: String,
        new_handle: Handle,
        new_path: String,
    ) -> FsResult<()> {
        let run = || -> FsResult<()> {
            let (from, to) = (self.dir_to_change(&handle)?, self.dir(&new_handle)?);
            let from = self.fs.entry_to_change(from, &path)?;
            let to = self.fs.entry_to_change(to, &new_path)?;
            let budget = &self.fs.budget;
            let _names = budget.lock([from.target()?, to.target()?])?;
            let moved = self.fs.open_unprotected(&from, NameChange::Remove)?;
            let change = moved.as_ref().map_or(NameChange::File, brings);
            if let Some(folder) = moved
                .as_ref()
                .filter(|_| change == NameChange::FolderOrLink)
            {
                // Case files may lie in it by now, and would be moved away with it.
                self.fs.check_handle_unprotected(folder.id())?;
            }
            let replaced = self.fs.open_unprotected(&to, change)?;
            // The system keeps both names if they are of one file.
            let moved = moved.map(|moved| moved.id());
            let was_there = replaced.is_some();
            let mut replaced = replaced.filter(|replaced| moved != Some(replaced.id()));
            let is_one = was_there && replaced.is_none();
            let lock = |replaced: &mut OpenEntry<'_>| replaced.lock_size(budget);
            let _size = replaced.as_mut().map(lock).transpose()?;
            from.rename(&to)?;
            if !is_one {
                self.fs.record_moved(&from, &to, was_there);
            }
            if let Some(replaced) = replaced {
                budget.removed(replaced.freed(&budget.usage));
            }
            Ok(())
        };
        run().map_err(|error| error.of_path(format!("{path} -> {new_path}")))
    }

    fn symlink_at(&mut self, handle: Handle, target: String, path: String) -> FsResult<()> {
        let run = || -> FsResult<()> {
            let dir = self.dir_to_change(&handle)?;
            if target.starts_with('/') {
                return Err(FsError::Outside);
            }
            let entry = self.fs.entry_to_change(dir, &path)?;
            let change = NameChange::FolderOrLink;
            self.create_name(&entry, change, || entry.create_symlink(&target))
        };
        run().map_err(|error| error.of_path(&*path))
    }

    fn unlink_file_at(&mut self, handle: Handle, path: String) -> FsResult<()> {
        let run = || -> FsResult<()> {
            let entry = self
                .fs
                .entry_to_change(self.dir_to_change(&handle)?, &path)?;
            let budget = &self.fs.budget;
            let _name = budget.lock([entry.target()?])?;
            let mut removed = self.fs.open_unprotected(&entry, NameChange::Remove)?;
            let lock = |removed: &mut OpenEntry<'_>| removed.lock_size(budget);
            let _size = removed.as_mut().map(lock).transpose()?;
            entry.remove_file()?;
            self.fs.record_removed(&entry);
            let freed = removed.as_ref().map(|removed| removed.freed(&budget.usage));
            budget.removed(freed.unwrap_or_default());
            Ok(())
        };
        run().map_err(|error| error.of_path(&*path))
    }

    fn is_same_object(&mut self, handle: Handle, other: Handle) -> wasmtime::Result<bool> {
        let (one, other) = (self.table.get(&handle)?, self.table.get(&other)?);
        Ok(match (self.identity(one), self.identity(other)) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        })
    }

    fn metadata_hash(&mut self, handle: Handle) -> FsResult<MetadataHashValue> {
        let descriptor = self.descriptor(&handle)?;
        let id = self.identity(descriptor)?;
        Ok(metadata_hash(id, &descriptor.metadata()?))
    }

    fn metadata_hash_at(
        &mut self,
        handle: Handle,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let run = || -> FsResult<MetadataHashValue> {
            let metadata = self.metadata_at(&handle, flags, &path)?;
            Ok(metadata_hash(self.fs.identity(&metadata)?, &metadata))
        };
        run().map_err(|error| error.of_path(&*path))
    }

    fn drop(&mut self, handle: Handle) -> wasmtime::Result<()> {
        self.fs.budget.meter.attempts.uncount_step();
        self.table.delete(handle)?;
        Ok(())
    }
}

/// Returns what an entry brings to a name that it is moved or linked to.
fn brings(entry: &OpenEntry<'_>) -> NameChange {
    if entry.metadata.is_file() {
        NameChange::File
    } else {
        NameChange::FolderOrLink
    }
}

/// Syncs a directory through a new handle, as `dir` may be opened with `O_PATH`.
fn sync_dir(dir: &Dir) -> io::Result<()> {
    let readable = dir.open(".")?;
    Ok(rustix::fs::fsync(&readable)?)
}
