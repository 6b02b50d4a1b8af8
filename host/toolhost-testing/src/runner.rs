//! Plans and runs the cases of one bundle.

mod log_capture;
mod plan;
mod run;
mod session;
mod stub_server;

use std::path::Path;
use std::sync::Arc;

use toolhost::{Diagnostic, Host, HostError, LoadedBundle, Policy};

use crate::case_files::CaseFiles;
use crate::case_report::CaseReport;
use crate::planned_case::PlannedCase;
use session::TestSession;

pub use plan::Selection;
pub use session::OpenError;

/// Runs the cases of one bundle, each in a fresh workdir and for an agent instance of its own.
#[derive(Debug)]
pub struct Runner {
    session: Arc<TestSession>,
}

impl Runner {
    /// Loads the bundle at `bundle` under `policy`, the policy of the run.
    ///
    /// `make_host` builds a host with the given policy. It is called once for the run, and once for each
    /// case that has a policy of its own or may send HTTP requests; the hosts should share one sandbox.
    ///
    /// # Errors
    /// [`OpenError`] if the bundle does not load, or there is no place to run cases in.
    pub async fn open(
        bundle: &Path,
        policy: Option<Policy>,
        make_host: impl Fn(Policy) -> Result<Host, HostError> + Send + Sync + 'static,
    ) -> Result<Self, OpenError> {
        let session = TestSession::open(bundle, policy, Box::new(make_host)).await?;
        Ok(Self {
            session: Arc::new(session),
        })
    }

    /// The bundle, loaded under the policy of the run.
    #[must_use]
    pub fn bundle(&self) -> &LoadedBundle {
        &self.session.bundle
    }

    /// Returns the selected cases: those of the case files, then those generated from schemas.
    ///
    /// # Errors
    /// Findings, if a case names a tool or an agent that the bundle lacks.
    pub fn plan(
        &self,
        files: &CaseFiles,
        selection: &Selection,
    ) -> Result<Vec<PlannedCase>, Vec<Diagnostic>> {
        plan::plan(&self.session, files, selection)
    }

    /// Runs cases, as many at once as there are processors. Returns the results in the order of `cases`.
    pub async fn run(&self, cases: Vec<PlannedCase>) -> Vec<CaseReport> {
        run::run_all(cases, &self.session).await
    }
}
