//! How the executor stores a component's pending handle.

use futures_util::future::BoxFuture;
use toolhost_contract::{Locale, ToolError};

use crate::pending::record::{Handle, Owner, PendingCall};

/// A component's answer `pending`, to be stored.
pub(crate) struct GuestPending {
    pub(crate) owner: Owner,
    pub(crate) call: PendingCall,
    /// The component's own handle.
    pub(crate) guest_handle: String,
    /// The host's handle, if the call runs in the background and already has one.
    pub(crate) background: Option<Handle>,
    pub(crate) locale: Locale,
}

/// Stores pending calls. A trait, because the implementation depends on the executor.
pub(crate) trait PendingPort: Send + Sync {
    /// Stores a component's handle, and returns the host's handle for it.
    fn accept(&self, pending: GuestPending) -> BoxFuture<'_, Result<Handle, ToolError>>;
}
