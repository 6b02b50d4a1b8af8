//! What all clones of a handle share.

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, pending};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Mutex as AsyncMutex, OwnedMutexGuard, broadcast, oneshot};

use crate::clock::{Clock, millis, millis_of};
use crate::egress::OAuthEgress;
use crate::error::OAuthError;
use crate::store::{GrantKey, Tables};
use crate::token::Granted;

/// Time in which a server is not asked again to begin an authorization, after it failed.
const BEGIN_PAUSE: Duration = Duration::from_secs(10);

/// The state of a handle.
pub(crate) struct OAuthContext {
    pub(crate) tables: Tables,
    pub(crate) egress: OAuthEgress,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) session_time: Duration,
    pub(crate) granted: broadcast::Sender<Granted>,
    /// Authorizations that a server did not begin: until when it is not asked again, and why.
    pub(crate) unbegun: Mutex<HashMap<GrantKey, (i64, OAuthError)>>,
    /// One lock for each grant that is being refreshed or authorized.
    pub(crate) locks: Mutex<HashMap<GrantKey, Weak<AsyncMutex<()>>>>,
}

impl fmt::Debug for OAuthContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl OAuthContext {
    pub(crate) fn now_ms(&self) -> i64 {
        millis(self.clock.now())
    }

    /// Returns the lock that a task of this process holds while it refreshes or authorizes the grant.
    pub(crate) fn lock_of(&self, key: &GrantKey) -> Arc<AsyncMutex<()>> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = locks.get(key).and_then(Weak::upgrade) {
            return lock;
        }
        locks.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::new(AsyncMutex::new(()));
        locks.insert(key.clone(), Arc::downgrade(&lock));
        lock
    }

    pub(crate) async fn lock(&self, key: &GrantKey) -> OwnedMutexGuard<()> {
        self.lock_of(key).lock_owned().await
    }

    /// Runs work to its end, even if this future is dropped: a token that a server has sent is stored.
    pub(crate) async fn complete<T, E>(
        &self,
        work: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<OAuthError> + Send + 'static,
    {
        let (reply, replied) = oneshot::channel();
        self.egress.network.threads().spawn_own(async move {
            // The caller may have been dropped meanwhile.
            let _ = reply.send(work.await);
        });
        replied
            .await
            .unwrap_or_else(|_| Err(OAuthError::CutOff.into()))
    }

    /// Fails if the server did not begin an authorization shortly before: all who wait for it fail at once, and
    /// a server that is down is not asked with each call.
    pub(crate) fn check_begins(&self, key: &GrantKey) -> Result<(), OAuthError> {
        let now_ms = self.now_ms();
        let mut unbegun = self.unbegun.lock().unwrap_or_else(PoisonError::into_inner);
        unbegun.retain(|_, (until_ms, _)| *until_ms > now_ms);
        let refusal = unbegun.get(key).map(|(_, error)| Err(error.clone()));
        refusal.unwrap_or(Ok(()))
    }

    /// Records that the server did not begin an authorization.
    pub(crate) fn not_begun(&self, key: &GrantKey, error: &OAuthError) {
        let until_ms = self.now_ms().saturating_add(millis_of(BEGIN_PAUSE));
        let mut unbegun = self.unbegun.lock().unwrap_or_else(PoisonError::into_inner);
        unbegun.insert(key.clone(), (until_ms, error.clone()));
    }

    /// Waits, by the clock of the network's threads.
    pub(crate) async fn sleep(&self, time: Duration) {
        let _ = self
            .egress
            .network
            .threads()
            .within(time, pending::<()>())
            .await;
    }
}
