//! Errors of files and sockets as JSON that a test can compare.

use std::io::Error;

use serde_json::{Value, json};

/// Names of WASI's error numbers, from 0 upwards.
const NAMES: [&str; 77] = [
    "SUCCESS",
    "E2BIG",
    "EACCES",
    "EADDRINUSE",
    "EADDRNOTAVAIL",
    "EAFNOSUPPORT",
    "EAGAIN",
    "EALREADY",
    "EBADF",
    "EBADMSG",
    "EBUSY",
    "ECANCELED",
    "ECHILD",
    "ECONNABORTED",
    "ECONNREFUSED",
    "ECONNRESET",
    "EDEADLK",
    "EDESTADDRREQ",
    "EDOM",
    "EDQUOT",
    "EEXIST",
    "EFAULT",
    "EFBIG",
    "EHOSTUNREACH",
    "EIDRM",
    "EILSEQ",
    "EINPROGRESS",
    "EINTR",
    "EINVAL",
    "EIO",
    "EISCONN",
    "EISDIR",
    "ELOOP",
    "EMFILE",
    "EMLINK",
    "EMSGSIZE",
    "EMULTIHOP",
    "ENAMETOOLONG",
    "ENETDOWN",
    "ENETRESET",
    "ENETUNREACH",
    "ENFILE",
    "ENOBUFS",
    "ENODEV",
    "ENOENT",
    "ENOEXEC",
    "ENOLCK",
    "ENOLINK",
    "ENOMEM",
    "ENOMSG",
    "ENOPROTOOPT",
    "ENOSPC",
    "ENOSYS",
    "ENOTCONN",
    "ENOTDIR",
    "ENOTEMPTY",
    "ENOTRECOVERABLE",
    "ENOTSOCK",
    "ENOTSUP",
    "ENOTTY",
    "ENXIO",
    "EOVERFLOW",
    "EOWNERDEAD",
    "EPERM",
    "EPIPE",
    "EPROTO",
    "EPROTONOSUPPORT",
    "EPROTOTYPE",
    "ERANGE",
    "EROFS",
    "ESPIPE",
    "ESRCH",
    "ESTALE",
    "ETIMEDOUT",
    "ETXTBSY",
    "EXDEV",
    "ENOTCAPABLE",
];

/// The name of what went wrong: `ENOENT`, or Rust's kind where the system gave no number.
pub fn io_error(error: &Error) -> String {
    let name = error
        .raw_os_error()
        .and_then(|number| NAMES.get(usize::try_from(number).ok()?).copied());
    name.map_or_else(|| format!("{:?}", error.kind()), String::from)
}

/// What came of one attempt, as JSON.
pub trait Attempt {
    /// Makes `{ok: true, detail}` or `{ok: false, error: "ENOENT"}`.
    fn attempt(self) -> Value;
}

impl<T: Into<Value>> Attempt for Result<T, Error> {
    fn attempt(self) -> Value {
        match self {
            Ok(detail) => json!({ "ok": true, "detail": detail.into() }),
            Err(error) => json!({ "ok": false, "error": io_error(&error) }),
        }
    }
}
