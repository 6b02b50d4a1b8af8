//! The methods of `wasi:filesystem/types.descriptor`.

use std::num::NonZeroU64;
use std::sync::Arc;

use cap_std::fs::{Dir, Metadata};
use rustix::fs::OFlags;
use rustix::io::Errno;
use toolhost_files::{
    CHUNK, CallFiles, Descriptor, FileAccess, FileResult, Listing, OpenRequest, Synced, platform,
};
use wasmtime::component::Resource;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream};

use super::attributes::{metadata_hash, stat, timestamps};
use super::error::{FsError, FsResult};
use super::stream::{FileReader, FileWriter, WriteFrom};
use super::view::FilesystemView;
use crate::host::bindings::filesystem::types::{
    Advice, DescriptorFlags, DescriptorStat, DescriptorType, HostDescriptor, MetadataHashValue,
    NewTimestamp, OpenFlags, PathFlags,
};

type Handle = Resource<Descriptor>;

/// Returns `O_NOFOLLOW` unless a path's last symlink is followed.
fn follow(flags: PathFlags) -> OFlags {
    if flags.contains(PathFlags::SYMLINK_FOLLOW) {
        OFlags::empty()
    } else {
        OFlags::NOFOLLOW
    }
}

impl FilesystemView<'_> {
    fn descriptor(&self, handle: &Handle) -> FsResult<&Descriptor> {
        Ok(self.table.get(handle)?)
    }

    fn dir(&self, handle: &Handle) -> FsResult<&Dir> {
        Ok(self.descriptor(handle)?.dir()?)
    }

    /// Performs a verb on a path from an open directory.
    fn at<T>(
        &self,
        handle: &Handle,
        path: &str,
        verb: impl FnOnce(&CallFiles, &Dir, &str) -> FileResult<T>,
    ) -> FsResult<T> {
        let run = || Ok(verb(&self.fs.files, self.dir(handle)?, path)?);
        run().map_err(|error: FsError| error.of_path(path))
    }

    /// Performs a verb on two paths.
    fn between<T>(
        &self,
        (handle, path): (&Handle, &str),
        (new_handle, new_path): (&Handle, &str),
        verb: impl FnOnce(&CallFiles, (&Dir, &str), (&Dir, &str)) -> FileResult<T>,
    ) -> FsResult<T> {
        let run = || {
            let (from, to) = (self.dir(handle)?, self.dir(new_handle)?);
            Ok(verb(&self.fs.files, (from, path), (to, new_path))?)
        };
        run().map_err(|error: FsError| error.of_path(format!("{path} -> {new_path}")))
    }

    fn metadata_at(&self, handle: &Handle, flags: PathFlags, path: &str) -> FsResult<Metadata> {
        self.at(handle, path, |files, dir, path| {
            files.metadata(dir, path, follow(flags))
        })
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
    async fn sync_with(&mut self, handle: &Handle, what: Synced) -> FsResult<()> {
        let (blocking, component) = (self.fs.blocking.clone(), self.fs.files.meter().component);
        let sync = self.descriptor(handle)?.sync(what);
        Ok(blocking.run(component, sync).await?)
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
        let file = self.descriptor(&handle)?.file()?;
        Ok(file.advise(offset, NonZeroU64::new(length), advice)?)
    }

    async fn sync_data(&mut self, handle: Handle) -> FsResult<()> {
        self.sync_with(&handle, Synced::Data).await
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
                if self.fs.files.is_writable() {
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
        let (open, times) = (self.descriptor(&handle)?, timestamps(accessed, modified)?);
        Ok(self.fs.files.set_open_times(open, &times)?)
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
        let listing = self.fs.files.list(self.dir(&handle)?)?;
        Ok(self.table.push(listing)?)
    }

    async fn sync(&mut self, handle: Handle) -> FsResult<()> {
        self.sync_with(&handle, Synced::All).await
    }

    fn create_directory_at(&mut self, handle: Handle, path: String) -> FsResult<()> {
        self.at(&handle, &path, CallFiles::create_dir)
    }

    fn stat(&mut self, handle: Handle) -> FsResult<DescriptorStat> {
        let open = self.descriptor(&handle)?;
        let metadata = open.metadata()?;
        Ok(stat(&metadata, self.fs.files.open_links(open, &metadata)?))
    }

    fn stat_at(
        &mut self,
        handle: Handle,
        flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        let metadata = self.metadata_at(&handle, flags, &path)?;
        Ok(stat(&metadata, self.fs.files.links(&metadata)?))
    }

    fn set_times_at(
        &mut self,
        handle: Handle,
        flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        self.at(&handle, &path, |files, dir, path| {
            let times = timestamps(accessed, modified)?;
            files.set_times(dir, path, follow(flags), &times)
        })
    }

    fn link_at(
        &mut self,
        handle: Handle,
        flags: PathFlags,
        path: String,
        new_handle: Handle,
        new_path: String,
    ) -> FsResult<()> {
        let (from, to) = ((&handle, &*path), (&new_handle, &*new_path));
        self.between(from, to, |files, from, to| {
            if flags.contains(PathFlags::SYMLINK_FOLLOW) {
                return Err(Errno::INVAL.into());
            }
            files.hard_link(from, to)
        })
    }

    fn open_at(
        &mut self,
        handle: Handle,
        path_flags: PathFlags,
        path: String,
        how: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Handle> {
        let opened = self.at(&handle, &path, |files, dir, path| {
            // With O_SYNC each write would wait for the disk, with the file's size locked. A guest can
            // sync after writing.
            let sync = DescriptorFlags::FILE_INTEGRITY_SYNC | DescriptorFlags::DATA_INTEGRITY_SYNC;
            if flags.intersects(sync) {
                return Err(Errno::NOTSUP.into());
            }
            let request = OpenRequest {
                path,
                follow: follow(path_flags),
                how: system_flags(how),
                access: FileAccess {
                    read: flags.contains(DescriptorFlags::READ),
                    write: flags.contains(DescriptorFlags::WRITE),
                    read_sync: flags.contains(DescriptorFlags::REQUESTED_WRITE_SYNC),
                },
            };
            files.open(dir, &request)
        })?;
        Ok(self.table.push(opened)?)
    }

    fn readlink_at(&mut self, handle: Handle, path: String) -> FsResult<String> {
        self.at(&handle, &path, CallFiles::read_link)
    }

    fn remove_directory_at(&mut self, handle: Handle, path: String) -> FsResult<()> {
        self.at(&handle, &path, CallFiles::remove_dir)
    }

    fn rename_at(
        &mut self,
        handle: Handle,
        path: String,
        new_handle: Handle,
        new_path: String,
    ) -> FsResult<()> {
        let (from, to) = ((&handle, &*path), (&new_handle, &*new_path));
        self.between(from, to, CallFiles::rename)
    }

    fn symlink_at(&mut self, handle: Handle, target: String, path: String) -> FsResult<()> {
        self.at(&handle, &path, |files, dir, path| {
            files.create_symlink(dir, path, &target)
        })
    }

    fn unlink_file_at(&mut self, handle: Handle, path: String) -> FsResult<()> {
        self.at(&handle, &path, CallFiles::remove_file)
    }

    fn is_same_object(&mut self, handle: Handle, other: Handle) -> wasmtime::Result<bool> {
        let (one, other) = (self.table.get(&handle)?, self.table.get(&other)?);
        Ok(match (one.identity(), other.identity()) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        })
    }

    fn metadata_hash(&mut self, handle: Handle) -> FsResult<MetadataHashValue> {
        let open = self.descriptor(&handle)?;
        Ok(metadata_hash(open.identity()?, &open.metadata()?))
    }

    fn metadata_hash_at(
        &mut self,
        handle: Handle,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let metadata = self.metadata_at(&handle, flags, &path)?;
        Ok(metadata_hash(self.fs.files.identity(&metadata)?, &metadata))
    }

    fn drop(&mut self, handle: Handle) -> wasmtime::Result<()> {
        self.fs.files.meter().attempts.uncount_step();
        self.table.delete(handle)?;
        Ok(())
    }
}

/// Returns how the system opens a file.
fn system_flags(how: OpenFlags) -> OFlags {
    let flags = [
        (OpenFlags::CREATE, OFlags::CREATE),
        (OpenFlags::EXCLUSIVE, OFlags::EXCL),
        (OpenFlags::TRUNCATE, OFlags::TRUNC),
        (OpenFlags::DIRECTORY, OFlags::DIRECTORY),
    ];
    let set = flags.iter().filter(|(flag, _)| how.contains(*flag));
    set.fold(OFlags::empty(), |all, (_, flag)| all | *flag)
}
