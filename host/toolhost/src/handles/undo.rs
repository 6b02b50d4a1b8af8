//! Undoes the calls of a host that were transactions.

use std::sync::Arc;

use toolhost_sandbox::{UndoError, UndoRecord, Undone, Workdir};

use crate::handles::instance::Instance;
use crate::host::Host;

impl Host {
    /// Returns the calls in a workdir that can be undone, the newest first. They include those of other
    /// instances, hosts and processes with the same state root.
    ///
    /// A call is listed if the policy made it a transaction (`workdir: transactional`), and it changed
    /// something. At most 16 calls and 256 MiB of replaced and deleted files are kept for each workdir.
    ///
    /// # Errors
    /// [`UndoError::Failed`] if the state root cannot be read.
    pub async fn undo_records(&self, workdir: &Workdir) -> Result<Vec<UndoRecord>, UndoError> {
        let Some(staging) = self.0.staging.clone() else {
            return Ok(Vec::new());
        };
        let workdir = workdir.clone();
        let listed = self
            .0
            .sandbox
            .threads()
            .wait(move || staging.undo_records(&workdir));
        let listed = listed.await.map_err(failed)?;
        listed.map_err(failed)
    }

    /// Undoes the newest call of [`Self::undo_records`], or the one with this id: files, folders and links get
    /// the names, the bytes and the modes that they had before it. An undo cannot be undone.
    ///
    /// # Errors
    /// [`UndoError::Nothing`] if there is no such call; [`UndoError::Conflict`], which names the files, if what
    /// the call left there was changed since. Nothing is changed then.
    pub async fn undo(&self, workdir: &Workdir, id: Option<&str>) -> Result<Undone, UndoError> {
        let staging = self.0.staging.clone().ok_or(UndoError::Nothing)?;
        let (workdir, id) = (workdir.clone(), id.map(str::to_owned));
        let undone = self
            .0
            .sandbox
            .threads()
            .wait(move || staging.undo(&workdir, id.as_deref()));
        undone.await.map_err(failed)?
    }
}

impl Instance {
    /// Returns the calls in the instance's workdir that can be undone: see [`Host::undo_records`].
    ///
    /// # Errors
    /// As [`Host::undo_records`].
    pub async fn undo_records(&self) -> Result<Vec<UndoRecord>, UndoError> {
        self.host().undo_records(self.workdir()).await
    }

    /// Undoes the newest call in the instance's workdir, or the one with this id: see [`Host::undo`].
    ///
    /// # Errors
    /// As [`Host::undo`].
    pub async fn undo(&self, id: Option<&str>) -> Result<Undone, UndoError> {
        self.host().undo(self.workdir(), id).await
    }

    fn host(&self) -> Host {
        Host(Arc::clone(&self.0.agent.0.host))
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> UndoError {
    UndoError::Failed {
        step: "reading the staging directory".to_owned(),
        source: std::io::Error::other(error),
    }
}
