//! Open files and directories, and every method of `wasi:filesystem/types`.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::{Arc, LazyLock};

use bytes::BytesMut;
use cap_std::fs::{Dir, Metadata, MetadataExt};
use rustix::fd::AsFd;
use rustix::fs::{Advice as SystemAdvice, AtFlags, Timestamps};
use wasmtime::component::Resource;
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, IoError};

use super::budget::{Gone, OpenSlot};
use super::code::{FsError, FsResult, code_of};
use super::file::OpenFile;
use super::listing::{Listing, kind_of};
use super::open::open_path;
use super::place::{Held, Place};
use super::stream::{FileReader, FileWriter, WriteFrom};
use super::times::{datetime, timestamps};
use super::{Filesystem, FilesystemView};
use crate::host::bindings::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, MetadataHashValue,
    NewTimestamp, OpenFlags, PathFlags,
};
use crate::workdir::file_id;

/// An open file or directory.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub enum Descriptor {
    /// A regular file.
    File(Arc<OpenFile>),
    /// A directory.
    Dir(OpenDir),
}

/// An open directory.
#[expect(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct OpenDir {
    pub(super) dir: Arc<Dir>,
    _slot: Option<OpenSlot>,
}

impl OpenDir {
    pub(super) fn new(dir: Arc<Dir>, slot: Option<OpenSlot>) -> Self {
        Self { dir, _slot: slot }
    }
}

impl Descriptor {
    fn file(&self) -> FsResult<&Arc<OpenFile>> {
        match self {
            Self::File(file) => Ok(file),
            Self::Dir(_) => Err(ErrorCode::IsDirectory.into()),
        }
    }

    fn dir(&self) -> FsResult<&OpenDir> {
        match self {
            Self::Dir(dir) => Ok(dir),
            Self::File(_) => Err(ErrorCode::NotDirectory.into()),
        }
    }

    fn metadata(&self) -> io::Result<Metadata> {
        match self {
            Self::File(file) => Metadata::from_file(&file.file),
            Self::Dir(dir) => dir.dir.dir_metadata(),
        }
    }
}

fn metadata_at(dir: &OpenDir, flags: PathFlags, path: &str) -> io::Result<Metadata> {
    Metadata::from_file(&open_path(&dir.dir, path, flags)?)
}

fn stat_of(metadata: &Metadata) -> DescriptorStat {
    let time = |time: io::Result<cap_std::time::SystemTime>| {
        time.ok().and_then(|time| datetime(time.into_std()))
    };
    let changed = u64::try_from(metadata.ctime()).ok().and_then(|seconds| {
        let nanoseconds = u32::try_from(metadata.ctime_nsec()).ok()?;
        Some(types::Datetime {
            seconds,
            nanoseconds,
        })
    });
    DescriptorStat {
        type_: kind_of(metadata.file_type()),
        link_count: metadata.nlink(),
        size: metadata.len(),
        data_access_timestamp: time(metadata.accessed()),
        data_modification_timestamp: time(metadata.modified()),
        status_change_timestamp: changed,
    }
}

/// What tells one state of a file from another, and nothing else: without the key, which is this
/// process's own, neither device nor inode can be searched for.
fn hash_of(metadata: &Metadata) -> MetadataHashValue {
    static KEYS: LazyLock<[RandomState; 2]> = LazyLock::new(Default::default);
    keyed(metadata, &KEYS)
}

fn keyed(metadata: &Metadata, keys: &[RandomState; 2]) -> MetadataHashValue {
    let [lower, upper] = keys.each_ref().map(|key| {
        let id = (metadata.dev(), metadata.ino(), metadata.len());
        key.hash_one((id, metadata.mtime(), metadata.mtime_nsec()))
    });
    MetadataHashValue { lower, upper }
}

impl Filesystem {
    /// Looks at what is about to be moved, removed or replaced. None where there is nothing.
    fn check_place(&self, place: &Place<'_>) -> FsResult<Option<Held>> {
        let held = place.look()?;
        if let Some(held) = &held {
            self.check_unprotected(held.id())?;
        }
        self.check_name(place)?;
        Ok(held)
    }

    /// Makes a name, where it is not write-protected and the budget has room for it.
    fn make_name(&self, place: &Place<'_>, make: impl FnOnce() -> io::Result<()>) -> FsResult<()> {
        self.check_name(place)?;
        Ok(self.budget.make(make)?)
    }
}

