//! Error numbers with the names of Unix.

use std::{fmt, io};

/// Why a call failed. The numbers are this crate's own: they are neither those of Unix nor those of Windows.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Errno(u16);

/// Defines each error number: its name, the number of Windows that it becomes in an [`io::Error`], if there is one,
/// otherwise its kind, and its text.
macro_rules! errnos {
    ($($name:ident = $number:literal, $code:expr, $kind:ident, $text:literal;)*) => {
        impl Errno {
            $(
                #[doc = concat!("`E", stringify!($name), "`: ", $text, ".")]
                pub const $name: Self = Self($number);
            )*
        }

        /// Each error number with its name, its number of Windows, its kind and its text.
        const ALL: &[(Errno, &str, Option<i32>, io::ErrorKind, &str)] = &[
            $((Errno::$name, stringify!($name), $code, io::ErrorKind::$kind, $text),)*
        ];
    };
}

errnos! {
    ACCESS = 1, Some(5), PermissionDenied, "permission denied";
    AGAIN = 2, None, WouldBlock, "resource temporarily unavailable";
    ALREADY = 3, None, Other, "operation already in progress";
    BADF = 4, Some(6), Other, "bad handle";
    BUSY = 5, Some(170), ResourceBusy, "resource busy";
    DEADLK = 6, Some(1131), Deadlock, "deadlock would occur";
    DQUOT = 7, Some(1816), QuotaExceeded, "quota exceeded";
    EXIST = 8, Some(183), AlreadyExists, "file exists";
    FBIG = 9, Some(223), FileTooLarge, "file too large";
    ILSEQ = 10, Some(1113), InvalidData, "invalid sequence of bytes";
    INPROGRESS = 11, None, Other, "operation in progress";
    INTR = 12, None, Interrupted, "interrupted call";
    INVAL = 13, Some(87), InvalidInput, "invalid argument";
    IO = 14, Some(1117), Other, "input or output failed";
    ISDIR = 15, Some(336), IsADirectory, "is a directory";
    LOOP = 16, Some(681), Other, "a symbolic link is not followed, or there are too many";
    MFILE = 17, Some(4), Other, "too many open files";
    MLINK = 18, Some(1142), TooManyLinks, "too many links";
    MSGSIZE = 19, None, Other, "message too long";
    NAMETOOLONG = 20, Some(206), InvalidFilename, "name too long";
    NFILE = 21, None, Other, "too many open files in the system";
    NODEV = 22, Some(55), Other, "no such device";
    NOENT = 23, Some(2), NotFound, "no such file or directory";
    NOLCK = 24, None, Other, "no locks available";
    NOMEM = 25, Some(8), OutOfMemory, "out of memory";
    NOSPC = 26, Some(112), StorageFull, "no space left";
    NOSYS = 27, Some(120), Unsupported, "the system has no such call";
    NOTDIR = 28, Some(267), NotADirectory, "not a directory";
    NOTEMPTY = 29, Some(145), DirectoryNotEmpty, "directory not empty";
    NOTRECOVERABLE = 30, None, Other, "state not recoverable";
    NOTSUP = 31, Some(50), Unsupported, "not supported";
    NOTTY = 32, None, Other, "not a terminal";
    NXIO = 33, Some(20), Other, "no such device or address";
    OVERFLOW = 34, Some(534), Other, "value too large";
    PERM = 35, None, PermissionDenied, "operation not permitted";
    PIPE = 36, Some(232), BrokenPipe, "broken pipe";
    ROFS = 37, Some(19), ReadOnlyFilesystem, "read-only file system";
    SPIPE = 38, Some(132), NotSeekable, "not seekable";
    SRCH = 39, None, Other, "no such process";
    STALE = 40, Some(1006), StaleNetworkFileHandle, "stale handle";
    TXTBSY = 41, None, ExecutableFileBusy, "program is running";
    XDEV = 42, Some(17), CrossesDevices, "on another volume";
}

