//! `stat`: what a path is.

use std::fs;
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use toolhost_guest::{Context, ToolError, files};

use crate::failure;
use crate::path::GuestPath;
use crate::walk::Kind;

#[derive(Deserialize)]
pub(crate) struct Input {
    path: String,
}

#[derive(Serialize)]
pub(crate) struct Output {
    path: String,
    /// `link` only if it leads nowhere; otherwise what it leads to.
    #[serde(rename = "type")]
    kind: Kind,
    /// Bytes; of files only.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// Permissions in octal, such as `755`.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    /// When the content was changed, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
    /// Where a link leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

pub(crate) fn stat(_: &Context, input: Input) -> Result<Output, ToolError> {
    let path = GuestPath::new(&input.path);
    let fail = |error: io::Error| failure::io(path.as_str(), &error);
    let mut metadata = fs::symlink_metadata(path.as_str()).map_err(fail)?;
    let mut target = None;
    if metadata.is_symlink() {
        let link = fs::read_link(path.as_str()).map_err(fail)?;
        target = Some(link.to_string_lossy().into_owned());
        match fs::metadata(path.as_str()) {
            Ok(behind) => metadata = behind,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(fail(error)),
        }
    }
    Ok(Output {
        path: path.as_str().into(),
        kind: metadata.file_type().into(),
        size: metadata.is_file().then_some(metadata.len()),
        mode: files::mode(path.as_str())
            .ok()
            .map(|it| format!("{it:03o}")),
        modified: metadata.modified().ok().map(rfc_3339),
        target,
    })
}

/// Returns a time as `2026-11-27T01:02:03Z`; one before 1970 as 1970.
fn rfc_3339(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs());
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days of the proleptic Gregorian calendar, with years that begin in March.
    let day = days + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::rfc_3339;

    #[test]
    fn times_are_written_in_utc() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_795_741_323, "2026-11-27T01:02:03Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(
                rfc_3339(UNIX_EPOCH + Duration::from_secs(seconds)),
                expected
            );
        }
    }
}
