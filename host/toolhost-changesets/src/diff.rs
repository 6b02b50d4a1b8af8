//! The difference between two versions of a file.

use similar::TextDiff;

use crate::limits::DIFF_BYTES_MAX;
use crate::outcome::{ChangeKind, ChangedFile};

/// Lines around a difference.
const CONTEXT: usize = 3;

/// Returns how a file differs; none if it does not. Each version is none if it does not exist.
pub(crate) fn changed(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Option<ChangedFile> {
    let change = match (old, new) {
        (None, None) => return None,
        (Some(old), Some(new)) if old == new => return None,
        (Some(_), Some(_)) => ChangeKind::Changed,
        (None, Some(_)) => ChangeKind::Created,
        (Some(_), None) => ChangeKind::Deleted,
    };
    Some(ChangedFile {
        path: path.to_owned(),
        change,
        bytes: new.map(|bytes| bytes.len() as u64),
        diff: unified(path, old.unwrap_or_default(), new.unwrap_or_default()),
    })
}

fn unified(path: &str, old: &[u8], new: &[u8]) -> Option<String> {
    let text = |bytes: &[u8]| {
        let bytes = (bytes.len() <= DIFF_BYTES_MAX).then(|| bytes.to_owned())?;
        String::from_utf8(bytes).ok()
    };
    let (old, new) = (text(old)?, text(new)?);
    let diff = TextDiff::from_lines(&old, &new);
    let mut unified = diff.unified_diff();
    let unified = unified.context_radius(CONTEXT);
    Some(unified.header(path, path).to_string())
}
