//! Clients that subscribe to files of their workdir.
//!
//! A file is looked at when a call of its instance has ended: its inode, its size and the time of its last
//! change. What changes it in another way is noticed then.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use cap_primitives::fs::MetadataExt;
use cap_std::fs::Dir;
use rmcp::model::ErrorData;
use tokio::runtime::Handle;
use toolhost::{Instance, Workdir};

use crate::files::{Files, path_of};
use crate::shared::ServedState;
use crate::subscriptions::{ChangeListener, FileState, FileStates, Subscription};

/// Longest URI of a subscription, in bytes.
const URI_BYTES_MAX: usize = 1024;

/// A client that may subscribe. Its subscriptions end with this.
pub(super) struct Subscriber {
    shared: Arc<ServedState>,
    id: u64,
}

impl Subscriber {
    pub(super) fn new(shared: &Arc<ServedState>) -> Self {
        Self {
            id: shared.subscriptions.next_subscriber(),
            shared: Arc::clone(shared),
        }
    }

    /// Subscribes to a file. It need not exist yet. A second subscription to the same file changes nothing.
    ///
    /// # Errors
    /// An error for the client if the URI names no file of a workdir, or is one too many.
    pub(super) async fn add(
        &self,
        instance: &Instance,
        uri: &str,
        client: ChangeListener,
    ) -> Result<(), ErrorData> {
        let Some(path) = watched_path(uri) else {
            let message = format!("{uri:.100} names no file that can be watched");
            return Err(ErrorData::invalid_params(message, None));
        };
        let workdir = instance.workdir().clone();
        let looked = (workdir.clone(), BTreeSet::from([path.clone()]));
        let reading = self.shared.read_files(move || states(&looked.0, looked.1));
        let Some(Ok(states)) = reading.await else {
            let message = "the workdir cannot be read";
            return Err(ErrorData::internal_error(message, None));
        };
        let subscription = Subscription {
            subscriber: self.id,
            uri: uri.to_owned(),
            state: states.get(&path).copied().flatten(),
            path,
            client,
        };
        let subscriptions = &self.shared.subscriptions;
        subscriptions.insert(instance.key(), workdir, subscription)
    }

    /// Ends the subscription to a file, if there is one.
    pub(super) fn remove(&self, uri: &str) {
        let subscriptions = &self.shared.subscriptions;
        subscriptions.remove(|it| it.subscriber == self.id && it.uri == uri);
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        let subscriptions = &self.shared.subscriptions;
        subscriptions.remove(|it| it.subscriber == self.id);
    }
}

/// Returns the path of the file that a URI names, if clients may subscribe to it.
pub(super) fn watched_path(uri: &str) -> Option<String> {
    (uri.len() <= URI_BYTES_MAX).then(|| path_of(uri))?
}

/// Has the files of an instance looked at when a call has ended: when this is dropped.
pub(super) struct LookAfterCall {
    shared: Arc<ServedState>,
    key: Arc<str>,
}

impl LookAfterCall {
    pub(super) fn of(shared: &Arc<ServedState>, key: &str) -> Self {
        Self {
            shared: Arc::clone(shared),
            key: key.into(),
        }
    }
}

impl Drop for LookAfterCall {
    fn drop(&mut self) {
        // Without a runtime the process ends, and nobody can be notified.
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        if self.shared.subscriptions.is_to_be_looked_at(&self.key) {
            let (shared, key) = (Arc::clone(&self.shared), Arc::clone(&self.key));
            runtime.spawn(async move { look(&shared, &key).await });
        }
    }
}

/// Looks at the files of an instance until no call has ended meanwhile, and notifies of those that have
/// changed.
async fn look(shared: &ServedState, key: &str) {
    while let Some((workdir, paths)) = shared.subscriptions.next_look(key) {
        let reading = shared.read_files(move || states(&workdir, paths));
        let Some(Ok(states)) = reading.await else {
            continue;
        };
        shared.subscriptions.notify(key, &states).await;
    }
}

fn states(workdir: &Workdir, paths: BTreeSet<String>) -> io::Result<FileStates> {
    let directory = Files::of(workdir).directory()?;
    let with_state = |path: String| {
        let state = state(&directory, &path);
        (path, state)
    };
    Ok(paths.into_iter().map(with_state).collect())
}

fn state(directory: &Dir, path: &str) -> Option<FileState> {
    let metadata = directory.metadata(path).ok()?;
    Some((
        metadata.ino(),
        metadata.len(),
        metadata.mtime(),
        metadata.mtime_nsec(),
    ))
}
