//! Opens an archive for `unzip` and `zipinfo`, with what they say if there is none.

use std::borrow::Cow;

use super::archive::{Archive, Entry};
use crate::commands::call::Call;

/// Exit code when a name has no entry.
pub(in crate::commands::archives) const NO_MATCH: i32 = 11;

const NO_ARCHIVE: &str = "  End-of-central-directory signature not found.  Either this file is not
  a zipfile, or it constitutes one disk of a multi-part archive.  In the
  latter case the central directory and zipfile comment will be found on
  the last disk(s) of this archive.";

/// Where `unzip` and `zipinfo` write what is wrong with an archive.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::commands::archives) enum Report {
    /// To stderr, after a line about the archive on stdout.
    Archive,
    /// To stderr.
    Quiet,
    /// All to stdout.
    Stdout,
}

/// Reads an archive, whose name may lack `.zip`. Reports that there is none.
pub(in crate::commands::archives) fn read<'a>(
    call: &mut Call<'a>,
    path: &str,
) -> Option<(String, Cow<'a, [u8]>)> {
    let with_suffix = format!("{path}.zip");
    for path in [path, &with_suffix] {
        if let Ok(bytes) = call.read(path) {
            return Some((path.to_owned(), bytes));
        }
    }
    let name = call.name;
    let text = format!("{name}:  cannot find or open {path}, {path}.zip or {path}.ZIP.\n");
    // One of the two writes all to stdout.
    if name == "zipinfo" {
        call.print(text);
    } else {
        call.warn(text);
    }
    None
}

/// Reads the entries of an archive. Reports why it has none.
pub(in crate::commands::archives) fn entries(
    call: &mut Call,
    path: &str,
    bytes: &[u8],
    report: Report,
) -> Option<Vec<Entry>> {
    match Archive::read(bytes).and_then(|archive| archive.entries()) {
        Ok(entries) => Some(entries),
        Err(text) => {
            if report != Report::Quiet {
                call.print(format!("Archive:  {path}\n"));
            }
            let text = if text.starts_with("End-of") {
                NO_ARCHIVE
            } else {
                &*text
            };
            let name = call.name;
            let indent = " ".repeat(name.len() + 3);
            let is_named = report == Report::Quiet || name == "zipinfo";
            let head = if is_named {
                format!("[{path}]\n")
            } else {
                String::new()
            };
            let text = format!(
                "{head}{text}\n{name}:  cannot find zipfile directory in one of {path} or\n{indent}{path}.zip, and cannot find {path}.ZIP, period.\n"
            );
            match report {
                Report::Stdout => call.print(text),
                Report::Archive | Report::Quiet => call.warn(text),
            }
            None
        }
    }
}
