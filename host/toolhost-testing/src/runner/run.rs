//! Runs cases: each in a fresh workdir and for an agent instance of its own, through `Step::execute` as
//! in production.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::case::Case;
use crate::case_dir::CaseDir;
use crate::generated_case::GeneratedKind;
use crate::judge::{FinishedCall, LogLine};
use crate::mismatch::Mismatch;
use crate::work_tree::WorkTree;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use toolhost::{
    AssistantMessage, Instance, JsonObject, ToolCall, ToolError, ToolResult, ToolStatus, TurnStart,
    tool::Denial,
};
use tracing::instrument::WithSubscriber;

use super::log_capture::LogCapture;
use super::session::{Runner, SetupError};
use super::stub_server::StubServer;
use crate::case_report::CaseReport;
use crate::planned_case::{PlannedCase, TestCase};
use crate::search_case;

/// Id of the one call of a case.
const CALL_ID: &str = "call_1";

/// Id of the turn, if the case names none.
const TURN_ID: &str = "turn";

/// Time between two polls of a pending call.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Longest time that a pending call is polled.
const PENDING_MAX: Duration = Duration::from_secs(120);

/// How cases run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunOptions {
    /// Most cases that run at the same time. Default: the number of processors.
    pub jobs: NonZeroUsize,
    /// Whether no further case is started once a case has failed. Default: no.
    pub fail_fast: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        let two = NonZeroUsize::MIN.saturating_add(1);
        Self {
            jobs: std::thread::available_parallelism().unwrap_or(two),
            fail_fast: false,
        }
    }
}

impl Runner {
    /// Runs cases, and calls `on_report` with each report as soon as the case has ended. Returns the reports
    /// in the order of `cases`. With [`RunOptions::fail_fast`] the cases that were not started have none.
    pub async fn run(
        &self,
        cases: Vec<PlannedCase>,
        options: RunOptions,
        mut on_report: impl FnMut(&CaseReport) + Send,
    ) -> Vec<CaseReport> {
        let numbers = Arc::new(AtomicU64::new(0));
        let mut waiting = cases.into_iter().enumerate();
        let mut running = JoinSet::new();
        let mut reports = Vec::new();
        let mut is_stopped = false;
        loop {
            let free = options.jobs.get().saturating_sub(running.len());
            let next = waiting.by_ref().take(if is_stopped { 0 } else { free });
            for (order, planned) in next {
                let (runner, numbers) = (self.clone(), Arc::clone(&numbers));
                running.spawn(async move { (order, run_case(planned, &runner, &numbers).await) });
            }
            let (order, report) = match running.join_next().await {
                None => break,
                Some(Ok(done)) => done,
                Some(Err(error)) => match error.try_into_panic() {
                    Ok(panic) => std::panic::resume_unwind(panic),
                    Err(_cancelled) => continue,
                },
            };
            on_report(&report);
            is_stopped |= options.fail_fast && report.failed > 0;
            reports.push((order, report));
        }
        reports.sort_by_key(|(order, _)| *order);
        reports.into_iter().map(|(_, report)| report).collect()
    }
}

/// Runs a case as often as it requires.
async fn run_case(planned: PlannedCase, runner: &Runner, numbers: &Arc<AtomicU64>) -> CaseReport {
    let started = Instant::now();
    let (repeat, parallel) = match &planned.case {
        TestCase::Written { case, .. } => (case.repeat, case.parallel),
        TestCase::Generated(_) => (1, 1),
    };
    let planned = Arc::new(planned);
    let (mut all, mut count) = (Vec::new(), 0);
    for _ in 0..repeat {
        let mut running = JoinSet::new();
        for _ in 0..parallel {
            count += 1;
            let number = numbers.fetch_add(1, Ordering::Relaxed);
            let (planned, runner) = (Arc::clone(&planned), runner.clone());
            let dir = runner.dir().join(format!("run-{number}"));
            running.spawn(async move { RunOutcome::of(&planned, &runner, &dir, count).await });
        }
        all.extend(running.join_all().await);
    }
    let has_failed = |run: &RunOutcome| !run.mismatches.is_empty();
    let failed = all.iter().filter(|run| has_failed(run)).count();
    let denials: BTreeSet<_> = all.iter().flat_map(|run| &run.denials).cloned().collect();
    let reported = all.iter().position(has_failed).unwrap_or(0);
    let reported = all.into_iter().nth(reported).unwrap_or_default();
    let runs = repeat.saturating_mul(parallel);
    let several = runner.bundle.agents().len() > 1;
    CaseReport {
        agent: several.then(|| planned.agent.name().to_owned()),
        case: Arc::unwrap_or_clone(planned).case,
        mismatches: reported.mismatches,
        runs,
        failed: u32::try_from(failed).unwrap_or(runs),
        took: started.elapsed(),
        log: reported.log,
        usage: reported.usage,
        denials: denials.into_iter().collect(),
        updated: false,
    }
}

/// The outcome of one run of a case.
#[derive(Debug, Default)]
struct RunOutcome {
    mismatches: Vec<Mismatch>,
    log: Vec<LogLine>,
    usage: Value,
    denials: Vec<Denial>,
}

