//! Counts the HTTP requests of a call, or one request of the host.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use toolhost_contract::http::Origin;
use toolhost_contract::{Limits, Usage};
use toolhost_runtime::{ComponentId, lock};

/// Counts HTTP requests against the limits of their sender.
#[derive(Debug)]
pub struct HttpMeter {
    /// The component that sends them; its connections count together.
    pub(crate) component: ComponentId,
    pub(crate) limits: Limits,
    pub(crate) requests: AtomicU64,
    pub(crate) sent: AtomicU64,
    pub(crate) received: AtomicU64,
    /// The origins that answered 401 to a request with a credential of the host.
    unauthorized: Mutex<Vec<Origin>>,
}

impl HttpMeter {
    /// Counts for a call of a component, or for one request of an owner.
    #[must_use]
    pub fn new(component: ComponentId, limits: Limits) -> Self {
        Self {
            component,
            limits,
            requests: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            unauthorized: Mutex::default(),
        }
    }

    /// The limits of the sender.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Records that an origin answered 401 to a request with a credential of the host. The grants of a call name
    /// few origins that have one.
    pub(crate) fn note_unauthorized(&self, origin: &Origin) {
        let mut unauthorized = lock(&self.unauthorized);
        if !unauthorized.contains(origin) {
            unauthorized.push(origin.clone());
        }
    }

    /// Returns the origins that answered 401 to a request with a credential of the host.
    pub fn take_unauthorized(&self) -> Vec<Origin> {
        std::mem::take(&mut *lock(&self.unauthorized))
    }

    /// Adds what was used so far.
    pub fn add_to(&self, usage: &mut Usage) {
        usage.http_requests = self.requests.load(Relaxed);
        usage.http_sent = self.sent.load(Relaxed);
        usage.http_received = self.received.load(Relaxed);
    }
}
