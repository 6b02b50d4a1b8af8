//! The counters of one call. They live outside the store, so that the usage is known after a trap, a
//! timeout or a dropped future.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use toolhost_contract::Attempts;
use toolhost_contract::Usage;
use toolhost_egress::HttpMeter;
use toolhost_files::{CallMemory, FileMeter};
use toolhost_runtime::{ComponentId, Quota};

use crate::Limits;
use crate::accounting::output::{LogSink, OutputMeter};
use crate::host::tools::port::OuterCall;

/// Counts what one call uses, against its limits.
#[derive(Debug)]
pub(crate) struct CallMeters {
    pub(crate) limits: Limits,
    pub(crate) attempts: Arc<Attempts>,
    pub(crate) memory: Arc<CallMemory>,
    pub(crate) files: Arc<FileMeter>,
    pub(crate) http: Arc<HttpMeter>,
    pub(crate) output: Arc<OutputMeter>,
    /// Whether a table of the guest could not grow.
    pub(crate) table_refused: AtomicBool,
}

impl CallMeters {
    /// Counts for a call of a component, and for the call that it is made by. `memory` and `open_files` are those of all
    /// calls.
    pub(crate) fn new(
        component: ComponentId,
        limits: Limits,
        memory: &Arc<Quota>,
        open_files: &Arc<Quota>,
        log: Option<LogSink>,
        outer: Option<&OuterCall>,
    ) -> Self {
        let attempts = Arc::new(Attempts::default());
        let call_memory = CallMemory::new(
            component,
            limits.memory_bytes,
            Arc::clone(memory),
            Arc::clone(&attempts),
        );
        let (files, tried) = (Arc::clone(open_files), Arc::clone(&attempts));
        let files = FileMeter::new(component, limits.clone(), files, tried);
        let of_files = outer.map(|outer| Arc::clone(&outer.files));
        let of_http = outer.map(|outer| Arc::clone(&outer.http));
        let http = HttpMeter::new(component, limits.clone()).within(of_http);
        Self {
            memory: Arc::new(call_memory),
            files: Arc::new(files.within(of_files)),
            http: Arc::new(http),
            output: Arc::new(OutputMeter::new(&limits, log)),
            attempts,
            table_refused: AtomicBool::new(false),
            limits,
        }
    }

    /// The usage so far.
    pub(crate) fn usage(&self, queued: Duration, wall: Duration) -> Usage {
        let mut usage = Usage::default();
        usage.wall = wall;
        usage.queued = queued;
        usage.memory_peak = self.memory.peak();
        self.files.add_to(&mut usage);
        self.http.add_to(&mut usage);
        self.output.add_to(&mut usage);
        usage.denials = self.attempts.denials();
        usage
    }
}
