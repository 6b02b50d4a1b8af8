//! Commits a changeset.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use toolhost::manifest::{Diagnostic, Place};
use toolhost::workdir::{
    CommitError, FileReplacement, ReplaceFilesError, ReplacedFiles, StagingRoot,
};
use toolhost::{LoadError, LoadedBundle, ToolErrorCode};

use crate::changesets::{Inner, OpenChangeset, folder_of};
use crate::error::{ChangesetError, with_causes};
use crate::host_source;
use crate::outcome::{ChangedFile, CommitOutcome};
use crate::owner::ChangesetOwner;
use crate::path::{self, Access};
use crate::records::{Ended, FileRow, FileVersion};

/// Marks a changeset as being committed by this process, until it is dropped.
struct Committing<'a> {
    all: &'a Mutex<HashSet<String>>,
    id: &'a str,
}

impl<'a> Committing<'a> {
    fn begin(all: &'a Mutex<HashSet<String>>, id: &'a str) -> Self {
        let mut set = all.lock().unwrap_or_else(PoisonError::into_inner);
        set.insert(id.to_owned());
        Self { all, id }
    }
}

impl Drop for Committing<'_> {
    fn drop(&mut self) {
        let mut set = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        set.remove(self.id);
    }
}

impl Inner {
    pub(crate) async fn commit(
        &self,
        id: &str,
        owner: &ChangesetOwner,
    ) -> Result<CommitOutcome, ChangesetError> {
        let mut found = self.find(id, owner).await?;
        let committing = Committing::begin(&self.committing, id);
        let Some(rows) = self.records.begin_commit(id).await? else {
            return Err(self.not_open(id, owner).await);
        };
        // From here on, the files of the changeset do not change.
        found.rows = rows;
        let found = Arc::new(found);
        let mut changes = Vec::new();
        let next = async |current: LoadedBundle| {
            let (next, changed) = apply(self, id, &found, &current).await?;
            changes = changed;
            Ok::<_, CommitOutcome>(next)
        };
        let updated = self.bundle.update(next).await;
        let ended = match updated {
            Ok(_) => Ended::Committed,
            Err(_) => Ended::Open,
        };
        self.records.end_commit(id, ended).await?;
        drop(committing);
        Ok(match updated {
            Ok(bundle) => {
                self.on_thread(&found, |found| found.contents.remove_all())
                    .await?;
                let diagnostics = bundle.diagnostics().to_vec();
                CommitOutcome::Ok {
                    changes,
                    diagnostics,
                }
            }
            Err(outcome) => outcome,
        })
    }
}

/// Changes the files of the bundle, and returns it as it was loaded with them.
async fn apply(
    changesets: &Inner,
    id: &str,
    found: &Arc<OpenChangeset>,
    current: &LoadedBundle,
) -> Result<(LoadedBundle, Vec<ChangedFile>), CommitOutcome> {
    let failed = |error: ChangesetError| CommitOutcome::failed(with_causes(&error));
    let read = changesets.on_thread(found, |found| -> Result<_, ChangesetError> {
        check_paths(found)?;
        let merged = found.merged();
        let conflicts = merged.conflicts();
        if !conflicts.is_empty() {
            return Ok(Err(conflicts));
        }
        Ok(Ok((merged.changes()?, merged.changed_files()?)))
    });
    let read = read.await.flatten().map_err(failed)?;
    let (changes, files) =
        read.map_err(|conflicts| CommitOutcome::conflict(conflicts.into_iter().collect()))?;
    // Nothing on the disk has changed yet. The load keeps its components for the one after the renames.
    let aside = current.reload_with(files).await;
    let aside = aside.map_err(|error| rejected(current, error))?;
    let (staging, label) = (changesets.staging.clone(), format!("commit of {id}"));
    let replace = move |found: &OpenChangeset| replace(&staging, &label, found);
    let replaced = changesets.on_thread(found, replace).await;
    let replaced = replaced.map_err(failed)??;
    match aside.reload().await {
        Ok(next) => Ok((next, changes)),
        // Another program has changed a file that the changeset does not.
        Err(error) => {
            let undo = |_: &OpenChangeset| replaced.undo().map_err(|error| with_causes(&error));
            let undone = changesets.on_thread(found, undo).await;
            let undone = undone.map_err(|error| with_causes(&error)).flatten();
            let error = match undone {
                Ok(()) => format!("the bundle did not load after its files were changed: {error}"),
                Err(undo) => format!(
                    "the bundle does not load after its files were changed, and they could not be changed \
                     back ({undo}): {error}"
                ),
            };
            Err(CommitOutcome::failed(error))
        }
    }
}

/// Checks again what was written: another version of the host may have written it, and the author may have added a
/// build script since.
fn check_paths(found: &OpenChangeset) -> Result<(), ChangesetError> {
    for (path, row) in &found.rows {
        match row.version {
            FileVersion::Bundle => {}
            FileVersion::Deleted => drop(path::parse(path, Access::Write)?),
            FileVersion::Content(_) => {
                path::parse(path, Access::Write)?;
                host_source::refuse(path, &found.bundle)?;
            }
        }
    }
    Ok(())
}

/// Puts the files of a changeset in the place of the bundle's.
fn replace(
    staging: &StagingRoot,
    label: &str,
    found: &OpenChangeset,
) -> Result<ReplacedFiles, CommitOutcome> {
    let file = |(path, row): (&String, &FileRow)| {
        let content = match &row.version {
            FileVersion::Bundle => return None,
            FileVersion::Content(name) => Some(name.clone()),
            FileVersion::Deleted => None,
        };
        Some(FileReplacement {
            path: path.clone(),
            content,
            expected: row.base,
        })
    };
    let files: Vec<_> = found.rows.iter().filter_map(file).collect();
    let contents = found.contents.dir();
    let replaced = found
        .workdir
        .replace_files(staging, contents, &files, label);
    replaced.map_err(|error| {
        if let ReplaceFilesError::Commit(CommitError::Conflict { files }) = error {
            return CommitOutcome::conflict(files);
        }
        CommitOutcome::failed(with_causes(&error))
    })
}

/// Returns the outcome of a changeset with which the bundle does not load.
fn rejected(bundle: &LoadedBundle, error: LoadError) -> CommitOutcome {
    if let LoadError::Invalid { diagnostics, .. } = error {
        return CommitOutcome::rejected(diagnostics);
    }
    // The manifest itself cannot be read.
    let place = Place::file(folder_of(bundle).display().to_string());
    let code = ToolErrorCode::ConfigParse;
    let finding = Diagnostic::error(code, place, with_causes(&error)).with_help(error.help());
    CommitOutcome::rejected(vec![finding])
}
