//! Opens the store of pending calls when it is first needed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use tokio::sync::{OnceCell, oneshot};
use toolhost_contract::{Locale, ToolError, ToolErrorCode};
use toolhost_sandbox::Sandbox;
use toolhost_store::{Store, StoreError};

use super::calls::Pending;
use super::completion::Completions;
use super::record::{Handle, SCHEMA};
use crate::call::pending_port::{GuestPending, PendingPort};

/// How long a handle can be polled, by default.
pub(crate) const EXPIRY: Duration = Duration::from_secs(24 * 60 * 60);

/// The pending calls of a host: in the store of the state root, or in memory without one.
pub(crate) struct PendingCalls {
    sandbox: Sandbox,
    state_root: Option<PathBuf>,
    expiry: Duration,
    opened: OnceCell<Arc<Pending>>,
}

impl PendingCalls {
    pub(crate) fn new(sandbox: Sandbox, state_root: Option<PathBuf>, expiry: Duration) -> Self {
        Self {
            sandbox,
            state_root,
            expiry,
            opened: OnceCell::new(),
        }
    }

    /// Opens the store, once. `locale` is that of the results that the store makes.
    pub(super) async fn open(&self, locale: Locale) -> Result<&Arc<Pending>, ToolError> {
        let opened = self.opened.get_or_try_init(async || {
            let store = self.open_store().await?;
            Ok(Arc::new(Pending::new(store, locale, self.expiry)))
        });
        opened.await.map_err(|error: Option<StoreError>| {
            tracing::error!(?error, "the store of pending calls could not be opened");
            let message = "The host cannot keep pending calls now.";
            ToolError::host(ToolErrorCode::Host, message, locale)
        })
    }

    /// Opens the store on a thread that may wait for another process. The error is none if that thread
    /// panicked.
    async fn open_store(&self) -> Result<Store, Option<StoreError>> {
        let root = self.state_root.clone();
        let (send, opened) = oneshot::channel();
        self.sandbox.spawn_own(async move {
            let open = move || match root {
                Some(root) => Store::open(&root, &SCHEMA),
                None => Store::in_memory(&SCHEMA),
            };
            // The receiver may have been dropped.
            let _is_received = send.send(tokio::task::spawn_blocking(open).await).is_ok();
        });
        match opened.await {
            Ok(Ok(opened)) => opened.map_err(Some),
            Ok(Err(_)) | Err(_) => Err(None),
        }
    }

    /// Subscribes to completions, and looks for calls that dead processes left running.
    pub(crate) async fn completions(&self, locale: Locale) -> Result<Completions, ToolError> {
        let pending = Arc::clone(self.open(locale).await?);
        let completions = pending.announcer.subscribe();
        self.sandbox
            .spawn(async move { pending.tidy(SystemTime::now()).await });
        Ok(completions)
    }
}

impl PendingPort for PendingCalls {
    fn accept(&self, pending: GuestPending) -> BoxFuture<'_, Result<Handle, ToolError>> {
        Box::pin(async move { self.open(pending.locale).await?.accept_guest(pending).await })
    }
}
