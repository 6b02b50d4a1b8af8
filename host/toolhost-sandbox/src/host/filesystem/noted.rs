//! Notes each call of `wasi:filesystem`, so that a call that fails reports its last host calls.

use wasmtime::component::{HasData, Resource};
use wasmtime_wasi::p2::{DynInputStream, DynOutputStream, IoError};

use super::descriptor::Descriptor;
use super::error::{FsError, FsResult};
use super::listing::Listing;
use super::view::FilesystemView;
use crate::accounting::host_calls::CallHasher;
use crate::host::bindings::filesystem::preopens;
use crate::host::bindings::filesystem::types::{
    self, Advice, DescriptorFlags, DescriptorStat, DescriptorType, DirectoryEntry, ErrorCode,
    HostDescriptor, MetadataHashValue, NewTimestamp, OpenFlags, PathFlags,
};

type Handle = Resource<Descriptor>;

/// Selects [`NotedFilesystem`] in the generated bindings.
pub(crate) struct HasFilesystem;

impl HasData for HasFilesystem {
    type Data<'a> = NotedFilesystem<'a>;
}

/// The filesystem of a store, whose calls are noted.
pub(crate) struct NotedFilesystem<'a>(pub(crate) FilesystemView<'a>);

impl NotedFilesystem<'_> {
    fn note<T: Noted>(&self, function: &'static str, mut call: CallHasher, answer: &FsResult<T>) {
        match answer {
            Ok(value) => value.add_to(&mut call),
            Err(FsError::Trap(_)) => call.number(u64::MAX),
            Err(error) => {
                let errno = error.errno().map_or(0, |errno| errno.raw_os_error());
                call.number(errno.unsigned_abs());
            }
        }
        self.0.fs.budget.meter.host_calls.note(function, &call);
    }
}

/// What is noted of a value.
trait Noted {
    fn add_to(&self, call: &mut CallHasher);
}

macro_rules! noted_values {
    ($($ty:ty: |$value:ident, $call:ident| $add:expr;)*) => { $(
        impl Noted for $ty {
            fn add_to(&self, $call: &mut CallHasher) {
                let $value = self;
                $add;
            }
        }
    )* };
}

noted_values! {
    (): |_value, call| call.number(0_u64);
    u64: |value, call| call.number(*value);
    bool: |value, call| call.number(*value);
    String: |value, call| call.text(value);
    Vec<u8>: |value, call| call.bytes(value);
    (Vec<u8>, bool): |value, call| { call.bytes(&value.0); call.number(value.1) };
    Advice: |value, call| call.number(*value as u8);
    DescriptorType: |value, call| call.number(*value as u8);
    PathFlags: |value, call| value.as_array().into_iter().for_each(|word| call.number(word));
    OpenFlags: |value, call| value.as_array().into_iter().for_each(|word| call.number(word));
    DescriptorFlags: |value, call| value.as_array().into_iter().for_each(|word| call.number(word));
    MetadataHashValue: |value, call| { call.number(value.lower); call.number(value.upper) };
    NewTimestamp: |value, call| match value {
        NewTimestamp::NoChange => call.number(0_u64),
        NewTimestamp::Now => call.number(1_u64),
        NewTimestamp::Timestamp(time) => { call.number(time.seconds); call.number(time.nanoseconds) }
    };
    DescriptorStat: |value, call| {
        call.number(value.type_ as u8);
        call.number(value.size);
        call.number(value.link_count);
        if let Some(time) = &value.data_modification_timestamp {
            call.number(time.seconds);
            call.number(time.nanoseconds);
        }
    };
    Option<DirectoryEntry>: |value, call| match value {
        Some(entry) => call.text(&entry.name),
        None => call.number(0_u64),
    };
}

impl<T: 'static> Noted for Resource<T> {
    fn add_to(&self, call: &mut CallHasher) {
        call.number(self.rep());
    }
}

macro_rules! noted_methods {
    ($($name:literal $method:ident($($arg:ident: $ty:ty),*) -> $out:ty;)*) => { $(
        fn $method(&mut self, $($arg: $ty),*) -> FsResult<$out> {
            let mut call = CallHasher::default();
            $($arg.add_to(&mut call);)*
            let answer = self.0.$method($($arg),*);
            self.note($name, call, &answer);
            answer
        }
    )* };
}

