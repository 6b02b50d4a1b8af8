//! `toolhost replay`: replays a recorded call, or compares two recordings.

mod stepping;

use std::sync::Arc;

use serde_json::json;
use toolhost::recording::{
    CallRecording, CallReplay, CallReplayError, Readable, RecordingEnd, ReplayEnd, ReplayOptions,
};

use self::stepping::Stepping;
use super::recording_file;
use crate::args::ReplayArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::host_context::HostContext;
use crate::policy_file::PolicyFile;
use crate::settings::Settings;
use crate::terminal::{stdout, text};

pub(crate) async fn replay(args: &ReplayArgs, settings: &Settings) -> Result<Exit, Failure> {
    let recording = Arc::new(recording_file::read(&args.file).await?);
    match &args.other {
        Some(other) => {
            let other = Arc::new(recording_file::read(other).await?);
            compare(&recording, &other, args, settings)
        }
        None => run(&recording, args, settings).await,
    }
}

async fn run(
    recording: &Arc<CallRecording>,
    args: &ReplayArgs,
    settings: &Settings,
) -> Result<Exit, Failure> {
    if !recording.can_be_replayed() {
        return Err(Failure::from(CallReplayError::NoHostCalls).hint(
            "Make the call again with `toolhost call --record FILE`, or compare with --diff.",
        ));
    }
    let context = HostContext::open_ignoring_lock(settings, PolicyFile::default())?;
    let bundle = context
        .load_for_call(&args.bundle, recording.tool.as_str())
        .await?;
    let mut options = ReplayOptions::default();
    let stepping = args.step.then(|| Stepping::start(recording, args.json));
    if let Some(stepping) = &stepping {
        options.on_call = Some(stepping.observer());
    }
    note_changed_component(recording, &bundle, settings);
    let replayed = bundle.replay(recording, options).await;
    let replay = replayed.map_err(|error| {
        let hint = if matches!(error, CallReplayError::NoTool { .. }) {
            "Pass --bundle the bundle of the tool."
        } else {
            "Record the call again with `toolhost call --record FILE`."
        };
        Failure::from(error).hint(hint)
    })?;
    if let Some(error) = stepping.and_then(|stepping| stepping.error()) {
        return Err(error);
    }
    print(recording, &replay, args)
}

/// Warns, before the replay, if the component of the bundle is another one.
fn note_changed_component(
    recording: &CallRecording,
    bundle: &toolhost::LoadedBundle,
    settings: &Settings,
) {
    let tool = recording.tool.resource().as_str();
    let recorded = &recording.recording.component.sha256;
    let mut components = bundle.components().iter();
    let current = components.find(|(name, _)| name == tool);
    if let Some((_, current)) = current.filter(|(_, facts)| facts.sha256 != *recorded) {
        settings.note(&format!(
            "the component has changed since: {} was recorded, {} is replayed",
            short(recorded),
            short(&current.sha256)
        ));
    }
}

/// The beginning of a digest.
fn short(sha256: &str) -> String {
    text::line(&sha256.chars().take(12).collect::<String>())
}

fn print(
    recording: &Arc<CallRecording>,
    replay: &CallReplay,
    args: &ReplayArgs,
) -> Result<Exit, Failure> {
    let report = &replay.report;
    let is_same = matches!(report.end, ReplayEnd::Finished | ReplayEnd::RecordingCut);
    if args.json {
        stdout::json(&json!({
            "same": is_same,
            "end": match report.end {
                ReplayEnd::Finished => "finished",
                ReplayEnd::Diverged => "diverged",
                ReplayEnd::RecordingCut => "recordingCut",
                ReplayEnd::Stopped => "stopped",
            },
            "tool": recording.tool,
            "component": {
                "recorded": recording.recording.component.sha256,
                "current": replay.component_sha256,
                "changed": replay.component_changed,
            },
            "hostCalls": report.calls,
            "recorded": recording.recording.outcome,
            "result": report.outcome,
            "divergence": report.divergence,
        }))?;
    } else {
        stdout::write(&human(recording, replay))?;
    }
    Ok(Exit::done_if(is_same))
}

fn human(recording: &Arc<CallRecording>, replay: &CallReplay) -> String {
    let report = &replay.report;
    let readable = Readable::of(recording);
    let calls = match report.calls {
        1 => "1 host call".to_owned(),
        count => format!("{count} host calls"),
    };
    let tool = &recording.tool;
    match (report.end, &report.divergence) {
        (ReplayEnd::Diverged, Some(divergence)) => format!(
            "{tool} diverged at host call {}, after {calls} as recorded\n  expected {}\n  actual   {}",
            divergence.index,
            readable.event(&divergence.expected),
            readable.event(&divergence.actual),
        ),
        (ReplayEnd::Diverged, None) => format!("{tool} diverged after {calls}"),
        (ReplayEnd::Stopped, _) => format!("{tool} was stopped after {calls} as recorded"),
        (ReplayEnd::RecordingCut, _) => format!(
            "{tool} did the same in {calls}; the recording ends there: {}",
            limit(recording)
        ),
        (ReplayEnd::Finished, _) => {
            format!(
                "{tool} did the same: {calls}, {}",
                Readable::end(&report.outcome)
            )
        }
    }
}

fn limit(recording: &CallRecording) -> String {
    match recording.recording.end {
        RecordingEnd::CutAtLimit { limit } => format!("it reached its limit of {limit} bytes"),
        RecordingEnd::Complete => "it is complete".to_owned(),
    }
}

fn compare(
    left: &Arc<CallRecording>,
    right: &Arc<CallRecording>,
    args: &ReplayArgs,
    settings: &Settings,
) -> Result<Exit, Failure> {
    let compared = left.compare(right);
    if args.json {
        let mut json = json!(compared);
        stdout::set(&mut json, "same", compared.is_same());
        stdout::json(&json)?;
    } else {
        let mut lines: Vec<String> = compared
            .differences
            .iter()
            .map(|difference| text::line(&difference.to_string()))
            .collect();
        if let Some(first) = &compared.host_call {
            let side = |recording: &Arc<CallRecording>, value| Readable::of(recording).value(value);
            lines.push(format!(
                "host call {} is the first that differs: the {} of {}\n  left  {}\n  right {}",
                first.index,
                first.what,
                text::line(&first.function),
                side(left, &first.left),
                side(right, &first.right),
            ));
        }
        if lines.is_empty() {
            lines.push("the recordings do not differ".to_owned());
        }
        stdout::write(&lines.join("\n"))?;
    }
    if let Some(why) = &compared.not_compared {
        settings.note(&format!("the host calls were not compared: {why}"));
    }
    Ok(Exit::done_if(compared.is_same()))
}
