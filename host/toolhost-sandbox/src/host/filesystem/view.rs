//! Serves `wasi:filesystem` from the store of a call: the root directory, listings and errors.

use std::io;

use rustix::io::Errno;
use toolhost_contract::{Denial, FailedOperation};
use toolhost_files::{CallFiles, Descriptor, FileError, Listing, errno_of};
use toolhost_runtime::BlockingPool;
use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::p2::IoError;

use super::attributes::descriptor_type;
use super::error::{FsError, FsResult};
use crate::host::bindings::filesystem::preopens;
use crate::host::bindings::filesystem::types::{self, DirectoryEntry, ErrorCode};

/// The filesystem of one call.
pub(crate) struct Filesystem {
    pub(crate) files: CallFiles,
    /// Syncs wait on its threads.
    pub(crate) blocking: BlockingPool,
}

/// The filesystem and the handles of a store, borrowed for one host call.
pub(crate) struct FilesystemView<'a> {
    pub(crate) fs: &'a mut Filesystem,
    pub(crate) table: &'a mut ResourceTable,
}

/// Selects the filesystem in a store.
pub(crate) struct HasFilesystem;

impl HasData for HasFilesystem {
    type Data<'a> = FilesystemView<'a>;
}

impl preopens::Host for FilesystemView<'_> {
    fn get_directories(&mut self) -> wasmtime::Result<Vec<(Resource<Descriptor>, String)>> {
        let Some(root) = self.fs.files.root() else {
            return Ok(Vec::new());
        };
        let handle = self.table.push(root)?;
        Ok(vec![(handle, "/".to_owned())])
    }
}

impl types::HostDirectoryEntryStream for FilesystemView<'_> {
    fn read_directory_entry(
        &mut self,
        stream: Resource<Listing>,
    ) -> FsResult<Option<DirectoryEntry>> {
        let entry = self.table.get_mut(&stream)?.next_entry()?;
        Ok(entry.map(|(listed, name)| DirectoryEntry {
            type_: descriptor_type(listed),
            name,
        }))
    }

    fn drop(&mut self, stream: Resource<Listing>) -> wasmtime::Result<()> {
        self.fs.files.meter().attempts.uncount_step();
        self.table.delete(stream)?;
        Ok(())
    }
}

impl FilesystemView<'_> {
    /// Records a failed operation in the usage of the call. Returns its error number.
    pub(super) fn record(&self, error: FsError) -> wasmtime::Result<Errno> {
        let (error, path) = match error {
            FsError::Failed { error, path } => (error, path),
            FsError::Trap(error) => return Err(error),
        };
        let (files, errno) = (&self.fs.files, error.errno());
        let attempts = &files.meter().attempts;
        if let Some(path) = path {
            let kind = io::Error::from(errno).kind();
            attempts.fail(FailedOperation::file(&path, kind));
        }
        match error {
            FileError::Errno(errno) => files.failed(errno),
            FileError::Outside => attempts.deny(Denial::OutsideWorkdir),
        }
        Ok(errno)
    }
}

impl types::Host for FilesystemView<'_> {
    fn convert_error_code(&mut self, error: FsError) -> wasmtime::Result<ErrorCode> {
        self.record(error).map(error_code)
    }

    fn filesystem_error_code(
        &mut self,
        error: Resource<IoError>,
    ) -> wasmtime::Result<Option<ErrorCode>> {
        let error = self.table.get(&error)?.downcast_ref::<io::Error>();
        Ok(error.map(|error| error_code(errno_of(error))))
    }
}

fn error_code(errno: Errno) -> ErrorCode {
    match errno {
        Errno::ACCESS => ErrorCode::Access,
        Errno::AGAIN => ErrorCode::WouldBlock,
        Errno::ALREADY => ErrorCode::Already,
        Errno::BADF => ErrorCode::BadDescriptor,
        Errno::BUSY | Errno::TXTBSY => ErrorCode::Busy,
        Errno::DEADLK => ErrorCode::Deadlock,
        Errno::DQUOT => ErrorCode::Quota,
        Errno::EXIST => ErrorCode::Exist,
        Errno::FBIG => ErrorCode::FileTooLarge,
        Errno::ILSEQ => ErrorCode::IllegalByteSequence,
        Errno::INPROGRESS => ErrorCode::InProgress,
        Errno::INTR => ErrorCode::Interrupted,
        Errno::INVAL => ErrorCode::Invalid,
        Errno::ISDIR => ErrorCode::IsDirectory,
        Errno::LOOP => ErrorCode::Loop,
        Errno::MLINK => ErrorCode::TooManyLinks,
        Errno::MSGSIZE => ErrorCode::MessageSize,
        Errno::NAMETOOLONG => ErrorCode::NameTooLong,
        Errno::NODEV | Errno::NXIO => ErrorCode::NoDevice,
        Errno::NOENT => ErrorCode::NoEntry,
        Errno::NOLCK => ErrorCode::NoLock,
        Errno::NOMEM | Errno::MFILE | Errno::NFILE => ErrorCode::InsufficientMemory,
        Errno::NOSPC => ErrorCode::InsufficientSpace,
        Errno::NOTDIR => ErrorCode::NotDirectory,
        Errno::NOTEMPTY => ErrorCode::NotEmpty,
        Errno::NOTRECOVERABLE => ErrorCode::NotRecoverable,
        Errno::NOSYS | Errno::NOTSUP => ErrorCode::Unsupported,
        Errno::NOTTY => ErrorCode::NoTty,
        Errno::OVERFLOW => ErrorCode::Overflow,
        Errno::PERM => ErrorCode::NotPermitted,
        Errno::PIPE => ErrorCode::Pipe,
        Errno::ROFS => ErrorCode::ReadOnly,
        Errno::SPIPE => ErrorCode::InvalidSeek,
        Errno::XDEV => ErrorCode::CrossDevice,
        _ => ErrorCode::Io,
    }
}
