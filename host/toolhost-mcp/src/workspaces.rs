//! The workspaces of instances, opened when they are first needed and kept open.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};

use toolhost::{LoadedBundle, Workdir};

use crate::instance_error::InstanceError;

/// Workspaces that are kept open, with a file descriptor each.
const OPEN_MAX: usize = 256;

/// The open workspaces.
#[derive(Debug, Default)]
pub(crate) struct Workspaces {
    open: Mutex<HashMap<Arc<str>, Workdir>>,
    /// Held while a workspace is made.
    making: Mutex<()>,
}

impl Workspaces {
    /// Returns the workspace of an instance. Makes it if it is missing and the bundle has fewer than `max`
    /// instances.
    pub(crate) async fn open(
        self: &Arc<Self>,
        bundle: &LoadedBundle,
        key: &str,
        max: usize,
    ) -> Result<Workdir, InstanceError> {
        if let Some(workdir) = self.opened(key) {
            return Ok(workdir);
        }
        let (own, bundle, key): (_, _, Arc<str>) = (Arc::clone(self), bundle.clone(), key.into());
        let opened = tokio::task::spawn_blocking(move || {
            let workdir = own.make(&bundle, &key, max)?;
            own.insert(key, &workdir);
            Ok(workdir)
        });
        opened.await.unwrap_or(Err(InstanceError::Interrupted))
    }

    fn opened(&self, key: &str) -> Option<Workdir> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let workdir = open.get(key)?;
        if is_deleted(workdir) {
            open.remove(key);
            return None;
        }
        Some(workdir.clone())
    }

    fn insert(&self, key: Arc<str>, workdir: &Workdir) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= OPEN_MAX {
            // Calls that run hold theirs.
            open.clear();
        }
        open.insert(key, workdir.clone());
    }

    fn make(&self, bundle: &LoadedBundle, key: &str, max: usize) -> Result<Workdir, InstanceError> {
        let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let exists = bundle.instance_path(key)?.exists();
        if !exists && bundle.instance_count()? >= max {
            return Err(InstanceError::TooMany { max });
        }
        Ok(bundle.instance_workspace(key)?)
    }
}

/// Returns whether the directory was removed since it was opened.
fn is_deleted(workdir: &Workdir) -> bool {
    let found = |workdir: &Workdir| {
        let directory = workdir.as_fd().try_clone_to_owned()?;
        File::from(directory).metadata()
    };
    found(workdir).is_ok_and(|found| found.nlink() == 0)
}
