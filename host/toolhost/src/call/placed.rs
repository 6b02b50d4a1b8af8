//! Runs of components on workers.

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::fs::{Stat, fstat, stat};
use toolhost_contract::{
    ToolError, ToolErrorCode, WORKER_VERSION, WorkerCall, WorkerCallId, WorkerReport,
};
use toolhost_manifest::policy::Placement;
use toolhost_runtime::Threads;
use toolhost_sandbox::{Operation, StagingRoot, Workdir};
use toolhost_store::random_text;

use super::fence::run_life;
use super::recorded;
use super::repeat::repeat_of;
use super::run::{ComponentRun, RunEnd};
use crate::agent::tool_access::uses_files;
use crate::workers::carrier::{Destination, Route};
use crate::workers::origin::{NoReport, Origin};
use crate::workers::repeat::Repeat;

impl ComponentRun<'_> {
    /// Returns where the run takes place; none for the host. A part of a transaction of a call around it runs where that one
    /// does, and what is recorded as a whole in the host.
    pub(super) fn destination(&self) -> Option<(&Origin, Destination)> {
        let origin = self.turn.agent().host.origin.as_deref()?;
        let destination = match &self.permit.placement {
            Placement::Local => return None,
            Placement::Any => Destination::Any,
            Placement::Label(label) => Destination::Label(label.clone()),
        };
        let stays = self.inner.is_some()
            || self.consent.is_some()
            || self.joins_transaction()
            // Whoever records calls gets all that they receive.
            || recorded::options(self.turn).is_some();
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
        let (repeat, commits) = self.repeat();
        let began = Instant::now();
        let ending = commits.then(|| self.ending(&call.id)).flatten();
        let answer = origin.run(&route, call, (repeat, commits)).await;
        let is_prompt = began.elapsed() < origin.delivers_again_after();
        let host = &self.turn.agent().host;
        if ending.is_some() && origin.prunes_runs_now() {
            self.forget_old_runs();
        }
        let report = match (answer, ending) {
            (Err(NoReport::Busy), ending) => {
                // Nothing was sent.
                if let Some(ending) = ending {
                    ending.forget();
                }
                return self.without_report(NoReport::Busy);
            }
            (Ok(report), Some(ending)) if has_committed(&report) => {
                ending.settle();
                report
            }
            // It was the only run, and nothing is noted of it.
            (Ok(report), Some(ending)) if is_prompt => {
                ending.forget();
                report
            }
            // Another run may go on: it commits nothing any more, or it has.
            (answer, Some(ending)) => match (ending.end().await, answer) {
                (Some(committed), _) => committed,
                (None, Ok(report)) => report,
                (None, Err(no_report)) => return self.without_report(no_report),
            },
            (Ok(report), None) => report,
            (Err(no_report), None) => return self.without_report(no_report),
        };
        let mut end = RunEnd {
            has_answered: report.has_answered,
            ..RunEnd::of(report.result)
        };
        host.redactor.denials(&mut end.usage.denials);
        host.redactor.changes(&mut end.usage.changes);
        end
    }

    /// Forgets the runs of calls that have ended long ago, in the background.
    fn forget_old_runs(&self) {
        let host = &self.turn.agent().host;
        let Some(staging) = host.staging.clone() else {
            return;
        };
        let threads = host.sandbox.threads().clone();
        host.sandbox.threads().spawn_own(async move {
            let forgotten = threads.wait(move || staging.forget_old_runs()).await;
            if let Ok(Err(error)) = forgotten {
                tracing::warn!(%error, "the runs of old calls could not be removed");
            }
        });
    }

    /// Returns whether the call may run again, and whether what it changes is committed.
    fn repeat(&self) -> (Repeat, bool) {
        let (agent, tool) = (self.turn.agent(), self.tool);
        let resource = tool.item.name.resource();
        let is_repeatable = agent.host.policy.is_repeatable(&agent.name, resource);
        repeat_of(is_repeatable, tool, &self.permit)
    }

    /// Returns what ends the runs of a call of which one commits.
    fn ending(&self, id: &WorkerCallId) -> Option<Ending> {
        let host = &self.turn.agent().host;
        Some(Ending {
            threads: host.sandbox.threads().clone(),
            staging: host.staging.clone()?,
            workdir: self.turn.instance.workdir.clone(),
            call: id.clone(),
            life: run_life(self.permit.limits.deadline),
            is_over: false,
        })
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
        if !uses_files(&self.component.facts().imports) {
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

    fn without_report(&self, no_report: NoReport) -> RunEnd {
        let (turn, name) = (self.turn, &self.tool.item.name);
        let (code, why) = match no_report {
            NoReport::Busy => (
                ToolErrorCode::Busy,
                "failed: its workers have as many calls as they may".to_owned(),
            ),
            NoReport::Late => {
                let limit = self.permit.limits.deadline.as_millis();
                tracing::warn!(tool = %name, "no worker reported the end of a call in time: `toolhost workers` lists those that live");
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

/// Whether the run of a report has committed what it changed.
fn has_committed(report: &WorkerReport) -> bool {
    let usage = report.result.usage();
    !usage.changes.is_empty() && !usage.changes_dropped && report.result.tool_error().is_none()
}

/// Keeps runs of a call from committing once it has ended. If it is dropped, the call ends at once.
struct Ending {
    threads: Threads,
    staging: StagingRoot,
    workdir: Workdir,
    call: WorkerCallId,
    /// How long its runs may commit.
    life: Duration,
    is_over: bool,
}

impl Ending {
    /// Nothing has to be ended.
    fn forget(mut self) {
        self.is_over = true;
    }

    /// The call has ended with the only run that there was.
    fn settle(mut self) {
        self.is_over = true;
        let (staging, call) = (self.staging.clone(), self.call.clone());
        let settled = self.threads.clone();
        self.threads.spawn_own(async move {
            let settle = move || staging.settle_runs(&call);
            match settled.wait(settle).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::warn!(%error, "the note of a run stays"),
                Err(error) => tracing::warn!(%error, "the note of a run stays"),
            }
        });
    }

    /// Ends the runs of the call. Returns the report of the one that has committed.
    async fn end(mut self) -> Option<WorkerReport> {
        self.is_over = true;
        end_runs(
            &self.threads,
            &self.staging,
            &self.workdir,
            (&self.call, self.life),
        )
        .await
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let (threads, staging) = (self.threads.clone(), self.staging.clone());
        let (workdir, call, life) = (self.workdir.clone(), self.call.clone(), self.life);
        self.threads.spawn_own(async move {
            let _committed = end_runs(&threads, &staging, &workdir, (&call, life)).await;
        });
    }
}

async fn end_runs(
    threads: &Threads,
    staging: &StagingRoot,
    workdir: &Workdir,
    (call, life): (&WorkerCallId, Duration),
) -> Option<WorkerReport> {
    let (staging, workdir, call) = (staging.clone(), workdir.clone(), call.clone());
    let ended = move || staging.end_runs(&workdir, &call, life);
    match threads.wait(ended).await {
        Ok(Ok(note)) => WorkerReport::parse(note?.as_bytes()).ok(),
        Ok(Err(error)) => {
            tracing::warn!(%error, "a call may commit after its end");
            None
        }
        Err(error) => {
            tracing::warn!(%error, "a call may commit after its end");
            None
        }
    }
}
