//! The changesets of a bundle.

use std::collections::HashSet;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use toolhost::manifest::ChangesetGrant;
use toolhost::workdir::StagingRoot;
use toolhost::{LiveBundle, LoadedBundle, Workdir};
use toolhost_files::{ChangedFiles, DirView};
use toolhost_store::random_text;

use crate::error::ChangesetError;
use crate::files::{Contents, Merged};
use crate::limits::OPEN_MAX;
use crate::outcome::{ChangedFile, CommitOutcome};
use crate::owner::ChangesetOwner;
use crate::records::{Ended, FileRows, Records, State};

/// Prefix of every id.
const PREFIX: &str = "changeset_";

/// Random letters of an id: 80 bits.
const LETTERS: usize = 16;

/// Which version of a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Version {
    /// That of the changeset: what it has written, or else the bundle's.
    #[default]
    Changeset,
    /// That which the bundle has now. Reading it resolves a conflict: the next commit replaces this version.
    Bundle,
}

/// An open changeset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Changeset {
    /// Its id: `changeset_` and 16 letters.
    pub id: String,
    /// The files that differ from the bundle's, without their differences.
    pub changed: Vec<String>,
}

/// The changesets of a bundle. Cheap to clone; the tools work as long as one clone is held.
///
/// The state root is one on the file system of the bundle: files are committed by renaming them.
#[derive(Debug, Clone)]
pub struct Changesets(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) bundle: LiveBundle,
    pub(crate) records: Records,
    state_root: PathBuf,
    pub(crate) staging: StagingRoot,
    /// The changesets that this process commits now.
    pub(crate) committing: Mutex<HashSet<String>>,
}

/// What an operation on an open changeset needs.
pub(crate) struct OpenChangeset {
    /// The bundle's folder.
    pub(crate) bundle: DirView,
    pub(crate) workdir: Workdir,
    pub(crate) contents: Contents,
    pub(crate) rows: FileRows,
}

impl OpenChangeset {
    pub(crate) fn merged(&self) -> Merged<'_> {
        Merged {
            bundle: &self.bundle,
            contents: &self.contents,
            rows: &self.rows,
        }
    }
}

impl Changesets {
    /// Opens the changesets of a bundle in a state root. Blocks, as opening the database does.
    ///
    /// # Errors
    /// [`ChangesetError`] where the state root or its database cannot be used.
    pub fn new(bundle: &LiveBundle, state_root: impl AsRef<Path>) -> Result<Self, ChangesetError> {
        let state_root = state_root.as_ref();
        let records = Records::open(state_root)?;
        // The database has made it.
        let real = state_root.canonicalize();
        let state_root = real.map_err(ChangesetError::io(state_root.display().to_string()))?;
        let staging = StagingRoot::open(&state_root)?;
        // What a process that ended left of a commit is taken back before anything is read.
        staging.recover()?;
        Ok(Self(Arc::new(Inner {
            bundle: bundle.clone(),
            records,
            staging,
            state_root,
            committing: Mutex::default(),
        })))
    }

    /// Returns the owner of the changesets of an instance of an agent.
    pub fn owner(&self, agent: &str, instance_key: &str) -> ChangesetOwner {
        ChangesetOwner {
            bundle: self.0.bundle.current().key().into_owned(),
            agent: agent.to_owned(),
            instance: instance_key.to_owned(),
        }
    }

    /// Opens a changeset.
    ///
    /// # Errors
    /// [`ChangesetError`] where the policy grants the agent none, the bundle's folder contains what no agent
    /// may change, or it is on another file system than the state root.
    ///
    /// Spec: requirements-v1 §12.4.
    pub async fn open(&self, owner: &ChangesetOwner) -> Result<Changeset, ChangesetError> {
        self.0.grant(owner)?;
        let workdir = self.0.workdir()?;
        self.0.staging.check(&workdir)?;
        let letters = random_text::<LETTERS>().map_err(|error| ChangesetError::Host {
            reason: error.to_string(),
        })?;
        let id = format!("{PREFIX}{letters}");
        let contents = self.0.contents(&id);
        contents.make(&self.0.state_root)?;
        match self.0.records.insert(&id, owner, OPEN_MAX).await {
            Ok(true) => Ok(Changeset {
                id,
                changed: Vec::new(),
            }),
            refused => {
                contents.remove_all();
                refused?;
                Err(ChangesetError::TooMany)
            }
        }
    }

