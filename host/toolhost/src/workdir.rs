//! Which directory a call sees as `/`: see
//! [`HostBuilder::workdir_provider`](crate::HostBuilder::workdir_provider).

pub use crate::call::workdir::{
    CallWorkdir, InstanceWorkdir, OpenWorkdir, WorkdirProvider, WorkdirProviderError,
    WorkdirRequest, WorkdirTransaction,
};
pub use toolhost_contract::{
    FileChange, FileChangeCounts, FileChangeKind, FileChanges, FileDigest, WorkdirChanges,
};
pub use toolhost_sandbox::{
    CommitError, FileReplacement, ReplaceFilesError, ReplacedFiles, Shortage, StagingError,
    StagingRoot, UndoError, UndoRecord, Undone, WorkdirAccess,
};
