//! `toolhost play`: plays a script of agents, without a model.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use toolhost::agents::{
    AgentSetup, AgentsError, Orchestrator, OrchestratorConfig, OrchestratorStats, Request,
};
use toolhost::events::{EventKind, EventStream, Received, RuntimeEvent};
use toolhost::{LoadedBundle, ResourceName, agents_tool};
use toolhost_testing::script::{Script, ScriptedAgent};

use super::mcp_servers;
use super::recording_file::RecordingFolder;
use crate::args::PlayArgs;
use crate::exit::Exit;
use crate::failure::{Failure, Hint};
use crate::files;
use crate::host_context::HostContext;
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::{Style, Verbosity, stderr, stdout, text};

/// Largest script, in bytes.
const SCRIPT_BYTES_MAX: u64 = 1 << 20;

/// The caller of the first event.
const CALLER: &str = "cli";

const ONLY: &str = "play";

/// Longest time of a turn.
const TURN_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// Longest wait for the last events to be printed.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// Time for the agents to end after the last answer.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) async fn play(args: &PlayArgs, settings: &Settings) -> Result<Exit, Failure> {
    let script = read_script(&args.script).await?;
    // Holds workspaces, events and pending calls.
    let temporary;
    let dir = match &args.keep {
        Some(dir) => dir.as_path(),
        None => {
            temporary = tempfile::tempdir().context("a temporary directory cannot be made")?;
            temporary.path()
        }
    };
    let beside = |path: &Path| args.script.parent().unwrap_or(Path::new("")).join(path);
    let mut policy = match (&args.policy, &script.policy) {
        (None, Some(script_policy)) => {
            PolicyFile::read_of_script(&beside(script_policy), &args.script).await?
        }
        (policy, _) => PolicyFile::read(policy.as_deref()).await?,
    };
    if args.keep.is_none() {
        policy.policy = policy.policy.without_calls();
    }
    let record = args.record.as_deref();
    let record = record.map(|folder| RecordingFolder::open(folder, dir));
    let record = record.transpose()?;
    let recorder = record.as_ref().map(RecordingFolder::recorder);
    let context = HostContext::open_recorded(settings, policy, dir, recorder.as_ref())?;
    let bundle = context
        .load_with_notes(&beside(&script.bundle), settings)
        .await?;
    let printing = (settings.verbosity > Verbosity::Quiet).then(|| {
        let events = context.host.events().subscribe();
        tokio::spawn(print_events(events, settings.style))
    });
    // Only the operator's policy can grant any: that of a script is refused if it does.
    let servers = mcp_servers::start(&bundle, settings).await?;
    let orchestrator = orchestrator(&bundle, &script, dir).await?;
    let started = Instant::now();
    let ends = turns(&orchestrator, &script, args.turns).await;
    let took = started.elapsed();
    let stats = orchestrator.stats().await?;
    orchestrator.shutdown(SHUTDOWN_TIMEOUT).await;
    servers.close().await;
    context.host.events().flush().await;
    drop(orchestrator);
    drop((context, bundle));
    if let Some(printing) = printing {
        // The stream ends with the host, unless something still holds the host.
        let _ended = tokio::time::timeout(DRAIN_TIMEOUT, printing).await.is_ok();
    }
    if let Some(record) = record {
        record.finish(settings)?;
    }
    print_answers(&ends, took, stats)
}

async fn read_script(path: &Path) -> Result<Script, Failure> {
    let text = files::text_file("the script", path, SCRIPT_BYTES_MAX).await?;
    let name = path.display().to_string();
    let hint = "See `toolhost play --help` for an example.";
    Script::parse(&text, &name).hint(hint)
}

/// Registers the agents of a script, each with the `agents` tool.
async fn orchestrator(
    bundle: &LoadedBundle,
    script: &Script,
    dir: &Path,
) -> Result<Orchestrator, Failure> {
    let orchestrator = Orchestrator::open(dir, OrchestratorConfig::default());
    let orchestrator = orchestrator.await?;
    for (name, script) in &script.agents {
        let agent = bundle.agent(name)?;
        agent.extend("agents", agents_tool)?;
        let (bundle, own) = (bundle.clone(), Arc::new(script.clone()));
        let mut setup = AgentSetup::in_process(move |id| {
            let (bundle, agent, script) = (bundle.clone(), agent.clone(), Arc::clone(&own));
            Arc::new(ScriptedAgent::new(bundle, agent, id.key(), script))
        });
        if let Some(description) = &script.description {
            setup = setup.described(description);
        }
        let name = ResourceName::parse(name)?;
        orchestrator.register(&name, setup).await?;
    }
    Ok(orchestrator)
}