impl FilesystemView<'_> {
    fn descriptor(&self, handle: &Resource<Descriptor>) -> FsResult<&Descriptor> {
        Ok(self.table.get(handle)?)
    }

    fn file_to_write(&self, handle: &Resource<Descriptor>) -> FsResult<&Arc<OpenFile>> {
        let file = self.descriptor(handle)?.file()?;
        file.check(DescriptorFlags::WRITE)?;
        Ok(file)
    }

    fn file_to_read(&self, handle: &Resource<Descriptor>) -> FsResult<&Arc<OpenFile>> {
        let file = self.descriptor(handle)?.file()?;
        file.check(DescriptorFlags::READ)?;
        Ok(file)
    }

    /// Waits until what was written is on the disk.
    async fn sync_by(
        &mut self,
        handle: &Resource<Descriptor>,
        sync: fn(&File) -> io::Result<()>,
    ) -> FsResult<()> {
        let (slow, component) = (self.fs.slow.clone(), self.fs.budget.component());
        let synced = match self.descriptor(handle)? {
            Descriptor::File(file) => {
                let file = Arc::clone(file);
                slow.run(component, move || sync(&file.file)).await
            }
            Descriptor::Dir(dir) => {
                let dir = Arc::clone(&dir.dir);
                slow.run(component, move || sync_dir(&dir)).await
            }
        };
        Ok(synced?)
    }

    fn dir_to_change(&self, handle: &Resource<Descriptor>) -> FsResult<&OpenDir> {
        let dir = self.descriptor(handle)?.dir()?;
        self.fs.check_writable()?;
        Ok(dir)
    }
}

impl types::Host for FilesystemView<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        match error {
            FsError::Code(code) => {
                self.fs.budget.failed(code);
                Ok(code)
            }
            FsError::Trap(error) => Err(error),
        }
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<IoError>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        let error = self.table.get(&error)?;
        Ok(error.downcast_ref::<io::Error>().map(code_of))
    }
}

