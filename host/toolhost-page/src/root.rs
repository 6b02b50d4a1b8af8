//! A state root that the page shows.

use std::path::{Path, PathBuf};

use tokio::sync::OnceCell;
use toolhost::approvals::{ApprovalError, Approvals};
use toolhost::calls::{CallLog, CallRecord};
use toolhost::state::Database;
use toolhost::{Host, text};

use crate::failure::Failure;

/// A state root. Its databases are opened when they are asked for first, and once they are there.
pub(crate) struct Root {
    /// None for a host without a state root.
    pub(crate) path: Option<PathBuf>,
    database: Option<Database>,
    calls: OnceCell<CallLog>,
    approvals: OnceCell<Approvals>,
}

impl Root {
    pub(crate) fn new(path: &Path, database: Option<&Database>) -> Self {
        Self {
            path: Some(path.to_owned()),
            database: Some(database.map_or_else(|| path.into(), Database::clone)),
            calls: OnceCell::new(),
            approvals: OnceCell::new(),
        }
    }

    /// What is approved is done at once by this process.
    pub(crate) fn of_host(host: &Host) -> Self {
        Self {
            path: host.state_root().map(Path::to_owned),
            database: host.database().cloned(),
            calls: OnceCell::new(),
            approvals: OnceCell::new_with(Some(host.approvals())),
        }
    }

    /// Returns the calls; none if no call is kept yet.
    pub(crate) async fn calls(&self) -> Result<Option<&CallLog>, Failure> {
        if let Some(calls) = self.calls.get() {
            return Ok(Some(calls));
        }
        let Some(path) = self.path.clone() else {
            return Ok(None);
        };
        let opened = blocking(move || CallLog::open(&path)).await??;
        match opened {
            None => Ok(None),
            Some(calls) => Ok(Some(self.calls.get_or_init(async || calls).await)),
        }
    }

    /// Returns a call, or that it is not kept.
    pub(crate) async fn call(&self, id: u64) -> Result<(&CallLog, CallRecord), Failure> {
        let gone = || Failure::not_found(format!("call {id} is not kept, or not any more"));
        let log = self.calls().await?.ok_or_else(gone)?;
        let call = log.get(id).await?.ok_or_else(gone)?;
        Ok((log, call))
    }

    /// Returns the approvals; none if the state root has no database yet.
    pub(crate) async fn approvals(&self) -> Result<Option<&Approvals>, Failure> {
        if let Some(approvals) = self.approvals.get() {
            return Ok(Some(approvals));
        }
        let (Some(path), Some(database)) = (self.path.clone(), self.database.clone()) else {
            return Ok(None);
        };
        let open = move || -> Result<Option<Approvals>, ApprovalError> {
            let may_exist = database.may_exist();
            let open = || Approvals::open_on(database, &path);
            may_exist.then(open).transpose()
        };
        match blocking(open).await?? {
            None => Ok(None),
            Some(approvals) => Ok(Some(self.approvals.get_or_init(async || approvals).await)),
        }
    }
}

/// Runs what blocks beside the requests.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Failure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Failure::internal(&error))
}

/// Returns a path as people read it.
pub(crate) fn shown(path: &Path) -> String {
    text::shorten(&path.to_string_lossy(), 400)
}
