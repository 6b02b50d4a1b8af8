//! Counts the HTTP requests of a call, or one request of the host.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use toolhost_contract::http::Origin;
use toolhost_contract::{Limits, Usage};
use toolhost_runtime::{ComponentId, lock};

/// Counts HTTP requests against the limits of their sender.
#[derive(Debug)]
pub struct HttpMeter {
    /// The component that sends them; its connections count together.
    pub(crate) component: ComponentId,
    pub(crate) limits: Limits,
    requests: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
    /// The origins that answered 401 to a request with a credential of the host.
    unauthorized: Mutex<Vec<Origin>>,
    /// The meter of the call that made this one.
    outer: Option<Arc<HttpMeter>>,
}

impl HttpMeter {
    /// Counts for a call of a component, or for one request of an owner.
    pub fn new(component: ComponentId, limits: Limits) -> Self {
        Self {
            component,
            limits,
            requests: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
            unauthorized: Mutex::default(),
            outer: None,
        }
    }

    /// Counts for the call that made this one, too.
    #[must_use]
    pub fn within(mut self, outer: Option<Arc<Self>>) -> Self {
        self.outer = outer;
        self
    }

    /// Counts a request.
    ///
    /// # Errors
    /// The limit of the call, or of one around it, that has been reached.
    pub(crate) fn begin_request(&self) -> Result<(), u64> {
        let limit = self.limits.http_requests;
        let one_more = |sent: u64| (sent < limit).then_some(sent + 1);
        let counted = self.requests.fetch_update(Relaxed, Relaxed, one_more);
        counted.map_err(|_| limit)?;
        let Some(outer) = &self.outer else {
            return Ok(());
        };
        outer.begin_request().inspect_err(|_| {
            self.requests.fetch_sub(1, Relaxed);
        })
    }

    /// Counts bytes of a request's body.
    ///
    /// # Errors
    /// The limit that they exceed.
    pub(crate) fn count_sent(&self, bytes: usize) -> Result<(), u64> {
        self.count(
            |meter| &meter.sent,
            |limits| limits.http_request_bytes,
            bytes,
        )
    }

    /// Counts bytes of a response's body.
    ///
    /// # Errors
    /// The limit that they exceed.
    pub(crate) fn count_received(&self, bytes: usize) -> Result<(), u64> {
        self.count(
            |meter| &meter.received,
            |limits| limits.http_response_bytes,
            bytes,
        )
    }

    fn count(
        &self,
        sum: fn(&Self) -> &AtomicU64,
        limit: fn(&Limits) -> u64,
        bytes: usize,
    ) -> Result<(), u64> {
        let (more, most) = (bytes as u64, limit(&self.limits));
        let all = sum(self).fetch_add(more, Relaxed).saturating_add(more);
        let outer = self.outer.as_deref();
        let of_outer = outer.map_or(Ok(()), |outer| outer.count(sum, limit, bytes));
        if all > most { Err(most) } else { of_outer }
    }

    /// The limits of the sender.
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
