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
        if let Some(workdir) = self.open_workdir(key) {
            return Ok(workdir);
        }
        let (workspaces, bundle, key) = (Arc::clone(self), bundle.clone(), Arc::from(key));
        let making = tokio::task::spawn_blocking(move || {
            let workdir = workspaces.make(&bundle, &key, max)?;
            workspaces.insert(key, &workdir);
            Ok(workdir)
        });
        making.await.unwrap_or(Err(InstanceError::Interrupted))
    }

    fn open_workdir(&self, key: &str) -> Option<Workdir> {
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
    let directory = workdir.as_fd().try_clone_to_owned();
    let metadata = directory.and_then(|directory| File::from(directory).metadata());
    metadata.is_ok_and(|metadata| metadata.nlink() == 0)
}
