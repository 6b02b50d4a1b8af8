//! Running calls, most of which nobody observes.

use std::time::Instant;

use toolhost_contract::ToolResult;

use super::activity::Activity;
use crate::middleware::CallIdentity;

/// A running call. If nobody receives events or spans when it starts, it makes no event, no ids and no span.
/// A subscriber that comes while it runs gets its end event.
#[derive(Debug)]
pub(crate) struct CallActivity<'s> {
    step: &'s Activity,
    call: &'s CallIdentity,
    /// None if nobody observes the call, and once it has ended.
    observed: Option<Activity>,
    started_at: Instant,
    has_ended: bool,
}

impl Activity {
    /// Starts a call of this step.
    pub(crate) fn call<'s>(&'s self, call: &'s CallIdentity) -> CallActivity<'s> {
        CallActivity {
            step: self,
            call,
            observed: self.is_observed().then(|| self.start_call(call)),
            started_at: Instant::now(),
            has_ended: false,
        }
    }
}

impl CallActivity<'_> {
    /// Returns the span of the call.
    pub(crate) fn span(&self) -> tracing::Span {
        let observed = self.observed.as_ref();
        observed.map_or_else(tracing::Span::none, |activity| activity.span().clone())
    }

    /// Sends the end event of the call.
    pub(crate) fn end(mut self, result: &ToolResult) {
        self.has_ended = true;
        if let Some(activity) = self.take_observed() {
            activity.end_call(result);
        }
    }

    /// Returns the activity that sends the end event, if anybody receives it.
    fn take_observed(&mut self) -> Option<Activity> {
        let late = || {
            let step = self.step;
            let is_watched = step.is_watched();
            is_watched.then(|| step.unobserved_call(self.call, self.started_at))
        };
        self.observed.take().or_else(late)
    }
}

impl Drop for CallActivity<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            drop(self.take_observed());
        }
    }
}
