//! The current load of a bundle, which is replaced as a whole when the bundle is loaded again.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::{Mutex, watch};
use toolhost_manifest::bundle::LoadError;

use crate::loaded_bundle::LoadedBundle;

/// Holds the current load of a bundle. Cheap to clone; all clones hold the same.
///
/// A front end takes the bundle with [`Self::current`] at the beginning of each request or turn, and so
/// sees a whole bundle with one policy. What began with an earlier one continues with it.
///
/// ```no_run
/// # async fn example(host: toolhost::Host) -> Result<(), Box<dyn std::error::Error>> {
/// use toolhost::LiveBundle;
///
/// let live = LiveBundle::new(host.load("goondan.yaml").await?);
/// let mut changes = live.changes();
/// live.reload().await?; // an error leaves the current bundle in place
/// let bundle = changes.changed().await;
/// println!("{} tools", bundle.only_agent()?.catalog().items().len());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct LiveBundle(Arc<LiveInner>);

struct LiveInner {
    current: RwLock<LoadedBundle>,
    /// Held while the next one is prepared.
    updating: Mutex<()>,
    changes: watch::Sender<u64>,
}

impl fmt::Debug for LiveBundle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LiveBundle").field(&self.current()).finish()
    }
}

impl LiveBundle {
    /// Holds a bundle that was loaded.
    pub fn new(bundle: LoadedBundle) -> Self {
        Self(Arc::new(LiveInner {
            changes: bundle.0.overlays.changes.clone(),
            current: RwLock::new(bundle),
            updating: Mutex::new(()),
        }))
    }

    /// Returns the current bundle.
    pub fn current(&self) -> LoadedBundle {
        let current = self.0.current.read();
        current.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Loads the bundle again with [`LoadedBundle::reload`] and makes it the current one, which this
    /// returns.
    ///
    /// # Errors
    /// [`LoadError`] contains all findings at once. The current bundle stays.
    pub async fn reload(&self) -> Result<LoadedBundle, LoadError> {
        self.update(|current| async move { current.reload().await })
            .await
    }

    /// Makes the bundle that `next` returns the current one, and returns it. `next` gets the current
    /// bundle, and may prepare another in any way: under another policy, or with extensions of agents
    /// that are new. One update runs at a time; others wait for it. If the future is dropped, the current
    /// bundle stays.
    ///
    /// The bundle must be a [reload](LoadedBundle::reload) of the current one, or
    /// [`Self::changes`] no longer reports what its extensions change.
    ///
    /// ```no_run
    /// # async fn example(live: toolhost::LiveBundle, policy: toolhost::Policy) {
    /// let updated = live.update(|current| async move {
    ///     let host = current.host().with_policy(policy);
    ///     host.reload(&current).await
    /// });
    /// if let Err(error) = updated.await {
    ///     eprintln!("{error}; the earlier bundle and policy stay");
    /// }
    /// # }
    /// ```
    ///
    /// # Errors
    /// The error of `next`. The current bundle stays.
    pub async fn update<F, E>(
        &self,
        next: impl FnOnce(LoadedBundle) -> F,
    ) -> Result<LoadedBundle, E>
    where
        F: Future<Output = Result<LoadedBundle, E>>,
    {
        let _updating = self.0.updating.lock().await;
        let next = next(self.current()).await?;
        let old = self.replace(next.clone());
        // Outside the lock: the last holder frees the code of the components.
        drop(old);
        self.0.changes.send_modify(|count| *count += 1);
        Ok(next)
    }

    /// Unloads the current bundle: see [`LoadedBundle::unload`]. Loads that were replaced before end by
    /// themselves. [`Self::current`] returns the unloaded bundle, whose agents refuse turns, until
    /// [`Self::reload`] or [`Self::update`] makes another one current.
    pub async fn unload(&self) {
        let _updating = self.0.updating.lock().await;
        self.current().unload().await;
        self.0.changes.send_modify(|count| *count += 1);
    }

    fn replace(&self, next: LoadedBundle) -> LoadedBundle {
        let current = self.0.current.write();
        let mut current = current.unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut current, next)
    }

    /// Reports changes from now on.
    pub fn changes(&self) -> BundleChanges {
        BundleChanges {
            count: self.0.changes.subscribe(),
            live: self.clone(),
        }
    }
}

/// Reports when the current bundle of a [`LiveBundle`] changes. Keeps the bundle alive.
#[derive(Debug)]
pub struct BundleChanges {
    count: watch::Receiver<u64>,
    live: LiveBundle,
}

impl BundleChanges {
    /// Waits until the current bundle was replaced, or an extension of one of its agents registered or
    /// removed tools or middleware. Returns the current bundle. Several changes may be reported as one,
    /// and a change need not concern the catalog of each agent: compare [`Agent::catalog`].
    ///
    /// Cancel-safe: dropping the future loses nothing.
    ///
    /// [`Agent::catalog`]: crate::Agent::catalog
    pub async fn changed(&mut self) -> LoadedBundle {
        // The sender is dropped after the bundle, which this keeps alive.
        let _is_open = self.count.changed().await.is_ok();
        self.live.current()
    }
}