impl RunOutcome {
    async fn of(planned: &PlannedCase, runner: &Runner, dir: &Path, number: u32) -> Self {
        let outcome = run(planned, runner, dir, number).await;
        // Hundreds of runs leave hundreds of workdirs. One that cannot be removed
        // is removed with the directory of all runs.
        let dir = dir.to_owned();
        let _removed = tokio::task::spawn_blocking(move || std::fs::remove_dir_all(dir)).await;
        outcome.unwrap_or_else(|error| {
            let expected = "the case to be set up";
            Self {
                mismatches: vec![Mismatch::new("set-up", expected, &with_causes(&*error))],
                ..Self::default()
            }
        })
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let causes: Vec<String> = causes.map(ToString::to_string).collect();
    causes.join(": ")
}

async fn run(
    planned: &PlannedCase,
    runner: &Runner,
    dir: &Path,
    number: u32,
) -> Result<RunOutcome, SetupError> {
    if let TestCase::Written { case, .. } = &planned.case
        && let Some(search) = &case.search
    {
        let mismatch = search_case::judge(case, search, &planned.agent);
        return Ok(RunOutcome {
            mismatches: mismatch.into_iter().collect(),
            ..RunOutcome::default()
        });
    }
    let cannot = |error| format!("cannot create {}: {error}", dir.display());
    std::fs::create_dir(dir).map_err(cannot)?;
    let case_dir = CaseDir::create(dir)?;
    let tree = WorkTree::open(&case_dir.workdir())?;
    let request = match &planned.case {
        TestCase::Written { case, .. } => {
            for (path, content) in &case.files {
                let cannot =
                    |error| format!("files: cannot write '{path}' into the workdir: {error}");
                tree.write(path, content).map_err(cannot)?;
            }
            CallRequest::of_case(case, number)
        }
        TestCase::Generated(case) => {
            if case.kind != GeneratedKind::Invalid {
                case_dir.plant_bait()?;
            }
            CallRequest {
                tool: case.tool.to_string(),
                args: case.args.clone(),
                instance: case.name.clone(),
                start: TurnStart::new(TURN_ID),
                message: None,
                awaits_result: false,
            }
        }
    };
    let env = runner.case_env(planned).await?;
    let workdir = env.host.workdir(case_dir.workdir())?;
    let instance = env.agent.instance(request.instance.as_str(), workdir);
    let capture = LogCapture::default();
    let call = call(&instance, request).with_subscriber(capture.clone());
    let result = call.await?;
    let log = capture.lines();
    let mut mismatches = match &planned.case {
        TestCase::Written { case, .. } => case.expect.judge(&FinishedCall {
            result: &result,
            tree: &tree,
            log: &log,
        }),
        TestCase::Generated(case) => case.judge(&result).into_iter().collect(),
    };
    mismatches.extend(case_dir.escaped_changes(&result, &log));
    let unanswered = env.server.iter().flat_map(StubServer::unanswered);
    mismatches.extend(unanswered.map(|got| Mismatch::new("http", "an answer in the case", &got)));
    Ok(RunOutcome {
        mismatches,
        usage: serde_json::to_value(result.usage()).unwrap_or_default(),
        denials: result.usage().denials.clone(),
        log,
    })
}

/// The call of a case, and its context.
struct CallRequest {
    tool: String,
    args: JsonObject,
    /// Key of the agent instance.
    instance: String,
    start: TurnStart,
    /// The text of the assistant message that holds the call.
    message: Option<String>,
    /// Whether a pending call is polled until it ends.
    awaits_result: bool,
}

impl CallRequest {
    fn of_case(case: &Case, number: u32) -> Self {
        let context = &case.context;
        let mut start = TurnStart::new(context.turn_id.as_deref().unwrap_or(TURN_ID));
        if let Some(trace) = &context.trace_id {
            start = start.with_trace_id(trace.as_str());
        }
        let instance = match case.repeat.max(case.parallel) {
            1 => case.name.clone(),
            _ => format!("{} #{number}", case.name),
        };
        Self {
            tool: case.tool.clone(),
            args: case.args.clone(),
            instance: context.instance_key.clone().unwrap_or(instance),
            start,
            message: context.message.clone(),
            awaits_result: case.expect.status() != ToolStatus::Pending,
        }
    }
}

async fn call(instance: &Instance, request: CallRequest) -> Result<ToolResult, SetupError> {
    let turn = instance
        .open_turn(request.start)
        .await
        .map_err(setup_error)?;
    let step = turn.open_step().await.map_err(setup_error)?;
    let message = request.message.as_ref();
    let message = message.map(|text| message_of(text, &request.tool, &request.args));
    let message = message.map(|message| AssistantMessage::parse(message)?.with_call(CALL_ID));
    let message = message.transpose()?;
    let call = ToolCall::new(CALL_ID, request.tool, request.args);
    let mut result = match message {
        Some(message) => step.execute(call, &message).await,
        None => step.execute_without_message(call).await,
    };
    let since = Instant::now();
    while request.awaits_result
        && result.status() == ToolStatus::Pending
        && since.elapsed() < PENDING_MAX
    {
        let handle = result.handle().unwrap_or_default().to_owned();
        tokio::time::sleep(POLL_INTERVAL).await;
        result = instance.poll(&handle).await;
    }
    step.close(()).await.map_err(setup_error)?;
    turn.close(()).await.map_err(setup_error)?;
    Ok(result)
}

/// Returns why a turn or a step could not be opened or closed.
fn setup_error(error: ToolError) -> SetupError {
    error.message.into()
}

/// An assistant message with a text and the call.
fn message_of(text: &str, tool: &str, args: &JsonObject) -> Value {
    json!({
        "id": "message-of-the-case",
        "data": {"role": "assistant", "content": [
            {"type": "text", "text": text},
            {"type": "tool-call", "toolCallId": CALL_ID, "toolName": tool, "input": args},
        ]},
    })
}
