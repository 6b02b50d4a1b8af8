//! Runs of components on workers.

use std::os::fd::AsFd;

use rustix::fs::{Stat, fstat, stat};
use toolhost_contract::{
    ToolError, ToolErrorCode, WORKER_VERSION, WorkerCall, WorkerCallId, WorkerReport,
};
use toolhost_manifest::policy::Placement;
use toolhost_sandbox::Operation;
use toolhost_store::random_text;

use super::repeat::Repeat;
use super::run::{ComponentRun, RunEnd};
use crate::workers::carrier::{Destination, Route};
use crate::workers::origin::{NoReport, Origin};

/// The import of a component that uses files.
const FILES: &str = "wasi:filesystem/types@";

impl ComponentRun<'_> {
    /// Returns where the run takes place; none for the host. A part of a transaction of a call around it runs where that one
    /// does.
    pub(super) fn destination(&self) -> Option<(&Origin, Destination)> {
        let origin = self.turn.agent().host.origin.as_deref()?;
        let stays = self.inner.is_some() || self.consent.is_some() || self.joins_transaction();
        let destination = match &self.permit.placement {
            Placement::Local => return None,
            Placement::Any => Destination::Any,
            Placement::Label(label) => Destination::Label(label.clone()),
        };
        (!stays).then_some((origin, destination))
    }

    /// Runs the component on a worker.
    pub(super) async fn run_on_worker(
        &self,
        (origin, to): (&Origin, Destination),
        operation: &Operation,
    ) -> RunEnd {
        let call = match self.worker_call(origin, operation) {
            Ok(call) => call,
            Err(error) => return RunEnd::refused(error),
        };
        let route = Route {
            terms: call.terms.clone(),
            to,
        };
        let id = call.id.clone();
        match origin.run(&route, call).await {
            Ok(report) => end_of(report),
            Err(no_report) => self.without_report(&id, no_report).await,
        }
    }

    fn worker_call(&self, origin: &Origin, operation: &Operation) -> Result<WorkerCall, ToolError> {
        let (turn, call, name) = (self.turn, self.call, &self.tool.item.name);
        let agent = turn.agent();
        let fault = |why: &str| {
            let message = format!("Tool '{name}' failed: {why}.");
            ToolError::host(ToolErrorCode::Host, message, turn.locale())
        };
        let terms = agent.tools.terms();
        let terms = terms.ok_or_else(|| fault("its component was not loaded"))?;
        let random = random_text::<32>().ok();
        let id = random.and_then(|text| WorkerCallId::parse(&text).ok());
        let id = id.ok_or_else(|| fault("the system gave no random bytes"))?;
        Ok(WorkerCall {
            version: WORKER_VERSION,
            id,
            origin: origin.id().to_owned(),
            terms: terms.to_string(),
            agent: agent.name.clone(),
            instance_key: turn.instance.key.to_string(),
            turn_id: turn.origin.turn_id.to_string(),
            step_id: call.step_id.to_string(),
            call_id: call.call_id.to_string(),
            trace_id: turn.origin.trace_id.to_string(),
            tool: name.clone(),
            operation: operation.clone(),
            message: self.message.clone(),
            state_root: self.state_root(origin).map_err(|why| fault(&why))?,
            attempt: 1,
            deadline_ms: u64::try_from(self.permit.limits.deadline.as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// Returns the id of the state root in which the workdir lies; none if the component uses no files.
    fn state_root(&self, origin: &Origin) -> Result<Option<String>, String> {
        if !self
            .component
            .facts()
            .imports
            .iter()
            .any(|it| it.starts_with(FILES))
        {
            return Ok(None);
        }
        let (agent, instance) = (self.turn.agent(), &self.turn.instance);
        let shared = agent.host.state_root.as_deref().filter(|root| {
            let workspace = stat(agent.bundle.workspace(root, &instance.key));
            let workdir = fstat(instance.workdir.as_fd());
            let place = |stat: Stat| (stat.st_dev, stat.st_ino);
            workspace.is_ok_and(|workspace| workdir.map(place) == Ok(place(workspace)))
        });
        let Some(root) = shared else {
            return Err(
                "its workdir is not the instance's own in the state root, which is what workers share"
                    .to_owned(),
            );
        };
        let id = origin.root(root).map_err(|error| {
            tracing::error!(%error, "the id of the state root cannot be read");
            "the id of the state root cannot be read".to_owned()
        })?;
        Ok(Some(id.to_owned()))
    }

    /// Whether one run of several commits.
    fn is_fenced(&self) -> bool {
        let (agent, tool) = (self.turn.agent(), self.tool);
        let resource = tool.item.name.resource();
        let is_repeatable = agent.host.policy.is_repeatable(&agent.name, resource);
        Repeat::of(is_repeatable, tool, &self.permit) == Repeat::CommitOnce
    }

    /// Ends a run without a report. From now on, no run of the call commits changes of a transaction.
    async fn without_report(&self, id: &WorkerCallId, no_report: NoReport) -> RunEnd {
        let (turn, name) = (self.turn, &self.tool.item.name);
        let host = &turn.agent().host;
        if let (Some(staging), true) = (&host.staging, self.is_fenced()) {
            let (staging, id) = (staging.clone(), id.clone());
            let workdir = turn.instance.workdir.clone();
            let ended = move || staging.end_runs(&workdir, &id);
            match host.sandbox.threads().wait(ended).await {
                // It was committed, and the report got lost or is late.
                Ok(Ok(Some(note))) => {
                    if let Ok(report) = WorkerReport::parse(note.as_bytes()) {
                        return end_of(report);
                    }
                }
                Ok(Ok(None)) => {}
                Ok(Err(error)) => tracing::warn!(%error, "a call may commit after its end"),
                Err(error) => tracing::warn!(%error, "a call may commit after its end"),
            }
        }
        let (code, why) = match no_report {
            NoReport::Busy => (
                ToolErrorCode::Busy,
                "failed: its workers have as many calls as they may".to_owned(),
            ),
            NoReport::Late => {
                let limit = self.permit.limits.deadline.as_millis();
                tracing::warn!(tool = %name, call = %id, "no worker reported the end of a call in time: `toolhost workers` lists those that live");
                (
                    ToolErrorCode::Timeout,
                    format!("timed out: no worker ended it within {limit} ms"),
                )
            }
            NoReport::Refused(error) => {
                tracing::error!(tool = %name, %error, "a call could not be sent to a worker");
                (
                    ToolErrorCode::Host,
                    "failed: it could not be sent to a worker".to_owned(),
                )
            }
        };
        let message = format!("Tool '{name}' {why}.");
        RunEnd::refused(ToolError::host(code, message, turn.locale()))
    }
}

/// Returns the end of a run that a worker reported.
fn end_of(report: WorkerReport) -> RunEnd {
    RunEnd {
        has_answered: report.has_answered,
        ..RunEnd::of(report.result)
    }
}