/// The answer or error of each turn, in order.
type Ended = Vec<Result<Value, String>>;

/// Plays the script `turns` times at once.
async fn turns(orchestrator: &Orchestrator, script: &Script, turns: u32) -> Ended {
    let mut running = JoinSet::new();
    for number in 1..=turns {
        let key = match turns {
            1 => ONLY.to_owned(),
            _ => format!("play-{number}"),
        };
        let client = orchestrator.client(CALLER, &key, None);
        let mut request = Request::new(script.start.agent.as_str(), script.start.input.clone());
        request.timeout = TURN_TIMEOUT;
        running.spawn(async move {
            let answered = client.request(request).await.map(|done| done.response);
            let reason = |error: AgentsError| format!("{}: {error}", error.code().as_str());
            (number, answered.map_err(reason))
        });
    }
    let mut ends = BTreeMap::new();
    while let Some(done) = running.join_next().await {
        match done {
            Ok((number, answer)) => ends.insert(number, answer),
            Err(panic) => ends.insert(u32::MAX, Err(panic.to_string())),
        };
    }
    ends.into_values().collect()
}

/// Prints the answer, or of several turns a summary.
fn print_answers(ends: &Ended, took: Duration, stats: OrchestratorStats) -> Result<Exit, Failure> {
    let turns = ends.len();
    let failed: Vec<&String> = ends.iter().filter_map(|one| one.as_ref().err()).collect();
    if let (1, [Ok(answer)]) = (turns, ends.as_slice()) {
        stdout::json(answer)?;
        return Ok(Exit::Done);
    }
    if let (1, Some(reason)) = (turns, failed.first()) {
        stderr::write(&format!("error: {}", text::line(reason)));
        return Ok(Exit::Refused);
    }
    let answers: Vec<&Value> = ends.iter().filter_map(|one| one.as_ref().ok()).collect();
    stdout::json(&json!({
        "turns": turns,
        "answered": answers.len(),
        "failed": failed.len(),
        "ms": took.as_millis() as u64,
        "answers": answers,
        "errors": failed,
        "left": {"queued": stats.queued, "waiting": stats.waiting, "storedEvents": stats.stored_events},
    }))?;
    Ok(Exit::done_if(failed.is_empty()))
}

/// Prints a line for the start and the end of each turn, and the end of each call.
async fn print_events(mut events: EventStream, style: Style) {
    while let Some(item) = events.next().await {
        match item {
            Received::Event(event) => {
                if let Some(line) = line(&event, style) {
                    stderr::write(&line);
                }
            }
            Received::Lost(count) => stderr::write(&format!("… {count} more")),
        }
    }
}

fn line(event: &RuntimeEvent, style: Style) -> Option<String> {
    let what = match event.kind {
        EventKind::TurnStarted => "begins",
        EventKind::TurnCompleted => "has answered",
        EventKind::TurnFailed => "has failed",
        EventKind::ToolCompleted
        | EventKind::ToolFailed
        | EventKind::ToolPending
        | EventKind::ToolSettled => event.tool_name.as_deref().unwrap_or_default(),
        // The lines of its calls describe a step. The library's enum may grow.
        EventKind::StepStarted
        | EventKind::StepCompleted
        | EventKind::StepFailed
        | EventKind::ToolCalled
        | EventKind::ToolsSearched
        | _ => return None,
    };
    let step = event.step_id.as_deref().unwrap_or_default();
    let result = match (&event.error, event.kind) {
        (Some(error), _) => format!("{}: {}", error.code, error.message),
        (None, EventKind::ToolCompleted) => "ok".to_owned(),
        (None, EventKind::ToolPending) => "pending".to_owned(),
        (None, EventKind::ToolSettled) => "has its result".to_owned(),
        (None, _) => String::new(),
    };
    let took = event
        .duration_ms
        .map_or_else(String::new, |ms| format!("  ({ms:.1} ms)"));
    // Several turns have separate instances.
    let instance = match &*event.instance_key {
        ONLY => "",
        several => several,
    };
    let words = [instance, &event.agent_name, step, what, &result].map(text::line);
    let words = words.into_iter().filter(|word| !word.is_empty());
    let words: Vec<String> = words.collect();
    Some(format!("{}{took}", style.cyan(&words.join("  "))))
}