    /// Lists the open changesets of an owner, the oldest first.
    ///
    /// # Errors
    /// [`ChangesetError`] where the database or a file cannot be read.
    pub async fn list(&self, owner: &ChangesetOwner) -> Result<Vec<Changeset>, ChangesetError> {
        let mut open = Vec::new();
        for id in self.0.records.open_of(owner).await? {
            match self.0.find(&id, owner).await {
                Ok(found) => {
                    let changes = self.0.changes(found).await?;
                    let changed = changes.into_iter().map(|file| file.path).collect();
                    open.push(Changeset { id, changed });
                }
                Err(ChangesetError::NotOpen { .. } | ChangesetError::Unknown { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(open)
    }

    /// Returns the files that differ from the bundle's, with their differences, sorted by path.
    ///
    /// # Errors
    /// [`ChangesetError`] where the changeset is not open, or a file cannot be read.
    pub async fn diff(
        &self,
        id: &str,
        owner: &ChangesetOwner,
    ) -> Result<Vec<ChangedFile>, ChangesetError> {
        let found = self.0.find(id, owner).await?;
        self.0.changes(found).await
    }

    /// Loads the bundle as the changeset leaves it, changes the bundle's files, whole or not at all, and
    /// makes the new bundle the current one of the [`LiveBundle`]. It takes effect at the next step of turns
    /// that have the [live bundle](toolhost::TurnStart::with_live_bundle).
    ///
    /// Runs in a task of the tokio runtime from which it is called: a commit that has begun goes on if this
    /// future is dropped.
    ///
    /// # Errors
    /// [`ChangesetError`] where the changeset is not open, or the database fails. What a commit may come to
    /// is a [`CommitOutcome`].
    ///
    /// Spec: requirements-v1 §12.4(1).
    pub async fn commit(
        &self,
        id: &str,
        owner: &ChangesetOwner,
    ) -> Result<CommitOutcome, ChangesetError> {
        let (changesets, id, owner) = (self.clone(), id.to_owned(), owner.clone());
        let committed = tokio::spawn(async move { changesets.0.commit(&id, &owner).await });
        let ended = |error: tokio::task::JoinError| ChangesetError::Host {
            reason: format!("the commit ended early: {error}"),
        };
        let outcome = committed.await.map_err(ended)??;
        if matches!(outcome, CommitOutcome::Ok { .. }) {
            // Agents that are new get the tools, if the policy names them.
            self.extend()?;
        }
        Ok(outcome)
    }

    /// Closes a changeset without changing the bundle.
    ///
    /// # Errors
    /// [`ChangesetError`] where the changeset is not open.
    pub async fn discard(&self, id: &str, owner: &ChangesetOwner) -> Result<(), ChangesetError> {
        let found = self.0.find(id, owner).await?;
        if !self.0.records.discard(id).await? {
            return Err(self.0.not_open(id, owner).await);
        }
        let found = Arc::new(found);
        let remove = |found: &OpenChangeset| found.contents.remove_all();
        self.0.on_thread(&found, remove).await
    }
}

impl Inner {
    /// Runs work on the files of a changeset on a thread of the sandbox: it may read many files, or wait for
    /// another process.
    pub(crate) async fn on_thread<T: Send + 'static>(
        &self,
        found: &Arc<OpenChangeset>,
        work: impl FnOnce(&OpenChangeset) -> T + Send + 'static,
    ) -> Result<T, ChangesetError> {
        let (host, found) = (self.bundle.current().host(), Arc::clone(found));
        let done = host.sandbox().threads().wait(move || work(&found)).await;
        done.map_err(|error| ChangesetError::Host {
            reason: error.to_string(),
        })
    }

    async fn changes(&self, found: OpenChangeset) -> Result<Vec<ChangedFile>, ChangesetError> {
        let changes = |found: &OpenChangeset| found.merged().changes();
        self.on_thread(&Arc::new(found), changes).await?
    }

    /// Returns what the policy grants to the owner's agent.
    pub(crate) fn grant(&self, owner: &ChangesetOwner) -> Result<ChangesetGrant, ChangesetError> {
        let agent = self.bundle.current().agent(&owner.agent);
        let grant = agent
            .ok()
            .and_then(|agent| agent.changeset_grant().cloned());
        grant.ok_or_else(|| ChangesetError::NotGranted {
            agent: owner.agent.clone(),
        })
    }

    /// Opens the bundle's folder. It is refused where it contains what no tool may reach.
    pub(crate) fn workdir(&self) -> Result<Workdir, ChangesetError> {
        let bundle = self.bundle.current();
        Ok(bundle.host().workdir(folder_of(&bundle))?)
    }

    fn contents(&self, id: &str) -> Contents {
        Contents::of(&self.state_root, id)
    }

    /// Finds an open changeset of an owner whom the policy grants changesets.
    pub(crate) async fn find(
        &self,
        id: &str,
        owner: &ChangesetOwner,
    ) -> Result<OpenChangeset, ChangesetError> {
        self.grant(owner)?;
        let unknown = || ChangesetError::Unknown { id: id.to_owned() };
        let (mut state, mut rows) = self.records.find(id, owner).await?.ok_or_else(unknown)?;
        let workdir = self.workdir()?;
        let dir = workdir.as_fd().try_clone_to_owned();
        let dir = dir.map_err(ChangesetError::io("."))?;
        let mut found = OpenChangeset {
            bundle: DirView::new(
                Arc::new(cap_std::fs::Dir::from_std_file(dir.into())),
                ChangedFiles::default(),
            ),
            workdir,
            contents: self.contents(id),
            rows: FileRows::new(),
        };
        if let State::Committing { run_id } = &state
            && !self.is_committing(id, run_id).await?
        {
            // The process that committed has ended: what it left tells how far it came.
            found.rows = rows;
            self.recover(id, &found).await?;
            (state, rows) = self.records.find(id, owner).await?.ok_or_else(unknown)?;
        }
        if state != State::Open {
            return Err(not_open(id, &state));
        }
        found.rows = rows;
        Ok(found)
    }

    async fn is_committing(&self, id: &str, run_id: &str) -> Result<bool, ChangesetError> {
        let is_here = {
            let committing = self.committing.lock();
            let committing = committing.unwrap_or_else(PoisonError::into_inner);
            committing.contains(id)
        };
        Ok(is_here || self.records.is_elsewhere(run_id).await?)
    }

    /// Ends a commit whose process has ended: its renames were made, or were taken back when this process
    /// opened the state root.
    async fn recover(&self, id: &str, changeset: &OpenChangeset) -> Result<(), ChangesetError> {
        let committed = changeset.merged().is_applied();
        let state = if committed {
            Ended::Committed
        } else {
            Ended::Open
        };
        self.records.end_commit(id, state).await?;
        if committed {
            changeset.contents.remove_all();
        }
        tracing::info!(
            id,
            committed,
            "a commit whose process had ended was recovered"
        );
        Ok(())
    }

    pub(crate) async fn not_open(&self, id: &str, owner: &ChangesetOwner) -> ChangesetError {
        match self.records.find(id, owner).await {
            Ok(Some((state, _))) => not_open(id, &state),
            Ok(None) => ChangesetError::Unknown { id: id.to_owned() },
            Err(error) => error.into(),
        }
    }
}

fn not_open(id: &str, state: &State) -> ChangesetError {
    ChangesetError::NotOpen {
        id: id.to_owned(),
        state: state.text(),
    }
}

/// Returns the folder of a bundle, as it was given to the host.
pub(crate) fn folder_of(bundle: &LoadedBundle) -> PathBuf {
    let source = bundle.source();
    if source.is_dir() {
        return source.to_owned();
    }
    match source.parent() {
        Some(above) if !above.as_os_str().is_empty() => above.to_owned(),
        _ => PathBuf::from("."),
    }
}
