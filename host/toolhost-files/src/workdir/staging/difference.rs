//! What somebody has to see of a changed file before a decision.

use std::io::Read;

use cap_std::fs::{Dir, MetadataExt};
use serde::Serialize;

use super::stamp::{FileKind, Stamp};
use crate::diff::DIFF_BYTES_MAX;

/// A path in one of the layers.
type Place<'a> = (&'a Dir, &'a str);

/// What a file is beside its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Facts {
    #[serde(rename = "type")]
    kind: FileKind,
    /// Permissions in octal digits; none of a link.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    /// Where a link leads.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

impl Facts {
    fn of((dir, path): Place<'_>) -> Option<Self> {
        let found = dir.symlink_metadata(path).ok()?;
        let kind = Stamp::of(&found).kind;
        let mut facts = Self {
            kind,
            mode: None,
            target: None,
        };
        if kind == FileKind::Link {
            let target = dir.read_link_contents(path).ok()?;
            facts.target = Some(target.to_string_lossy().into_owned());
        } else {
            facts.mode = Some(format!("{:04o}", found.mode() & 0o7777));
        }
        Some(facts)
    }
}

/// How a file differs: `{"type": "file", "mode": "0755", "was": {"type": "file", "mode": "0644"}, "diff": "…"}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FileDifference {
    /// What it is; of a deleted one, what it was.
    #[serde(flatten)]
    now: Option<Facts>,
    /// What was at the path before, if it was something else or had another mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    was: Option<Facts>,
    /// How its lines differ; none where they cannot be shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) diff: Option<String>,
}

impl FileDifference {
    pub(crate) fn between(former: Option<Place<'_>>, now: Option<Place<'_>>) -> Self {
        let (was, diff) = (former.and_then(Facts::of), None);
        match now.and_then(Facts::of) {
            None => Self {
                now: was,
                was: None,
                diff,
            },
            Some(now) => Self {
                was: was.filter(|was| *was != now),
                now: Some(now),
                diff,
            },
        }
    }

    /// Whether lines of a regular file may differ.
    pub(crate) fn has_file(&self) -> bool {
        let mut facts = self.now.iter().chain(&self.was);
        facts.any(|facts| facts.kind == FileKind::File)
    }
}

/// Returns the bytes of a regular file, which are none where there is no such file. None if they are too many to be
/// compared, or cannot be read.
pub(crate) fn text_of(place: Option<Place<'_>>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let Some((dir, path)) = place else {
        return Some(bytes);
    };
    let found = dir.symlink_metadata(path).ok()?;
    if found.is_file() {
        if found.len() > DIFF_BYTES_MAX as u64 {
            return None;
        }
        let file = dir.open(path).ok()?;
        file.take(DIFF_BYTES_MAX as u64)
            .read_to_end(&mut bytes)
            .ok()?;
    }
    Some(bytes)
}
