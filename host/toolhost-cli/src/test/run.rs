//! Runs cases: each in a fresh workdir, for an agent instance of its own, by the one way that every
//! call goes.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use toolhost::cases::{
    Case, Expect, GeneratedKind, LogLine, Mismatch, Outcome, Surroundings, WorkTree,
};
use toolhost::{
    AssistantMessage, Instance, JsonObject, ToolCall, ToolResult, ToolStatus, TurnStart,
};
use tracing::instrument::WithSubscriber;

use super::canned::Canned;
use super::heard::Heard;
use super::item::{Item, What};
use super::{Done, Lab};

/// Id of the one call of a case.
const CALL_ID: &str = "call_1";

/// Id of its turn, where the case does not say.
const TURN_ID: &str = "turn";

/// How long a pending call is left alone before it is asked for again.
const ASK_AGAIN: Duration = Duration::from_millis(10);

/// Longest that a pending call is waited for.
const PENDING_MAX: Duration = Duration::from_secs(120);

/// Runs all cases, as many at once as there are processors, and gives them in their order.
pub(crate) async fn all(items: Vec<Item>, lab: &Arc<Lab>) -> Vec<Done> {
    let at_once = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let dirs = Arc::new(Semaphore::new(at_once));
    let numbers = Arc::new(AtomicU64::new(0));
    let mut running = JoinSet::new();
    for (order, item) in items.into_iter().enumerate() {
        let (dirs, lab, numbers) = (Arc::clone(&dirs), Arc::clone(lab), Arc::clone(&numbers));
        running.spawn(async move {
            let _place = dirs.acquire_owned().await;
            (order, one(item, &lab, &numbers).await)
        });
    }
    let mut done = Vec::new();
    while let Some(ended) = running.join_next().await {
        match ended {
            Ok(ended) => done.push(ended),
            Err(panic) => match panic.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // Only a command that ends ends its cases.
                Err(_) => break,
            },
        }
    }
    done.sort_by_key(|(order, _)| *order);
    done.into_iter().map(|(_, done)| done).collect()
}

/// Runs a case as often as it says.
async fn one(item: Item, lab: &Arc<Lab>, numbers: &Arc<AtomicU64>) -> Done {
    let started = Instant::now();
    let (repeat, parallel) = match &item.what {
        What::Written { case, .. } => (case.repeat, case.parallel),
        What::Generated(_) => (1, 1),
    };
    let item = Arc::new(item);
    let (mut all, mut count) = (Vec::new(), 0);
    for _ in 0..repeat {
        let mut running = JoinSet::new();
        for _ in 0..parallel {
            count += 1;
            let number = numbers.fetch_add(1, Ordering::Relaxed);
            let (item, lab) = (Arc::clone(&item), Arc::clone(lab));
            let dir = lab.top().join(format!("run-{number}"));
            running.spawn(async move { Ran::of(&item, &lab, &dir, count).await });
        }
        all.extend(running.join_all().await);
    }
    let failed = all.iter().filter(|ran| !ran.mismatches.is_empty()).count();
    let denials: BTreeSet<_> = all.iter().flat_map(|ran| &ran.denials).cloned().collect();
    let runs = repeat.saturating_mul(parallel);
    let told = all
        .iter()
        .position(|ran| !ran.mismatches.is_empty())
        .unwrap_or(0);
    let told = if told < all.len() {
        all.swap_remove(told)
    } else {
        Ran::default()
    };
    let agent = lab.has_several_agents();
    Done {
        agent: agent.then(|| item.agent.name().to_owned()),
        what: Arc::unwrap_or_clone(item).what,
        mismatches: told.mismatches,
        runs,
        failed: u32::try_from(failed).unwrap_or(runs),
        took: started.elapsed(),
        log: told.log,
        usage: told.usage,
        denials: denials.into_iter().collect(),
        updated: false,
    }
}

/// What came of one run.
#[derive(Debug, Default)]
struct Ran {
    mismatches: Vec<Mismatch>,
    log: Vec<LogLine>,
    usage: Value,
    denials: Vec<toolhost::Denial>,
}

impl Ran {
    async fn of(item: &Item, lab: &Lab, dir: &Path, number: u32) -> Self {
        let ran = run(item, lab, dir, number)
            .await
            .unwrap_or_else(|error| Self {
                mismatches: vec![Mismatch::new(
                    "set-up",
                    "the case to be set up",
                    &format!("{error:#}"),
                )],
                ..Self::default()
            });
        // Hundreds of runs leave hundreds of workdirs. What stays goes with the lab.
        let dir = dir.to_owned();
        let _removed = tokio::task::spawn_blocking(move || std::fs::remove_dir_all(dir)).await;
        ran
    }
}