impl types::HostDescriptor for FilesystemView<'_> {
    fn read_via_stream(
        &mut self,
        handle: Resource<Descriptor>,
        offset: u64,
    ) -> FsResult<Resource<DynInputStream>> {
        let reader = FileReader::new(Arc::clone(self.file_to_read(&handle)?), offset);
        let stream: DynInputStream = Box::new(reader);
        Ok(self.table.push(stream)?)
    }

    fn write_via_stream(
        &mut self,
        handle: Resource<Descriptor>,
        offset: u64,
    ) -> FsResult<Resource<DynOutputStream>> {
        let file = Arc::clone(self.file_to_write(&handle)?);
        let stream: DynOutputStream = Box::new(FileWriter::new(file, WriteFrom::Offset(offset)));
        Ok(self.table.push(stream)?)
    }

    fn append_via_stream(
        &mut self,
        handle: Resource<Descriptor>,
    ) -> FsResult<Resource<DynOutputStream>> {
        let file = Arc::clone(self.file_to_write(&handle)?);
        let stream: DynOutputStream = Box::new(FileWriter::new(file, WriteFrom::End));
        Ok(self.table.push(stream)?)
    }

    fn advise(
        &mut self,
        handle: Resource<Descriptor>,
        offset: u64,
        length: u64,
        advice: Advice,
    ) -> FsResult<()> {
        let advice = match advice {
            Advice::Normal => SystemAdvice::Normal,
            Advice::Sequential => SystemAdvice::Sequential,
            Advice::Random => SystemAdvice::Random,
            Advice::WillNeed => SystemAdvice::WillNeed,
            Advice::DontNeed => SystemAdvice::DontNeed,
            Advice::NoReuse => SystemAdvice::NoReuse,
        };
        let file = self.descriptor(&handle)?.file()?;
        let length = std::num::NonZeroU64::new(length);
        Ok(rustix::fs::fadvise(&file.file, offset, length, advice)?)
    }

    async fn sync_data(&mut self, handle: Resource<Descriptor>) -> FsResult<()> {
        self.sync_by(&handle, File::sync_data).await
    }

    fn get_flags(&mut self, handle: Resource<Descriptor>) -> FsResult<DescriptorFlags> {
        match self.descriptor(&handle)? {
            Descriptor::File(file) => Ok(file.flags),
            Descriptor::Dir(_) if self.fs.is_writable() => {
                Ok(DescriptorFlags::READ | DescriptorFlags::MUTATE_DIRECTORY)
            }
            Descriptor::Dir(_) => Ok(DescriptorFlags::READ),
        }
    }

    fn get_type(&mut self, handle: Resource<Descriptor>) -> FsResult<DescriptorType> {
        match self.descriptor(&handle)? {
            Descriptor::File(_) => Ok(DescriptorType::RegularFile),
            Descriptor::Dir(_) => Ok(DescriptorType::Directory),
        }
    }

    fn set_size(&mut self, handle: Resource<Descriptor>, size: u64) -> FsResult<()> {
        Ok(self.file_to_write(&handle)?.set_size(size)?)
    }

    fn set_times(
        &mut self,
        handle: Resource<Descriptor>,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        self.fs.check_writable()?;
        let descriptor = self.descriptor(&handle)?;
        self.fs
            .check_unprotected_now(file_id(&descriptor.metadata()?))?;
        let times = timestamps(accessed, modified)?;
        match descriptor {
            Descriptor::File(file) => Ok(rustix::fs::futimens(&file.file, &times)?),
            Descriptor::Dir(dir) => set_times_by_path(&*dir.dir, &times),
        }
    }

    fn read(
        &mut self,
        handle: Resource<Descriptor>,
        length: u64,
        offset: u64,
    ) -> FsResult<(Vec<u8>, bool)> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let (bytes, end) = self.file_to_read(&handle)?.read_at(length, offset)?;
        Ok((BytesMut::into(bytes), end))
    }

    fn write(
        &mut self,
        handle: Resource<Descriptor>,
        bytes: Vec<u8>,
        offset: u64,
    ) -> FsResult<u64> {
        self.file_to_write(&handle)?.write_at(&bytes, offset)?;
        Ok(bytes.len() as u64)
    }

    fn read_directory(&mut self, handle: Resource<Descriptor>) -> FsResult<Resource<Listing>> {
        let dir = self.descriptor(&handle)?.dir()?;
        let listing = Listing::new(&dir.dir, &self.fs.budget)?;
        Ok(self.table.push(listing)?)
    }

    async fn sync(&mut self, handle: Resource<Descriptor>) -> FsResult<()> {
        self.sync_by(&handle, File::sync_all).await
    }

    fn create_directory_at(&mut self, handle: Resource<Descriptor>, path: String) -> FsResult<()> {
        let dir = self.dir_to_change(&handle)?;
        let place = Place::of(&dir.dir, &path)?;
        self.fs.make_name(&place, || place.make_dir())
    }

    fn stat(&mut self, handle: Resource<Descriptor>) -> FsResult<DescriptorStat> {
        Ok(stat_of(&self.descriptor(&handle)?.metadata()?))
    }

    fn stat_at(
        &mut self,
        handle: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<DescriptorStat> {
        let dir = self.descriptor(&handle)?.dir()?;
        Ok(stat_of(&metadata_at(dir, flags, &path)?))
    }

    fn set_times_at(
        &mut self,
        handle: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
        accessed: NewTimestamp,
        modified: NewTimestamp,
    ) -> FsResult<()> {
        let dir = self.dir_to_change(&handle)?;
        let times = timestamps(accessed, modified)?;
        let target = open_path(&dir.dir, &path, flags)?;
        let id = file_id(&Metadata::from_file(&target)?);
        let follows = flags.contains(PathFlags::SYMLINK_FOLLOW);
        self.fs.check_unprotected_at(&dir.dir, &path, follows, id)?;
        set_times_by_path(&target, &times)
    }

    fn link_at(
        &mut self,
        handle: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
        new_handle: Resource<Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        if flags.contains(PathFlags::SYMLINK_FOLLOW) {
            return Err(ErrorCode::Invalid.into());
        }
        let from = self.dir_to_change(&handle)?;
        let to = self.descriptor(&new_handle)?.dir()?;
        let (from, to) = (Place::of(&from.dir, &path)?, Place::of(&to.dir, &new_path)?);
        let linked = self.fs.check_place(&from)?.ok_or(ErrorCode::NoEntry)?;
        // Not asked of the system: behind a slash it would follow a link.
        if linked.metadata.is_dir() {
            return Err(ErrorCode::NotPermitted.into());
        }
        self.fs.make_name(&to, || from.hard_link(&to))
    }

    fn open_at(
        &mut self,
        handle: Resource<Descriptor>,
        path_flags: PathFlags,
        path: String,
        how: OpenFlags,
        flags: DescriptorFlags,
    ) -> FsResult<Resource<Descriptor>> {
        let dir = self.descriptor(&handle)?.dir()?;
        let opened = self.fs.open(dir, path_flags, &path, how, flags)?;
        Ok(self.table.push(opened)?)
    }

    fn readlink_at(&mut self, handle: Resource<Descriptor>, path: String) -> FsResult<String> {
        let dir = self.descriptor(&handle)?.dir()?;
        let place = Place::of(&dir.dir, &path)?;
        // Not asked of the system: behind a slash it would follow the link.
        let link = place.look()?.ok_or(ErrorCode::NoEntry)?;
        if !link.metadata.is_symlink() {
            return Err(ErrorCode::Invalid.into());
        }
        let target = place.read_link()?;
        // Where on the host it leads is the host's own affair.
        if target.starts_with(b"/") {
            return Err(ErrorCode::NotPermitted.into());
        }
        String::from_utf8(target).map_err(|_| ErrorCode::IllegalByteSequence.into())
    }

    fn remove_directory_at(&mut self, handle: Resource<Descriptor>, path: String) -> FsResult<()> {
        let dir = self.dir_to_change(&handle)?;
        let place = Place::of(&dir.dir, &path)?;
        let _changing = self.fs.budget.changing();
        self.fs.check_place(&place)?;
        place.remove_dir()?;
        self.fs.budget.removed(Gone::default());
        Ok(())
    }

    fn rename_at(
        &mut self,
        handle: Resource<Descriptor>,
        path: String,
        new_handle: Resource<Descriptor>,
        new_path: String,
    ) -> FsResult<()> {
        let from = self.dir_to_change(&handle)?;
        let to = self.descriptor(&new_handle)?.dir()?;
        let (from, to) = (Place::of(&from.dir, &path)?, Place::of(&to.dir, &new_path)?);
        let _changing = self.fs.budget.changing();
        let moved = self.fs.check_place(&from)?;
        let replaced = self.fs.check_place(&to)?;
        from.rename(&to)?;
        // Two names of one file both stay.
        let replaced = replaced.filter(|it| moved.is_none_or(|moved| moved.id() != it.id()));
        if let Some(replaced) = replaced {
            self.fs.budget.removed(replaced.freed());
        }
        Ok(())
    }

    fn symlink_at(
        &mut self,
        handle: Resource<Descriptor>,
        target: String,
        path: String,
    ) -> FsResult<()> {
        let dir = self.dir_to_change(&handle)?;
        if target.starts_with('/') {
            return Err(ErrorCode::NotPermitted.into());
        }
        let place = Place::of(&dir.dir, &path)?;
        self.fs.make_name(&place, || place.make_link(&target))
    }

    fn unlink_file_at(&mut self, handle: Resource<Descriptor>, path: String) -> FsResult<()> {
        let dir = self.dir_to_change(&handle)?;
        let place = Place::of(&dir.dir, &path)?;
        let _changing = self.fs.budget.changing();
        let removed = self.fs.check_place(&place)?;
        place.remove_file()?;
        self.fs
            .budget
            .removed(removed.map_or_else(Gone::default, |removed| removed.freed()));
        Ok(())
    }

    fn is_same_object(
        &mut self,
        handle: Resource<Descriptor>,
        other: Resource<Descriptor>,
    ) -> wasmtime::Result<bool> {
        let (one, other) = (self.table.get(&handle)?, self.table.get(&other)?);
        Ok(match (one.metadata(), other.metadata()) {
            (Ok(one), Ok(other)) => file_id(&one) == file_id(&other),
            _ => false,
        })
    }

    fn metadata_hash(&mut self, handle: Resource<Descriptor>) -> FsResult<MetadataHashValue> {
        Ok(hash_of(&self.descriptor(&handle)?.metadata()?))
    }

    fn metadata_hash_at(
        &mut self,
        handle: Resource<Descriptor>,
        flags: PathFlags,
        path: String,
    ) -> FsResult<MetadataHashValue> {
        let dir = self.descriptor(&handle)?.dir()?;
        Ok(hash_of(&metadata_at(dir, flags, &path)?))
    }

    fn drop(&mut self, handle: Resource<Descriptor>) -> wasmtime::Result<()> {
        self.table.delete(handle)?;
        Ok(())
    }
}

/// Sets times through a handle that may be good for nothing but its path, as the workdir's is.
fn set_times_by_path(handle: impl AsFd, times: &Timestamps) -> FsResult<()> {
    Ok(rustix::fs::utimensat(
        handle,
        "",
        times,
        AtFlags::EMPTY_PATH,
    )?)
}

/// Syncs a directory through a handle of its own: `dir` may be good for nothing but its path.
fn sync_dir(dir: &Dir) -> io::Result<()> {
    let readable = dir.open(".")?;
    Ok(rustix::fs::fsync(&readable)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_says_nothing_without_its_key() {
        let file = tempfile::tempfile().unwrap();
        let metadata = Metadata::from_file(&file).unwrap();
        let hash = |keys| {
            let hash = keyed(&metadata, keys);
            (hash.lower, hash.upper)
        };
        let (one, other): ([RandomState; 2], [RandomState; 2]) = Default::default();
        assert_eq!(hash(&one), hash(&one));
        assert_ne!(hash(&one), hash(&other));
        let own = hash_of(&metadata);
        assert_eq!((own.lower, own.upper), {
            let again = hash_of(&metadata);
            (again.lower, again.upper)
        });
    }
}
