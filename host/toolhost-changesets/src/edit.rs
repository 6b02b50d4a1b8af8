//! Reads and changes the files of an open changeset.

use toolhost_files::EntryKind as Kind;

use crate::changesets::{Changesets, Inner, OpenChangeset, Version};
use crate::entry::{Digest, Entry, digest};
use crate::error::{ChangesetError, unfit};
use crate::files::{digest_at, kind, read};
use crate::host_source;
use crate::limits::{BYTES_MAX, FILE_BYTES_MAX, FILES_MAX};
use crate::owner::ChangesetOwner;
use crate::path::{self, Access};
use crate::records::{FileRow, FileVersion};

impl Changesets {
    /// Lists a folder as the changeset leaves it. `path` is from the bundle's folder; empty for that itself.
    ///
    /// # Errors
    /// [`ChangesetError`] where the changeset is not open, or there is no such folder.
    pub async fn list_files(
        &self,
        id: &str,
        owner: &ChangesetOwner,
        path: &str,
    ) -> Result<Vec<Entry>, ChangesetError> {
        let path = path::parse_folder(path)?;
        self.0.find(id, owner).await?.merged().list(&path)
    }

    /// Reads a file, and notes which version of the bundle's file the changeset has seen: if the bundle has
    /// another one by the commit, that is a conflict.
    ///
    /// # Errors
    /// [`ChangesetError`] where the changeset is not open, or there is no such file.
    pub async fn read(
        &self,
        id: &str,
        owner: &ChangesetOwner,
        path: &str,
        version: Version,
    ) -> Result<Vec<u8>, ChangesetError> {
        let path = path::parse(path, Access::Read)?;
        let found = self.0.find(id, owner).await?;
        let (row, is_known) = match found.rows.get(&path) {
            Some(row) => (row.version.clone(), true),
            None => (FileVersion::Bundle, false),
        };
        let bytes = match version {
            Version::Bundle => read(&found.bundle, &path)?,
            Version::Changeset => read(&found.merged().view()?, &path)?,
        };
        let is_of_bundle = version == Version::Bundle || row == FileVersion::Bundle;
        // What a changeset has not written is what the bundle has now.
        if is_of_bundle && (bytes.is_some() || is_known) {
            let base = bytes.as_deref().map(digest);
            self.0.set(id, &found, &path, base, row).await?;
        }
        bytes.ok_or(ChangesetError::NotFound { path })
    }

    /// Writes a file of the changeset. The bundle does not change.
    ///
    /// # Errors
    /// [`ChangesetError`] where the changeset is not open, the policy does not grant the path, it is not a
    /// file's, or a limit is exceeded.
    pub async fn write(
        &self,
        id: &str,
        owner: &ChangesetOwner,
        path: &str,
        bytes: &[u8],
    ) -> Result<(), ChangesetError> {
        let path = self.0.writable(owner, path)?;
        let found = self.0.find(id, owner).await?;
        found.merged().check_writable(&path)?;
        host_source::refuse(&path, &found.bundle)?;
        let others = found.rows.iter().filter(|(file, _)| **file != path);
        let others = others.filter_map(|(_, row)| match &row.version {
            FileVersion::Content(name) => Some(found.contents.bytes(name)),
            FileVersion::Bundle | FileVersion::Deleted => None,
        });
        let bytes_of_all = others.sum::<u64>() + bytes.len() as u64;
        if bytes.len() as u64 > FILE_BYTES_MAX || bytes_of_all > BYTES_MAX {
            return Err(ChangesetError::TooLarge { path });
        }
        let base = found.base(&path)?;
        let name = found.contents.write(bytes)?;
        let content = FileVersion::Content(name.clone());
        let set = self.0.set(id, &found, &path, base, content).await;
        match (&set, found.rows.get(&path)) {
            (Err(_), _) => found.contents.remove(&name),
            (Ok(()), Some(row)) => found.remove_content(row),
            (Ok(()), None) => {}
        }
        set
    }

    /// Deletes a file of the changeset. The bundle does not change.
    ///
    /// # Errors
    /// [`ChangesetError`] where the changeset is not open, the policy does not grant the path, or there is no
    /// such file.
    pub async fn delete(
        &self,
        id: &str,
        owner: &ChangesetOwner,
        path: &str,
    ) -> Result<(), ChangesetError> {
        let path = self.0.writable(owner, path)?;
        let found = self.0.find(id, owner).await?;
        if read(&found.merged().view()?, &path)?.is_none() {
            return Err(match kind(&found.bundle, &path)? {
                Some(kind) if kind != Kind::File => unfit(&path, kind),
                _ => ChangesetError::NotFound { path },
            });
        }
        let base = found.base(&path)?;
        let deleted = FileVersion::Deleted;
        self.0.set(id, &found, &path, base, deleted).await?;
        if let Some(row) = found.rows.get(&path) {
            found.remove_content(row);
        }
        Ok(())
    }
}

impl Inner {
    /// Returns the form of a path that the owner may write.
    fn writable(&self, owner: &ChangesetOwner, path: &str) -> Result<String, ChangesetError> {
        let grant = self.grant(owner)?;
        let path = path::parse(path, Access::Write)?;
        if grant.allows(&path) {
            Ok(path)
        } else {
            Err(ChangesetError::NotGrantedPath {
                agent: owner.agent.clone(),
                path,
            })
        }
    }

    /// Sets the row of a file of an open changeset.
    async fn set(
        &self,
        id: &str,
        found: &OpenChangeset,
        path: &str,
        base: Option<Digest>,
        version: FileVersion,
    ) -> Result<(), ChangesetError> {
        if found.rows.len() >= FILES_MAX && !found.rows.contains_key(path) {
            return Err(ChangesetError::TooManyFiles);
        }
        let row = FileRow { base, version };
        if found.rows.get(path) == Some(&row) {
            return Ok(());
        }
        if self.records.set_file(id, path, row).await? {
            Ok(())
        } else {
            Err(ChangesetError::NotOpen {
                id: id.to_owned(),
                state: "closed",
            })
        }
    }
}

impl OpenChangeset {
    /// Returns the digest of the bundle's file that the changeset has seen: now, if it has seen none.
    fn base(&self, path: &str) -> Result<Option<Digest>, ChangesetError> {
        match self.rows.get(path) {
            Some(row) => Ok(row.base),
            None => digest_at(&self.bundle, path),
        }
    }

    fn remove_content(&self, row: &FileRow) {
        if let FileVersion::Content(name) = &row.version {
            self.contents.remove(name);
        }
    }
}
