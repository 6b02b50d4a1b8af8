//! Limits of changesets.

use std::time::Duration;

/// Open changesets of one instance.
pub(crate) const OPEN_MAX: usize = 16;

/// Files that one changeset reads, writes or deletes.
pub(crate) const FILES_MAX: usize = 2_000;

/// Bytes of one file that a changeset writes.
pub(crate) const FILE_BYTES_MAX: u64 = 64 << 20;

/// Bytes of all files that a changeset has written.
pub(crate) const BYTES_MAX: u64 = 256 << 20;

/// Bytes of one file that a tool returns to a model.
pub(crate) const READ_BYTES_MAX: u64 = 1 << 20;

/// Entries of one folder that are listed.
pub(crate) const ENTRIES_MAX: usize = 10_000;

/// Length of a path, in bytes.
pub(crate) const PATH_BYTES_MAX: usize = 1_024;

/// How long a closed changeset is known.
pub(crate) const CLOSED_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How long a commit may take: it compiles the components that are new.
pub(crate) const COMMIT_DEADLINE: Duration = Duration::from_secs(10 * 60);