/// Other numbers of Windows for an error.
const ALSO: &[(i32, Errno)] = &[
    // ERROR_PATH_NOT_FOUND, ERROR_INVALID_DRIVE, ERROR_BAD_NETPATH, ERROR_BAD_NET_NAME
    (3, Errno::NOENT),
    (15, Errno::NOENT),
    (53, Errno::NOENT),
    (67, Errno::NOENT),
    // ERROR_SHARING_VIOLATION, ERROR_LOCK_VIOLATION
    (32, Errno::BUSY),
    (33, Errno::AGAIN),
    // ERROR_HANDLE_DISK_FULL
    (39, Errno::NOSPC),
    // ERROR_FILE_EXISTS
    (80, Errno::EXIST),
    // ERROR_BROKEN_PIPE
    (109, Errno::PIPE),
    // ERROR_INVALID_NAME, ERROR_BAD_PATHNAME
    (123, Errno::INVAL),
    (161, Errno::INVAL),
    // ERROR_INVALID_FUNCTION
    (1, Errno::NOSYS),
    // ERROR_OUTOFMEMORY, ERROR_COMMITMENT_LIMIT
    (14, Errno::NOMEM),
    (1455, Errno::NOMEM),
    // ERROR_PRIVILEGE_NOT_HELD: symbolic links need a privilege.
    (1314, Errno::PERM),
    // ERROR_CANT_RESOLVE_FILENAME, ERROR_REPARSE_POINT_ENCOUNTERED
    (1921, Errno::LOOP),
    (4395, Errno::LOOP),
    // ERROR_NOT_A_REPARSE_POINT
    (4390, Errno::INVAL),
];

impl Errno {
    /// `EWOULDBLOCK`, which is `EAGAIN`.
    pub const WOULDBLOCK: Self = Self::AGAIN;

    /// `EOPNOTSUPP`, which is `ENOTSUP`.
    pub const OPNOTSUPP: Self = Self::NOTSUP;

    /// Returns the error number of an error of the system or of this crate; none for others.
    #[must_use]
    pub fn from_io_error(error: &io::Error) -> Option<Self> {
        let Some(code) = error.raw_os_error() else {
            return error.get_ref()?.downcast_ref().copied();
        };
        let first = ALL.iter().find(|(_, _, own, ..)| *own == Some(code));
        let also = || ALSO.iter().find(|(own, _)| *own == code);
        let found = first.map(|(errno, ..)| *errno);
        found.or_else(|| also().map(|(_, errno)| *errno))
    }

    /// Returns the number, which is this crate's own.
    #[must_use]
    pub fn raw_os_error(self) -> i32 {
        self.0.into()
    }

    fn row(
        self,
    ) -> Option<&'static (Self, &'static str, Option<i32>, io::ErrorKind, &'static str)> {
        ALL.iter().find(|(errno, ..)| *errno == self)
    }
}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> Self {
        match errno.row() {
            Some((_, _, Some(code), ..)) => Self::from_raw_os_error(*code),
            Some((_, _, None, kind, _)) => Self::new(*kind, errno),
            None => Self::other(errno),
        }
    }
}

/// Errors that no name fits are `EIO`.
impl From<io::Error> for Errno {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the standard library's enum, which grows"
    )]
    fn from(error: io::Error) -> Self {
        Self::from_io_error(&error).unwrap_or_else(|| match error.kind() {
            io::ErrorKind::NotFound => Self::NOENT,
            io::ErrorKind::PermissionDenied => Self::PERM,
            io::ErrorKind::AlreadyExists => Self::EXIST,
            io::ErrorKind::InvalidInput => Self::INVAL,
            io::ErrorKind::NotADirectory => Self::NOTDIR,
            io::ErrorKind::IsADirectory => Self::ISDIR,
            io::ErrorKind::WouldBlock => Self::AGAIN,
            io::ErrorKind::Interrupted => Self::INTR,
            io::ErrorKind::Unsupported => Self::NOTSUP,
            _ => Self::IO,
        })
    }
}

impl std::error::Error for Errno {}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().map_or("unknown error", |(.., text)| text))
    }
}

impl fmt::Debug for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().map_or("unknown", |(_, name, ..)| name))
    }
}
