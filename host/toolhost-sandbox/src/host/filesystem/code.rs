//! Errors of the filesystem as WASI codes.

use std::io;

use rustix::io::Errno;
use wasmtime::component::ResourceTableError;

use crate::host::bindings::filesystem::types::ErrorCode;

/// A WASI error code for the guest, or a reason to end the call.
#[derive(Debug)]
pub(crate) enum FsError {
    /// The guest is told.
    Code(ErrorCode),
    /// The call ends.
    Trap(wasmtime::Error),
}

pub(crate) type FsResult<T> = Result<T, FsError>;

impl From<ErrorCode> for FsError {
    fn from(code: ErrorCode) -> Self {
        Self::Code(code)
    }
}

impl From<io::Error> for FsError {
    fn from(error: io::Error) -> Self {
        Self::Code(code_of(&error))
    }
}

impl From<Errno> for FsError {
    fn from(errno: Errno) -> Self {
        Self::from(io::Error::from(errno))
    }
}

impl From<ResourceTableError> for FsError {
    fn from(error: ResourceTableError) -> Self {
        Self::Trap(error.into())
    }
}

impl From<FsError> for wasmtime::Error {
    fn from(error: FsError) -> Self {
        match error {
            FsError::Code(code) => code.into(),
            FsError::Trap(error) => error,
        }
    }
}

/// The WASI code of a host error. Only the code crosses: never the host's own text or path.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the standard library's enum, which grows"
)]
pub(crate) fn code_of(error: &io::Error) -> ErrorCode {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(errno) => code_of_errno(errno),
        // cap-std's own refusals carry no errno: they are ways out of the workdir.
        None => match error.kind() {
            io::ErrorKind::NotFound => ErrorCode::NoEntry,
            io::ErrorKind::PermissionDenied => ErrorCode::NotPermitted,
            io::ErrorKind::AlreadyExists => ErrorCode::Exist,
            io::ErrorKind::InvalidInput => ErrorCode::Invalid,
            io::ErrorKind::NotADirectory => ErrorCode::NotDirectory,
            io::ErrorKind::IsADirectory => ErrorCode::IsDirectory,
            io::ErrorKind::Unsupported => ErrorCode::Unsupported,
            _ => ErrorCode::Io,
        },
    }
}

fn code_of_errno(errno: Errno) -> ErrorCode {
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
