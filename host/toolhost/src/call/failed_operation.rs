//! Adds to a guest's error what the host knows of the operation that failed: the path of a file, or the
//! server of a request and the cause. Many languages leave these out.

use std::io::ErrorKind;

use toolhost_contract::HandlerError;
use toolhost_sandbox::FailedOperation;

/// Adds the failed operation to the error of a handler, if the error is about it and does not name it.
///
/// A file operation: if the message ends with the system's words for its error, or with those of the Rust
/// SDK. A request: if the error has no code, as a tool that has one has read the cause.
pub(super) fn name_operation(error: &mut HandlerError, failed: &FailedOperation) {
    let message = error.message.trim_end();
    let more = match failed {
        FailedOperation::File { path, kind } => {
            let is_about = ends_with_words(message, *kind) && !names_path(message, path);
            is_about.then(|| path.clone())
        }
        FailedOperation::Http { origin, cause } => {
            let is_about = error.code.is_none() && !message.contains(cause.as_str());
            is_about.then(|| {
                if message.contains(origin.as_str()) {
                    cause.clone()
                } else {
                    format!("{origin}: {cause}")
                }
            })
        }
        _ => None,
    };
    if let Some(more) = more {
        error.message = if message.is_empty() {
            more
        } else {
            format!("{}: {more}", message.trim_end_matches('.'))
        };
    }
}

/// Returns the path of the file operation that failed before a crash, if the reason of the crash has the
/// system's words for the error, as the panic of a Rust `unwrap` does, and not the path.
pub(super) fn path_of_crash<'a>(reason: &str, failed: &'a FailedOperation) -> Option<&'a str> {
    let FailedOperation::File { path, kind } = failed else {
        return None;
    };
    let lower = reason.to_lowercase();
    let is_about = words_of(*kind).iter().any(|words| lower.contains(words));
    (is_about && !names_path(reason, path)).then_some(path)
}

/// Whether a message ends with the words for an error, of C, Go, Python or Rust, or of the Rust SDK.
fn ends_with_words(message: &str, kind: ErrorKind) -> bool {
    let message = message.to_lowercase();
    // Rust: `No such file or directory (os error 44)`.
    let message = match message.rsplit_once(" (os error ") {
        Some((words, number)) if number.ends_with(')') => words,
        _ => &message,
    };
    words_of(kind).iter().any(|words| message.ends_with(words))
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "the standard library's enum, which grows"
)]
fn words_of(kind: ErrorKind) -> &'static [&'static str] {
    match kind {
        ErrorKind::NotFound => &["no such file or directory", "file does not exist"],
        ErrorKind::PermissionDenied => &["not permitted", "permission denied"],
        ErrorKind::ReadOnlyFilesystem => &["read-only file system", "this place is read-only"],
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => &[
            "no space left on device",
            "no space left for this call",
            "quota exceeded",
            "file too large",
        ],
        ErrorKind::IsADirectory => &["is a directory", "is a folder, not a file"],
        ErrorKind::NotADirectory => &["not a directory", "is not a folder, or lies beneath a file"],
        ErrorKind::AlreadyExists => &["file exists", "exists already"],
        ErrorKind::DirectoryNotEmpty => &["directory not empty"],
        ErrorKind::InvalidFilename => &["filename too long", "file name too long"],
        _ => &[],
    }
}

/// Whether a message contains the last name of a path.
fn names_path(message: &str, path: &str) -> bool {
    let name = path.trim_end_matches('/');
    let name = name.rsplit('/').next().unwrap_or_default();
    !name.is_empty() && message.contains(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_added_to_an_error_of_a_file_that_does_not_name_it() {
        use ErrorKind::{NotFound, PermissionDenied};
        for (message, path, kind, expected) in [
            // The Rust SDK, Rust, anyhow, C.
            ("file does not exist", "a/b.txt", NotFound, Some("a/b.txt")),
            (
                "No such file or directory (os error 44)",
                "b.txt",
                NotFound,
                Some("b.txt"),
            ),
            (
                "cannot load: No such file or directory (os error 44)",
                "b",
                NotFound,
                Some("b"),
            ),
            ("not permitted", "../x", PermissionDenied, Some("../x")),
            // Go, Python and JavaScript name it.
            (
                "open a/b.txt: no such file or directory",
                "a/b.txt",
                NotFound,
                None,
            ),
            (
                "[Errno 44] No such file or directory: 'b.txt'",
                "b.txt",
                NotFound,
                None,
            ),
            (
                "ENOENT: no such file or directory, open 'b.txt'",
                "b.txt",
                NotFound,
                None,
            ),
            // The error is about something else.
            ("no such city", "b.txt", NotFound, None),
            ("file does not exist", "b.txt", PermissionDenied, None),
        ] {
            let mut error = HandlerError::new(message);
            let failed = FailedOperation::file(path, kind);
            name_operation(&mut error, &failed);
            let added = expected.map(|path| format!("{message}: {path}"));
            assert_eq!(
                error.message,
                added.as_deref().unwrap_or(message),
                "{message}"
            );
        }
    }

    #[test]
    fn the_path_of_a_crash_is_that_of_the_file_operation_that_failed() {
        let failed = FailedOperation::file("a/b.txt", ErrorKind::NotFound);
        let unwrapped = r#"called `Result::unwrap()` on an `Err` value: Os { code: 44, kind: NotFound, message: "No such file or directory" }"#;
        assert_eq!(path_of_crash(unwrapped, &failed), Some("a/b.txt"));
        let python = "FileNotFoundError: [Errno 44] No such file or directory: 'a/b.txt'";
        for reason in [python, "index out of bounds"] {
            assert_eq!(path_of_crash(reason, &failed), None, "{reason}");
        }
    }

    #[test]
    fn the_server_and_the_cause_are_added_to_an_error_of_a_request() {
        let failed =
            FailedOperation::http("https://a.example", "the connection was refused".to_owned());
        for (message, code, expected) in [
            (
                "NetworkError when attempting to fetch resource.",
                None,
                "NetworkError when attempting to fetch resource: https://a.example: the connection was refused",
            ),
            (
                "cannot read https://a.example/x",
                None,
                "cannot read https://a.example/x: the connection was refused",
            ),
            ("no weather", Some("NO_WEATHER"), "no weather"),
            ("", None, "https://a.example: the connection was refused"),
        ] {
            let mut error = HandlerError::new(message);
            error.code = code.map(str::to_owned);
            name_operation(&mut error, &failed);
            assert_eq!(error.message, expected);
        }
    }
}
