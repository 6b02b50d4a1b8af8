//! Errors with a message, a place and a suggestion.

use std::io::{Error, ErrorKind};

use toolhost_guest::ToolError;

use crate::encoding::{Codec, guess};
use crate::room::first_chars;

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

pub(crate) fn input(message: &str) -> ToolError {
    failure(
        "INVALID_INPUT",
        "InvalidInputError",
        message.into(),
        "follow the parameters of this tool".into(),
    )
}

pub(crate) fn file_exists(path: &str) -> ToolError {
    failure(
        "ALREADY_EXISTS",
        "AlreadyExistsError",
        format!("exists already: {path}"),
        "pass `overwrite: true` to replace it, or another path; `stat` says what it is".into(),
    )
}

pub(crate) fn unknown_encoding(label: &str) -> ToolError {
    let (label, _) = first_chars(label, 60);
    failure(
        "UNKNOWN_ENCODING",
        "UnknownEncodingError",
        format!("`{label}` is no encoding of the WHATWG Encoding Standard"),
        "pass one such as utf-8, windows-1252, utf-16le, shift_jis, gbk or euc-kr, or base64 for bytes".into(),
    )
}

/// Bytes of a file, of which `bytes[at]` is the first that is not text in this encoding. They begin at `start` of
/// the file.
pub(crate) fn not_text(path: &str, codec: Codec, start: u64, bytes: &[u8], at: usize) -> ToolError {
    let name = codec.name();
    let before = bytes.get(..at).unwrap_or_default();
    let is_damaged = codec == Codec::Utf8 && !before.is_ascii();
    let likely = guess(bytes).filter(|it| *it != name && !is_damaged);
    let byte = bytes.get(at).copied().unwrap_or_default();
    let place = start + at as u64;
    let kind = match &likely {
        Some(encoding) => format!("it is likely {encoding}"),
        None if is_damaged => "what is before it is, with characters beyond ASCII".into(),
        None => "it is likely not a text".into(),
    };
    let suggestion = match likely {
        Some(encoding) => format!(
            "pass `encoding: \"{encoding}\"`, and pass it again when the file is written; `encoding: \"base64\"` has the bytes"
        ),
        None => "pass `encoding: \"base64\"` for its bytes; `stat` has its size".into(),
    };
    let message = format!("{path} is not valid {name} at byte {place} (0x{byte:02x}); {kind}");
    failure("NOT_TEXT", "NotTextError", message, suggestion)
}

/// A text that comes back with other bytes than those that it was read from.
pub(crate) fn not_exact(path: &str, encoding: &str) -> ToolError {
    failure(
        "NOT_TEXT",
        "NotTextError",
        format!("{path} has bytes that {encoding} would write in another way; nothing was changed"),
        "read it as base64, change the bytes and `write` them as base64".into(),
    )
}

pub(crate) fn not_encodable(path: &str, char: char, encoding: &str) -> ToolError {
    failure(
        "NOT_ENCODABLE",
        "NotEncodableError",
        format!("{path} is not changed: {encoding} has no `{char}`"),
        "leave that character out, or write the file as utf-8".into(),
    )
}

pub(crate) fn not_base64(at: usize) -> ToolError {
    failure(
        "INVALID_BASE64",
        "InvalidBase64Error",
        format!("the content is not base64 at character {at}; nothing was written"),
        "pass the standard alphabet with padding, or leave out `encoding` for text".into(),
    )
}

pub(crate) fn beyond_end(path: &str, offset: u64, unit: &str, total: u64) -> ToolError {
    failure(
        "OUT_OF_RANGE",
        "OutOfRangeError",
        format!("offset {offset} is beyond the end of {path}, which has {total} {unit}"),
        format!("pass an offset of at most {total}"),
    )
}

pub(crate) fn too_large(path: &str, size: u64, max: u64) -> ToolError {
    failure(
        "TOO_LARGE",
        "TooLargeError",
        format!("{path} has {size} bytes; a file that is edited may have {max}"),
        "change it with a program that streams, such as sed, or in parts".into(),
    )
}

pub(crate) fn pattern(pattern: &str, reason: &str) -> ToolError {
    let (pattern, _) = first_chars(pattern, 200);
    let (reason, _) = first_chars(reason, 600);
    failure(
        "INVALID_PATTERN",
        "InvalidPatternError",
        format!("`{pattern}` is not a pattern: {reason}"),
        "correct the pattern; in `grep`, `literal: true` searches for it as it is".into(),
    )
}

pub(crate) fn cursor(cursor: &str, root: &str) -> ToolError {
    let (cursor, _) = first_chars(cursor, 200);
    failure(
        "INVALID_CURSOR",
        "InvalidCursorError",
        format!("`{cursor}` is not beneath {root}"),
        "pass the `cursor` of the result before, with the same `path`".into(),
    )
}

pub(crate) fn not_empty(path: &str) -> ToolError {
    failure(
        "NOT_EMPTY",
        "NotEmptyError",
        format!("the folder is not empty: {path}"),
        "`list` shows what is in it; pass `recursive: true` to remove all of it".into(),
    )
}

pub(crate) fn workdir_itself() -> ToolError {
    failure(
        "INVALID_PATH",
        "InvalidPathError",
        "/ is the workdir itself, which stays where it is".into(),
        "pass the path of something in it".into(),
    )
}

pub(crate) fn failure(code: &str, name: &str, message: String, suggestion: String) -> ToolError {
    ToolError::new(message)
        .name(name)
        .code(code)
        .suggestion(suggestion)
}