async fn run(item: &Item, lab: &Lab, dir: &Path, number: u32) -> anyhow::Result<Ran> {
    std::fs::create_dir(dir).with_context(|| format!("{} cannot be made", dir.display()))?;
    let surroundings = Surroundings::make(dir)?;
    let tree = WorkTree::open(&surroundings.workdir())?;
    let asked = match &item.what {
        What::Written { case, .. } => {
            for (path, content) in &case.files {
                let laid = tree.lay(path, content);
                laid.with_context(|| format!("files: '{path}' cannot be laid into the workdir"))?;
            }
            Asked::of_case(case, number)
        }
        What::Generated(case) => {
            if case.kind != GeneratedKind::Invalid {
                surroundings.tempt()?;
            }
            Asked {
                tool: case.tool.to_string(),
                args: case.args.clone(),
                key: case.name.clone(),
                start: TurnStart::new(TURN_ID),
                said: None,
                waits: false,
            }
        }
    };
    let stage = lab.stage(item).await?;
    let workdir = stage.host.workdir(surroundings.workdir())?;
    let instance = stage.agent.instance(asked.key.as_str(), workdir);
    let heard = Heard::default();
    let result = call(&instance, asked)
        .with_subscriber(heard.clone())
        .await?;
    let log = heard.lines();
    let mut mismatches = match &item.what {
        What::Written { case, .. } => {
            let outcome = Outcome {
                result: &result,
                tree: &tree,
                log: &log,
            };
            case.expect.judge(&outcome)
        }
        What::Generated(case) => case.judge(&result).into_iter().collect(),
    };
    mismatches.extend(surroundings.disturbed(&result, &log));
    let asked = stage.canned.iter().flat_map(Canned::unanswered);
    mismatches.extend(asked.map(|asked| Mismatch::new("http", "an answer in the case", &asked)));
    Ok(Ran {
        mismatches,
        usage: serde_json::to_value(result.usage()).unwrap_or_default(),
        denials: result.usage().denials.clone(),
        log,
    })
}

/// What is called, and on whose behalf.
struct Asked {
    tool: String,
    args: JsonObject,
    key: String,
    start: TurnStart,
    /// What the assistant says with the call.
    said: Option<String>,
    /// Whether a pending call is waited for.
    waits: bool,
}

impl Asked {
    fn of_case(case: &Case, number: u32) -> Self {
        let context = &case.context;
        let mut start = TurnStart::new(context.turn_id.as_deref().unwrap_or(TURN_ID));
        if let Some(trace) = &context.trace_id {
            start = start.with_trace_id(trace.as_str());
        }
        let many = case.repeat > 1 || case.parallel > 1;
        let own = if many {
            format!("{} #{number}", case.name)
        } else {
            case.name.clone()
        };
        Self {
            tool: case.tool.clone(),
            args: case.args.clone(),
            key: context.instance_key.clone().unwrap_or(own),
            start,
            said: context.message.clone(),
            waits: Expect::status(&case.expect) != ToolStatus::Pending,
        }
    }
}

async fn call(instance: &Instance, asked: Asked) -> anyhow::Result<ToolResult> {
    let turn = instance.open_turn(asked.start).await?;
    let step = turn.open_step().await?;
    let message = asked
        .said
        .map(|said| message(&said, &asked.tool, &asked.args));
    let call = ToolCall::new(CALL_ID, asked.tool, asked.args);
    let mut result = match message {
        Some(message) => {
            let message = AssistantMessage::parse(message, CALL_ID)?;
            step.execute(call, &message).await
        }
        None => step.execute_without_message(call).await,
    };
    let began = Instant::now();
    while asked.waits && result.status() == ToolStatus::Pending && began.elapsed() < PENDING_MAX {
        let handle = result.handle().unwrap_or_default().to_owned();
        tokio::time::sleep(ASK_AGAIN).await;
        result = instance.poll(&handle).await;
    }
    step.close(()).await?;
    turn.close(()).await?;
    Ok(result)
}

/// A message of an assistant that says something and calls the tool.
fn message(said: &str, tool: &str, args: &JsonObject) -> Value {
    json!({
        "id": "message-of-the-case",
        "data": {"role": "assistant", "content": [
            {"type": "text", "text": said},
            {"type": "tool-call", "toolCallId": CALL_ID, "toolName": tool, "input": args},
        ]},
    })
}
