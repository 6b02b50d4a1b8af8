//! Serves `goondan:tool/modes`: the permissions of files.

use rustix::fs::OFlags;
use rustix::io::Errno;
use toolhost_files::FileError;

use super::error::{FsError, FsResult};
use super::view::FilesystemView;
use crate::host::bindings::modes::{Error, Host};

impl Host for FilesystemView<'_> {
    fn get_mode(&mut self, path: String, follow: bool) -> FsResult<u32> {
        let flags = if follow {
            OFlags::empty()
        } else {
            OFlags::NOFOLLOW
        };
        let mode = self.fs.files.mode(&path, flags);
        mode.map_err(|error| failed(error, path))
    }

    fn set_mode(&mut self, path: String, mode: u32) -> FsResult<()> {
        let set = self.fs.files.set_mode(&path, mode);
        set.map_err(|error| failed(error, path))
    }

    fn convert_error(&mut self, error: FsError) -> wasmtime::Result<Error> {
        self.record(error).map(code)
    }
}

fn failed(error: FileError, path: String) -> FsError {
    FsError::from(error).of_path(path)
}

fn code(errno: Errno) -> Error {
    match errno {
        Errno::ACCESS => Error::Access,
        Errno::AGAIN | Errno::BUSY | Errno::TXTBSY => Error::Busy,
        Errno::ILSEQ => Error::IllegalByteSequence,
        Errno::INVAL => Error::Invalid,
        Errno::LOOP => Error::Loop,
        Errno::NAMETOOLONG => Error::NameTooLong,
        Errno::NOENT => Error::NoEntry,
        Errno::NOMEM | Errno::MFILE | Errno::NFILE => Error::InsufficientMemory,
        Errno::NOSPC | Errno::DQUOT => Error::InsufficientSpace,
        Errno::NOTDIR => Error::NotDirectory,
        Errno::NOSYS | Errno::NOTSUP | Errno::XDEV => Error::Unsupported,
        Errno::PERM => Error::NotPermitted,
        Errno::ROFS => Error::ReadOnly,
        _ => Error::Io,
    }
}