impl HostDescriptor for NotedFilesystem<'_> {
    noted_methods! {
        "filesystem.read-via-stream" read_via_stream(handle: Handle, offset: u64) -> Resource<DynInputStream>;
        "filesystem.write-via-stream" write_via_stream(handle: Handle, offset: u64) -> Resource<DynOutputStream>;
        "filesystem.append-via-stream" append_via_stream(handle: Handle) -> Resource<DynOutputStream>;
        "filesystem.advise" advise(handle: Handle, offset: u64, length: u64, advice: Advice) -> ();
        "filesystem.get-flags" get_flags(handle: Handle) -> DescriptorFlags;
        "filesystem.get-type" get_type(handle: Handle) -> DescriptorType;
        "filesystem.set-size" set_size(handle: Handle, size: u64) -> ();
        "filesystem.set-times" set_times(handle: Handle, accessed: NewTimestamp, modified: NewTimestamp) -> ();
        "filesystem.read" read(handle: Handle, length: u64, offset: u64) -> (Vec<u8>, bool);
        "filesystem.write" write(handle: Handle, bytes: Vec<u8>, offset: u64) -> u64;
        "filesystem.read-directory" read_directory(handle: Handle) -> Resource<Listing>;
        "filesystem.create-directory-at" create_directory_at(handle: Handle, path: String) -> ();
        "filesystem.stat" stat(handle: Handle) -> DescriptorStat;
        "filesystem.stat-at" stat_at(handle: Handle, flags: PathFlags, path: String) -> DescriptorStat;
        "filesystem.set-times-at" set_times_at(handle: Handle, flags: PathFlags, path: String, accessed: NewTimestamp, modified: NewTimestamp) -> ();
        "filesystem.link-at" link_at(handle: Handle, flags: PathFlags, path: String, new_handle: Handle, new_path: String) -> ();
        "filesystem.open-at" open_at(handle: Handle, path_flags: PathFlags, path: String, how: OpenFlags, flags: DescriptorFlags) -> Handle;
        "filesystem.readlink-at" readlink_at(handle: Handle, path: String) -> String;
        "filesystem.remove-directory-at" remove_directory_at(handle: Handle, path: String) -> ();
        "filesystem.rename-at" rename_at(handle: Handle, path: String, new_handle: Handle, new_path: String) -> ();
        "filesystem.symlink-at" symlink_at(handle: Handle, target: String, path: String) -> ();
        "filesystem.unlink-file-at" unlink_file_at(handle: Handle, path: String) -> ();
        "filesystem.metadata-hash" metadata_hash(handle: Handle) -> MetadataHashValue;
        "filesystem.metadata-hash-at" metadata_hash_at(handle: Handle, flags: PathFlags, path: String) -> MetadataHashValue;
    }

    async fn sync_data(&mut self, handle: Handle) -> FsResult<()> {
        let mut call = CallHasher::default();
        handle.add_to(&mut call);
        let answer = self.0.sync_data(handle).await;
        self.note("filesystem.sync-data", call, &answer);
        answer
    }

    async fn sync(&mut self, handle: Handle) -> FsResult<()> {
        let mut call = CallHasher::default();
        handle.add_to(&mut call);
        let answer = self.0.sync(handle).await;
        self.note("filesystem.sync", call, &answer);
        answer
    }

    fn is_same_object(&mut self, handle: Handle, other: Handle) -> wasmtime::Result<bool> {
        self.0.is_same_object(handle, other)
    }

    // Not noted: a guest that fails drops its handles.
    fn drop(&mut self, handle: Handle) -> wasmtime::Result<()> {
        HostDescriptor::drop(&mut self.0, handle)
    }
}

impl types::HostDirectoryEntryStream for NotedFilesystem<'_> {
    noted_methods! {
        "filesystem.read-directory-entry" read_directory_entry(stream: Resource<Listing>) -> Option<DirectoryEntry>;
    }

    fn drop(&mut self, stream: Resource<Listing>) -> wasmtime::Result<()> {
        types::HostDirectoryEntryStream::drop(&mut self.0, stream)
    }
}

impl types::Host for NotedFilesystem<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        self.0.convert_error_code(error)
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<IoError>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        self.0.filesystem_error_code(error)
    }
}

impl preopens::Host for NotedFilesystem<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Handle, String)>> {
        let directories = self.0.get_directories()?;
        let mut call = CallHasher::default();
        call.number(directories.len() as u64);
        let meter = &self.0.fs.budget.meter;
        meter.host_calls.note("filesystem.get-directories", &call);
        Ok(directories)
    }
}
