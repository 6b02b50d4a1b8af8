//! Counts the HTTP requests of a call, or one request of the host.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use toolhost_contract::http::Origin;
use toolhost_contract::{Limits, Usage};
use toolhost_runtime::{ComponentId, Quota, lock};

use toolhost_contract::Attempts;

/// Counts HTTP requests against the limits of their sender.
#[derive(Debug)]
pub(crate) struct HttpMeter {
    /// The component that sends them; its connections count together.
    pub(super) component: ComponentId,
    pub(super) limits: Limits,
    pub(super) attempts: Arc<Attempts>,
    pub(super) requests: AtomicU64,
    pub(super) sent: AtomicU64,
    pub(super) received: AtomicU64,
    /// The open files of the sandbox: each connection is one.
    pub(super) open_files: Arc<Quota>,
    /// The origins that answered 401 to a request with a credential of the host.
    unauthorized: Mutex<Vec<Origin>>,
}

impl HttpMeter {
    pub(crate) fn new(
        component: ComponentId,
        limits: Limits,
        open_files: Arc<Quota>,
        attempts: Arc<Attempts>,
    ) -> Self {
        Self {
            component,
            limits,
            attempts,
            requests: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            open_files,
            unauthorized: Mutex::default(),
        }
    }

    /// Records that an origin answered 401 to a request with a credential of the host. The grants of a call name
    /// few origins that have one.
    pub(super) fn note_unauthorized(&self, origin: &Origin) {
        let mut unauthorized = lock(&self.unauthorized);
        if !unauthorized.contains(origin) {
            unauthorized.push(origin.clone());
        }
    }

    /// Returns the origins that answered 401 to a request with a credential of the host.
    pub(crate) fn take_unauthorized(&self) -> Vec<Origin> {
        std::mem::take(&mut *lock(&self.unauthorized))
    }

    /// Adds what was used so far.
    pub(crate) fn add_to(&self, usage: &mut Usage) {
        usage.http_requests = self.requests.load(Relaxed);
        usage.http_sent = self.sent.load(Relaxed);
        usage.http_received = self.received.load(Relaxed);
    }
}
