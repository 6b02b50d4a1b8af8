//! The reports of calls that ended lately: a call that is delivered again gets the same one.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use bytes::Bytes;
use toolhost_contract::WorkerCallId;

/// Most bytes of all reports.
const BYTES_MAX: usize = 64 << 20;

/// How long a report is kept.
const AGE_MAX: Duration = Duration::from_secs(600);

/// The reports, the oldest first.
#[derive(Default)]
pub(super) struct RecentReports {
    reports: HashMap<WorkerCallId, Bytes>,
    by_age: VecDeque<(Instant, WorkerCallId)>,
    bytes: usize,
}

impl RecentReports {
    pub(super) fn add(&mut self, id: &WorkerCallId, report: Bytes) {
        self.bytes += report.len();
        self.by_age.push_back((Instant::now(), id.clone()));
        if let Some(former) = self.reports.insert(id.clone(), report) {
            self.bytes -= former.len();
        }
        while let Some((added, _)) = self.by_age.front()
            && (self.bytes > BYTES_MAX || added.elapsed() > AGE_MAX)
        {
            let oldest = self.by_age.pop_front();
            let removed = oldest.and_then(|(_, id)| self.reports.remove(&id));
            self.bytes -= removed.map_or(0, |report| report.len());
        }
    }

    pub(super) fn get(&self, id: &WorkerCallId) -> Option<Bytes> {
        self.reports.get(id).cloned()
    }
}
