//! Errors with a message, a place and a suggestion.

use std::io::{Error, ErrorKind};

use toolhost_guest::ToolError;

/// Converts an error of the system to one for this path.
pub(crate) fn io(path: &str, error: &Error) -> ToolError {
    let (code, name, what, suggestion) = match error.kind() {
        ErrorKind::NotFound => (
            "NOT_FOUND",
            "NotFoundError",
            "file does not exist",
            "`list` shows what is there; paths are relative to the workdir",
        ),
        ErrorKind::PermissionDenied => (
            "PERMISSION_DENIED",
            "PermissionError",
            "not permitted",
            "use a path within the workdir, without `..` and without links that lead out of it",
        ),
        ErrorKind::ReadOnlyFilesystem => (
            "READ_ONLY",
            "PermissionError",
            "this place is read-only",
            "do not try again; write elsewhere in the workdir or say that it cannot be written",
        ),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => (
            "NO_SPACE",
            "NoSpaceError",
            "no space left for this call, what was written may be incomplete",
            "write less, or in several calls with `append`",
        ),
        ErrorKind::IsADirectory => (
            "IS_DIRECTORY",
            "IsDirectoryError",
            "is a folder, not a file",
            "`list` shows what is in it; pass the path of a file",
        ),
        ErrorKind::NotADirectory => (
            "NOT_DIRECTORY",
            "NotDirectoryError",
            "is not a folder, or lies beneath a file",
            "`list` the parent to see what is there",
        ),
        ErrorKind::AlreadyExists => (
            "ALREADY_EXISTS",
            "AlreadyExistsError",
            "exists already",
            "use it as it is, or choose another name",
        ),
        ErrorKind::InvalidInput | ErrorKind::InvalidFilename => (
            "INVALID_PATH",
            "InvalidPathError",
            "is not a valid path",
            "pass a shorter, ordinary path relative to the workdir",
        ),
        _ => return other(path, error),
    };
    failure(code, name, format!("{what}: {path}"), suggestion.into())
}

fn other(path: &str, error: &Error) -> ToolError {
    let suggestion = "try another path, or say that this one cannot be used";
    failure(
        "IO_ERROR",
        "IoError",
        format!("{error}: {path}"),
        suggestion.into(),
    )
}

pub(crate) fn is_directory(path: &str) -> ToolError {
    io(path, &ErrorKind::IsADirectory.into())
}

pub(crate) fn stray_tree(path: &str, top: &str) -> ToolError {
    let relative = path.trim_start_matches('/');
    let suggestion = match relative.rsplit_once('/') {
        Some((_, last)) => {
            format!("pass `{last}`, or `{relative}` if its folders are wanted in the workdir")
        }
        None => format!("pass `{relative}` if it is wanted in the workdir"),
    };
    let message = format!(
        "{path} is not made: there is no folder /{top} in the workdir, and paths are relative to the workdir"
    );
    failure(
        "OUTSIDE_WORKDIR",
        "OutsideWorkdirError",
        message,
        suggestion,
    )
}

fn failure(code: &str, name: &str, message: String, suggestion: String) -> ToolError {
    ToolError::new(message)
        .name(name)
        .code(code)
        .suggestion(suggestion)
}
