//! Files of a workdir that a call changed.

use std::fmt;
use std::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const PREFIX: &str = "sha256:";

/// A file, folder or link of a workdir that a call created, changed, deleted or renamed.
///
/// ```
/// use serde_json::json;
/// use toolhost_contract::{FileChange, FileChangeKind};
///
/// let from = "draft.md".to_owned();
/// let change = FileChange::new("docs/a.md", FileChangeKind::Renamed { from });
/// assert_eq!(
///     serde_json::to_value(&change)?,
///     json!({"path": "docs/a.md", "kind": "renamed", "from": "draft.md"})
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FileChange {
    /// Path in the workdir after the call, without a leading `/`. A deleted file has its path before the call.
    pub path: String,
    /// How it changed.
    #[serde(flatten)]
    pub kind: FileChangeKind,
    /// Digest of the file's bytes after the call. None for a deleted file, a folder or a link, and for a file
    /// whose digest was not computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<FileDigest>,
    /// How the lines of the file changed, as a unified diff: of a transaction, if the policy says
    /// `calls: {diffs: true}`, and not of files of more than 256 KiB, or that are no UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// How a call changed a file. The state after the call is compared with the state before it: a file that the call
/// created and deleted has not changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum FileChangeKind {
    /// It did not exist before the call.
    Created,
    /// It existed before the call, and was opened for writing or replaced.
    Changed,
    /// It existed before the call, and does not exist after it.
    Deleted,
    /// It had another path before the call. What lies in a renamed folder is not listed.
    Renamed {
        /// Path before the call.
        from: String,
    },
}

/// The files that a call changed, sorted by path.
///
/// ```
/// use serde_json::json;
/// use toolhost_contract::{FileChange, FileChangeKind, FileChanges};
///
/// let mut changes = FileChanges::default();
/// changes.files.push(FileChange::new("a.md", FileChangeKind::Created));
/// assert_eq!(
///     serde_json::to_value(&changes)?,
///     json!({"files": [{"path": "a.md", "kind": "created"}], "truncated": false})
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FileChanges {
    /// Each file once.
    pub files: Vec<FileChange>,
    /// Whether there are more: the list has a maximum length, and a path that is not UTF-8 is left out.
    pub truncated: bool,
}

/// How many files a call changed, by how it changed them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileChangeCounts {
    /// Files created.
    pub created: u64,
    /// Files changed.
    pub changed: u64,
    /// Files deleted.
    pub deleted: u64,
    /// Files renamed.
    pub renamed: u64,
}

/// SHA-256 of a file's bytes. Its text is `sha256:` and 64 hexadecimal digits in lower case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileDigest([u8; 32]);

/// A text is not `sha256:` and 64 hexadecimal digits in lower case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 'sha256:' and 64 hexadecimal digits in lower case")]
pub struct FileDigestError;

impl FileChange {
    /// Creates a change without a digest.
    pub fn new(path: impl Into<String>, kind: FileChangeKind) -> Self {
        let path = path.into();
        Self {
            path,
            kind,
            digest: None,
            diff: None,
        }
    }

    /// Sets the digest.
    #[must_use]
    pub fn with_digest(mut self, digest: FileDigest) -> Self {
        self.digest = Some(digest);
        self
    }
}

impl FileChanges {
    /// Returns whether nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && !self.truncated
    }

    /// Counts the files of the list.
    pub fn counts(&self) -> FileChangeCounts {
        let mut counts = FileChangeCounts::default();
        for file in &self.files {
            *match file.kind {
                FileChangeKind::Created => &mut counts.created,
                FileChangeKind::Changed => &mut counts.changed,
                FileChangeKind::Deleted => &mut counts.deleted,
                FileChangeKind::Renamed { .. } => &mut counts.renamed,
            } += 1;
        }
        counts
    }
}

impl FileChangeKind {
    /// Returns `created`, `changed`, `deleted` or `renamed`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Deleted => "deleted",
            Self::Renamed { .. } => "renamed",
        }
    }
}

impl FileDigest {
    /// Creates a digest from the 32 bytes of a SHA-256.
    pub fn from_sha256(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Returns the 32 bytes of the SHA-256.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for FileDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for FileDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for FileDigest {
    type Err = FileDigestError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix(PREFIX).ok_or(FileDigestError)?;
        let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
        let mut bytes = [0; 32];
        if pairs.len() != bytes.len() || !rest.is_empty() {
            return Err(FileDigestError);
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = nibble(*high)? << 4 | nibble(*low)?;
        }
        Ok(Self(bytes))
    }
}

impl Serialize for FileDigest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FileDigest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

fn nibble(digit: u8) -> Result<u8, FileDigestError> {
    match digit {
        b'0'..=b'9' => Ok(digit - b'0'),
        b'a'..=b'f' => Ok(digit - b'a' + 10),
        _ => Err(FileDigestError),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_reads_back_from_its_json() {
        let digest = FileDigest::from_sha256(std::array::from_fn(|at| at as u8 * 8));
        let text = digest.to_string();
        assert!(text.starts_with("sha256:0008101820"), "{text}");
        assert_eq!(text.parse(), Ok(digest));
        let change = FileChange::new("a", FileChangeKind::Created).with_digest(digest);
        let stored = serde_json::to_value(&change).unwrap();
        assert_eq!(
            stored,
            json!({"path": "a", "kind": "created", "digest": text})
        );
        assert_eq!(
            serde_json::from_value::<FileChange>(stored).unwrap(),
            change
        );
        let from = "a".to_owned();
        let change = FileChange::new("b", FileChangeKind::Renamed { from });
        let stored = serde_json::to_value(&change).unwrap();
        assert_eq!(
            serde_json::from_value::<FileChange>(stored).unwrap(),
            change
        );
    }

    #[test]
    fn refuses_texts_that_are_no_digest() {
        let digits = "0".repeat(64);
        for text in [
            String::new(),
            digits.clone(),
            format!("sha256:{digits}0"),
            format!("sha256:0{digits}0"),
            format!("sha256:{}", "A".repeat(64)),
            format!("sha256:{}é", "0".repeat(62)),
        ] {
            assert_eq!(text.parse::<FileDigest>(), Err(FileDigestError), "{text}");
        }
    }
}
